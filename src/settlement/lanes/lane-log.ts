import type { PinoLogger } from 'nestjs-pino';
import { FacilitatorError } from '../../protocol/errors.js';
import { newestTransactionOf, valueSentBy } from '../model/attempt.js';
import type { LaneObserver } from './lane-observer.js';

/** Lanes in the log: one line for each step of a settlement, alerts where an operator has to look. */
export function laneLog(logger: PinoLogger): LaneObserver {
  return {
    opened: (lane, facts) => {
      logger.info({ lane, ...facts }, 'lane acquired');
    },
    lost: (lane, error) => {
      logger.warn({ lane, reason: nameOf(error) }, 'lane released');
    },
    takenOver: (lane, { processId, silentMs }) => {
      logger.warn(
        { lane, processId, silentMs },
        'lane taken over from a process that stopped responding',
      );
    },
    sent: (lane, { accountNonce, kind, settlementIds, transactions, refill }) => {
      const hash = transactions.at(-1)?.hash;
      if (refill !== undefined) {
        const { to, valueWei } = refill;
        logger.info({ lane, accountNonce, to, valueWei: valueWei.toString(), hash }, 'refill sent');
        return;
      }
      logger.debug({ lane, accountNonce, kind, settlementIds, hash }, 'transaction sent');
    },
    broadcast: (chainId, { accountNonce, settlementIds }, results) => {
      const kinds = results.map(({ kind }) => kind);
      if (kinds.some((kind) => kind === 'accepted' || kind === 'already_known')) return;
      logger.warn(
        { chainId, accountNonce, settlementIds, kinds },
        'no RPC endpoint accepted a transaction; the lane sends it again',
      );
    },
    feesBumped: (lane, attempt) => {
      const { hash, maxFeePerGas } = newestTransactionOf(attempt);
      const { accountNonce, settlementIds } = attempt;
      logger.info(
        { lane, accountNonce, settlementIds, hash, maxFeePerGas: maxFeePerGas.toString() },
        'transaction replaced by one with a higher fee',
      );
    },
    rebroadcast: (lane, { accountNonce, settlementIds }) => {
      logger.debug({ lane, accountNonce, settlementIds }, 'transaction rebroadcast');
    },
    included: (lane, attempt, inclusion, latencyMs) => {
      const { accountNonce, settlementIds, refill } = attempt;
      const { transaction, blockNumber, isSuccess } = inclusion;
      if (refill !== undefined) {
        const valueWei = valueSentBy(attempt, inclusion).toString();
        const facts = { lane, accountNonce, to: refill.to, valueWei, transaction };
        if (valueWei === '0')
          logger.warn(facts, 'a gas refill failed on the chain: the lane received no coins');
        else logger.info(facts, 'lane refilled');
        return;
      }
      logger.debug(
        {
          lane,
          accountNonce,
          settlementIds,
          transaction,
          blockNumber: blockNumber.toString(),
          isSuccess,
          latencyMs,
        },
        'transaction included',
      );
    },
    reorged: (lane, { accountNonce, settlementIds }) => {
      logger.error(
        { lane, accountNonce, settlementIds },
        'a reorganisation removed the block of a payment; the lane follows the payment again',
      );
    },
    ended: (lane, attempt, endings) => {
      const accountNonce = attempt?.accountNonce;
      for (const { id, state, isPaid, transaction, reason } of endings) {
        logger.debug(
          { lane, accountNonce, settlementId: id, state, isPaid, transaction, reason },
          'settlement ended',
        );
      }
    },
    resubmitted: (lane, settlementIds) => {
      logger.error(
        { lane, settlementIds },
        'a reorganisation dropped a payment whose success was acknowledged; the payment is being resubmitted',
      );
    },
    parked: (lane, settlementId, why) => {
      logger.error(
        { lane, settlementId, why },
        'the outcome of a settlement cannot be determined now; the lane retries',
      );
    },
    parkedNow: () => undefined,
    restored: (lane, attempts) => {
      logger.error(
        { lane, attempts },
        'Redis restarted or lost its newest writes: the lane stored its sent transactions again',
      );
    },
    nonceUsedByOther: (lane, accountNonce) => {
      logger.error(
        { lane, accountNonce },
        'a foreign transaction used an account nonce of the lane: another program uses the signer key; stop that program',
      );
    },
    batchReverted: (lane, { accountNonce, settlementIds }) => {
      logger.warn(
        { lane, accountNonce, settlementIds },
        'a batch transaction reverted; its settlements are sent one by one',
      );
    },
    signed: () => undefined,
    notSigned: (lane, failure, code) => {
      logger.error(
        { lane, failure, code },
        'the key service did not sign for the lane; the lane retries',
      );
    },
    failed: (subject, what, error) => {
      const text =
        what === 'queue'
          ? 'cannot take jobs from the settlement queue'
          : 'the lane failed; it retries';
      logger.error({ subject, what, err: error }, text);
    },
  };
}

/** Own errors have safe names; texts of other errors may hold secrets. */
function nameOf(error: unknown): string {
  return error instanceof FacilitatorError ? error.code : 'unexpected';
}
