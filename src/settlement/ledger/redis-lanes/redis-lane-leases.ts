import { decodePayment } from '../../../protocol/payment/accepted-payment-codec.js';
import { termsOf } from '../../../protocol/payment/identity.js';
import { type Attempt, decodeAttempt, encodeAttempt, mostCostOf } from '../../model/attempt.js';
import { dayOf, gweiOf } from '../../model/gas-price.js';
import { STATE_OF } from '../../model/settlement-machine.js';
import * as keys from '../keys.js';
import type { HeldLane, OpenedLane, RememberedAttempt, StoredSettlement } from '../lane-store.js';
import { encodeHash, paymentFields, readHash, readStage } from '../record.js';
import { asList, asPairs, asText, asTexts } from '../reply.js';
import type { SettlementArchive } from '../settlement-archive.js';
import { LANE_SCRIPTS } from './lane-scripts.js';
import type { LaneStepRunner } from './lane-step-runner.js';

/** Who writes a lane, and where the lane stands. */
export class RedisLaneLeases {
  constructor(
    private readonly runner: LaneStepRunner,
    private readonly archive: SettlementArchive,
  ) {}

  async renew(held: HeldLane, leaseMs: number): Promise<void> {
    await this.runner.write(LANE_SCRIPTS.renew, held, [], [leaseMs]);
  }

  async release(held: HeldLane): Promise<void> {
    await this.runner.write(LANE_SCRIPTS.release, held, [], []);
  }

  async orphans(chainId: number, ownLanes: readonly string[]): Promise<readonly string[]> {
    const own = ownLanes.map(keys.signerOf);
    const known = [keys.listKey(chainId, 'lanes')];
    const signers = asTexts(await this.runner.ask(LANE_SCRIPTS.orphans, chainId, known, own));
    return signers.map((signer) => `${chainId}:${signer}`);
  }

  async open(held: HeldLane): Promise<OpenedLane> {
    const [next, attempts, settlements] = asList(
      await this.runner.write(LANE_SCRIPTS.open, held, [], []),
    );
    const text = asText(next);
    const stored = asList(settlements).map((one) => readStored(asTexts(one)));
    return {
      next: text === '' ? undefined : Number(text),
      attempts: [...asPairs(attempts).values()]
        .map(decodeAttempt)
        .sort((a, b) => a.accountNonce - b.accountNonce),
      settlements: new Map(stored.map((one) => [one.id, one])),
    };
  }

  async setNext(held: HeldLane, known: number | undefined, next: number): Promise<boolean> {
    return (await this.runner.write(LANE_SCRIPTS.setNext, held, [], [known ?? '', next])) === 1;
  }

  async restoreAttempts(
    held: HeldLane,
    attempts: readonly RememberedAttempt[],
    next: number,
  ): Promise<void> {
    // An attempt may carry many payments: each goes by itself, so that Redis is never held up.
    for (const { attempt, payments } of attempts) {
      const ended = await this.#endedOf(held.chainId, [...payments.keys()]);
      const remembered = {
        nonce: String(attempt.accountNonce),
        attempt: encodeAttempt(attempt),
        hashes: attempt.transactions
          .filter(({ isNoop }) => !isNoop)
          .map(({ hash }) => encodeHash(hash)),
        funding: restoredFunding(attempt),
        refill: restoredRefill(attempt),
        items: [...payments].flatMap(([id, payment]) => {
          if (ended.has(id)) return [];
          const { authorizationId, termsTag } = termsOf(
            payment.chainId,
            payment.asset,
            payment.authorization,
          );
          const fields = paymentFields(payment, { termsTag });
          return [{ id, fields: ['auth', authorizationId, ...fields] }];
        }),
      };
      await this.runner.write(
        LANE_SCRIPTS.restoreAttempts,
        held,
        [],
        [next, this.runner.lifetimes.retentionSeconds, JSON.stringify([remembered])],
      );
    }
    if (attempts.length > 0) return;
    const args = [next, this.runner.lifetimes.retentionSeconds, '[]'];
    await this.runner.write(LANE_SCRIPTS.restoreAttempts, held, [], args);
  }

  /**
   * What others have brought to its end while this process stood still may have left the ledger since: made
   * again it would be sold again.
   */
  async #endedOf(chainId: number, ids: readonly string[]): Promise<ReadonlySet<string>> {
    const answer = await this.archive.find({ by: 'id', chainId, ids });
    if (answer.kind === 'away') return new Set();
    const ended = answer.settlements.filter(({ times }) => times.finished !== undefined);
    return new Set(ended.map(({ view }) => view.id));
  }
}

/** What is to be noted again of a funding that was sent. */
function restoredFunding(attempt: Attempt): object | undefined {
  const { funding, transactions } = attempt;
  if (funding === undefined) return undefined;
  const { payer, payerNonce } = funding;
  const cost = Number(gweiOf(mostCostOf(attempt)));
  return { payer, payerNonce, cost, day: dayOf(transactions[0]?.signedAt ?? 0) };
}

/** What a refill that was sent may cost: it counts again, for its day. */
function restoredRefill(attempt: Attempt): object | undefined {
  if (attempt.refill === undefined) return undefined;
  const cost = Number(gweiOf(mostCostOf(attempt)));
  return { cost, day: dayOf(attempt.transactions[0]?.signedAt ?? 0) };
}

function readStored(fields: readonly string[]): StoredSettlement {
  const [id = '', stage, payment = '', nonce = '', tx, block = '', blockHash, log, again] = fields;
  const transaction = readHash(tx);
  const hash = readHash(blockHash);
  return {
    id,
    payment: decodePayment(payment),
    state: STATE_OF[readStage(stage)],
    accountNonce: nonce === '' ? undefined : Number(nonce),
    inclusion:
      transaction === undefined || hash === undefined
        ? undefined
        : { transaction, blockNumber: BigInt(block), blockHash: hash, logIndex: Number(log) },
    isCollectedAgain: Number(again) > 0,
  };
}
