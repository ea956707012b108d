import { Inject, Injectable } from '@nestjs/common';
import { AppConfig } from '../../../platform/config/app-config.js';
import { decodePayment } from '../../../protocol/payment/accepted-payment-codec.js';
import { termsOf } from '../../../protocol/payment/identity.js';
import { type Attempt, decodeAttempt, encodeAttempt, mostCostOf } from '../../model/attempt.js';
import { dayOf, gweiOf } from '../../model/gas-price.js';
import { STATE_OF } from '../../model/settlement-machine.js';
import * as keys from '../keys.js';
import type {
  AcquiredLane,
  HeldLane,
  LaneLeases,
  OpenedLane,
  RememberedAttempt,
  StoredSettlement,
} from '../lane-store.js';
import { LedgerScripts } from '../ledger-scripts.js';
import { encodeHash, paymentFields, readHash, readNumber, readStage } from '../record.js';
import { asList, asPairs, asText, asTexts } from '../reply.js';
import { NO_ARCHIVE, SETTLEMENT_ARCHIVE, type SettlementArchive } from '../settlement-archive.js';
import type { LedgerLifetimes } from '../settlement-store.js';
import { LANE_SCRIPTS } from './lane-scripts.js';

/** {@link LaneLeases} in Redis. */
@Injectable()
export class RedisLaneLeases implements LaneLeases {
  /** @param archive - settlements that are finished there are not restored. */
  constructor(
    private readonly scripts: LedgerScripts,
    @Inject(AppConfig) private readonly lifetimes: LedgerLifetimes,
    @Inject(SETTLEMENT_ARCHIVE) private readonly archive: SettlementArchive = NO_ARCHIVE,
  ) {}

  async acquire(
    lane: string,
    chainId: number,
    processId: string,
    leaseMs: number,
  ): Promise<AcquiredLane | undefined> {
    // The lease contains the epoch in which it was acquired.
    const epoch = await this.scripts.epochs.of(chainId);
    const [lease, former, silentMs] = asList(
      await this.scripts.runAt(
        { chainId, epoch },
        {
          script: LANE_SCRIPTS.acquire,
          keys: [keys.laneLeaseKey(chainId, lane)],
          args: [processId, leaseMs],
        },
      ),
    );
    if (lease === undefined) return undefined;
    return {
      lane,
      chainId,
      lease: asText(lease),
      epoch,
      ...(former !== undefined && {
        from: { processId: asText(former), silentMs: Number(silentMs) },
      }),
    };
  }

  async renew(held: HeldLane, leaseMs: number): Promise<void> {
    await this.scripts.runHeld(held, LANE_SCRIPTS.renew, [], [leaseMs]);
  }

  async release(held: HeldLane): Promise<void> {
    await this.scripts.runHeld(held, LANE_SCRIPTS.release, [], []);
  }

  async orphans(chainId: number, ownLanes: readonly string[]): Promise<readonly string[]> {
    const own = ownLanes.map(keys.signerOf);
    const known = [keys.listKey(chainId, 'lanes')];
    const signers = asTexts(
      await this.scripts.run(chainId, { script: LANE_SCRIPTS.orphans, keys: known, args: own }),
    );
    return signers.map((signer) => `${chainId}:${signer}`);
  }

  async open(held: HeldLane): Promise<OpenedLane> {
    const [next, attempts, settlements] = asList(
      await this.scripts.runHeld(held, LANE_SCRIPTS.open, [], []),
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
    return (await this.scripts.runHeld(held, LANE_SCRIPTS.setNext, [], [known ?? '', next])) === 1;
  }

  async restoreAttempts(
    held: HeldLane,
    attempts: readonly RememberedAttempt[],
    next: number,
  ): Promise<void> {
    // An attempt may carry many payments. Each is restored in its own step, so that Redis is not blocked.
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
      await this.scripts.runHeld(
        held,
        LANE_SCRIPTS.restoreAttempts,
        [],
        [next, this.lifetimes.retentionSeconds, JSON.stringify([remembered])],
      );
    }
    if (attempts.length > 0) return;
    const args = [next, this.lifetimes.retentionSeconds, '[]'];
    await this.scripts.runHeld(held, LANE_SCRIPTS.restoreAttempts, [], args);
  }

  onEpochChange(listener: () => void): () => void {
    return this.scripts.epochs.onChange(listener);
  }

  /**
   * Another process may have ended and evicted a settlement while this process was paused. A restored record could be
   * sold again.
   */
  async #endedOf(chainId: number, ids: readonly string[]): Promise<ReadonlySet<string>> {
    const answer = await this.archive.find({ by: 'id', chainId, ids });
    if (answer.kind === 'away') return new Set();
    const ended = answer.settlements.filter(({ times }) => times.finished !== undefined);
    return new Set(ended.map(({ view }) => view.id));
  }
}

/** The fields of a funding that was sent, to be restored. */
function restoredFunding(attempt: Attempt): object | undefined {
  const { funding, transactions } = attempt;
  if (funding === undefined) return undefined;
  const { payer, payerNonce } = funding;
  const cost = Number(gweiOf(mostCostOf(attempt)));
  return { payer, payerNonce, cost, day: dayOf(transactions[0]?.signedAt ?? 0) };
}

/** The maximum cost of a refill that was sent; it counts again for its day. */
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
        : { transaction, blockNumber: BigInt(block), blockHash: hash, logIndex: readNumber(log) },
    isResubmitted: Number(again) > 0,
  };
}
