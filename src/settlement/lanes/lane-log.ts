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
      logger.warn({ lane, processId, silentMs }, 'lane taken over from a process that is silent');
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
    broadcast: ({ accountNonce, settlementIds }, results) => {
      const kinds = results.map(({ kind }) => kind);
      if (kinds.some((kind) => kind === 'accepted' || kind === 'already_known')) return;
      logger.warn(
        { accountNonce, settlementIds, kinds },
        'every RPC endpoint refused a transaction',
      );
    },
    bumped: (lane, attempt) => {
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
        if (valueWei === '0') logger.warn(facts, 'a gas refill was not credited to the lane');
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
        'a block with a payment was replaced in a reorganisation',
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
        'the outcome of a settlement cannot be determined now',
      );
    },
    parkedNow: () => undefined,
    restored: (lane, attempts) => {
      logger.error(
        { lane, attempts },
        'the ledger lost recent writes; sent transactions were stored again',
      );
    },
    nonceUsedByOther: (lane, accountNonce) => {
      logger.error(
        { lane, accountNonce },
        'an account nonce was used by a foreign transaction: the signer key is used by another program',
      );
    },
    batchReverted: (lane, { accountNonce, settlementIds }) => {
      logger.warn({ lane, accountNonce, settlementIds }, 'a batch transaction reverted');
    },
    signed: () => undefined,
    notSigned: (lane, failure, code) => {
      logger.error({ lane, failure, code }, 'the key service of a lane does not sign');
    },
    failed: (subject, what, error) => {
      logger.error({ subject, what, err: error }, 'lane failure');
    },
  };
}

/** Our own errors have names that say it all; texts of others may hold what no log may hold. */
function nameOf(error: unknown): string {
  return error instanceof FacilitatorError ? error.code : 'unexpected';
}
