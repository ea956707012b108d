import { Inject, Injectable } from '@nestjs/common';
import type { Address, Hex } from 'viem';
import { AppConfig } from '../../platform/config/app-config.js';
import {
  redisCall,
  runTransaction,
  type ScriptArgument,
} from '../../platform/redis/redis-scripts.js';
import { LeaseLostError } from '../../protocol/errors.js';
import type { AcceptedPayment } from '../../protocol/payment/accepted-payment.js';
import { decodePayment } from '../../protocol/payment/accepted-payment-codec.js';
import { termsOf } from '../../protocol/payment/identity.js';
import {
  type Attempt,
  decodeAttempt,
  encodeAttempt,
  type KnownFunding,
  mostCostOf,
  newestTransactionOf,
} from '../model/attempt.js';
import { dayOf, gweiOf, WEI_PER_GWEI } from '../model/gas-price.js';
import { STATE_OF } from '../model/settlement-machine.js';
import { ALL_PLACES, type PlacesInUse } from '../model/sponsoring-machine.js';
import * as keys from './keys.js';
import type {
  AcquiredLane,
  AllocateResult,
  Ending,
  FillResult,
  FinishResult,
  FundResult,
  GasBudget,
  HeldLane,
  InclusionBlock,
  LaneAttempts,
  LaneEndings,
  LaneLeases,
  LaneQueue,
  OpenedLane,
  PaidItem,
  ParkedSettlement,
  Parking,
  ParkReason,
  Refusal,
  RememberedAttempt,
  ReplaceResult,
  StoredSettlement,
  SweepResult,
  TakenSettlement,
  Unparking,
} from './lane-store.js';
import { LedgerScripts } from './ledger-scripts.js';
import {
  encodeFailed,
  encodeHash,
  paymentFields,
  readFailed,
  readHash,
  readNumber,
  readSentBefore,
  readStage,
} from './record.js';
import { asList, asPairs, asText, asTexts } from './reply.js';
import { loadScript } from './script-files.js';
import { NO_ARCHIVE, SETTLEMENT_ARCHIVE, type SettlementArchive } from './settlement-archive.js';
import { type LedgerLifetimes, lifeOf, RESTATE_MS } from './settlement-store.js';

/** The scripts that a worker runs in Redis, by name. */
const LANE_SCRIPTS = {
  acquire: loadScript('acquire'),
  renew: loadScript('renew'),
  release: loadScript('release_lane'),
  orphans: loadScript('orphans'),
  open: loadScript('open_lane'),
  setNext: loadScript('set_next'),
  restoreAttempts: loadScript('restore_attempts'),
  ready: loadScript('ready'),
  overdue: loadScript('overdue'),
  sweep: loadScript('sweep'),
  take: loadScript('take'),
  giveBack: loadScript('give_back'),
  allocate: loadScript('allocate'),
  fund: loadScript('fund'),
  fillGap: loadScript('fill_gap'),
  replace: loadScript('replace'),
  closeAttempt: loadScript('close_attempt'),
  include: loadScript('include'),
  uninclude: loadScript('uninclude'),
  finish: loadScript('finish'),
  requeue: loadScript('requeue'),
  refuse: loadScript('refuse'),
  park: loadScript('park'),
  dueParked: loadScript('due_parked'),
  unpark: loadScript('unpark'),
};

/** A queued settlement ends this long after its deadline, because clocks differ. */
const EXPIRES_AFTER_MS = 10_000;
const REVERTS_KEPT_SECONDS = 600;
/** A parked settlement is reserved for this long for the process that examines it. */
const JUDGED_MS = 30_000;

// ---------------------------------------------------------------- leases

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

// ---------------------------------------------------------------- queue

/** {@link LaneQueue} in Redis. */
@Injectable()
export class RedisLaneQueue implements LaneQueue {
  constructor(
    private readonly scripts: LedgerScripts,
    @Inject(AppConfig)
    private readonly lifetimes: LedgerLifetimes & Pick<AppConfig, 'unclaimedAfterMs'>,
  ) {}

  async paymentsOf(
    chainId: number,
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, AcceptedPayment>> {
    const redis = this.scripts.ledger.of(chainId);
    const reading = ids.map((id) => redis.hget(keys.recordKey(chainId, id), 'payment'));
    const texts = await redisCall('paymentsOf', Promise.all(reading));
    const payments = new Map<string, AcceptedPayment>();
    ids.forEach((id, index) => {
      const text = texts[index];
      if (text) payments.set(id, decodePayment(text));
    });
    return payments;
  }

  async finishedOf(chainId: number, ids: readonly string[]): Promise<readonly string[]> {
    if (ids.length === 0) return [];
    const live = keys.listKey(chainId, 'live');
    const redis = this.scripts.ledger.of(chainId);
    const claimedAt = await redisCall('finishedOf', redis.zmscore(live, ...ids));
    return ids.filter((_, index) => claimedAt[index] == null);
  }

  async ready(chainId: number, ids: readonly string[]): Promise<number> {
    const channel = keys.workChannel(chainId);
    if (ids.length === 0) return 0;
    const own = keys.recordKeys(chainId, ids);
    const call = { script: LANE_SCRIPTS.ready, keys: own, args: [channel] };
    return Number(asText(await this.scripts.run(chainId, call)));
  }

  async overdue(chainId: number, ageMs: number, most: number): Promise<readonly string[]> {
    const pending = keys.listKey(chainId, 'pending');
    const call = { script: LANE_SCRIPTS.overdue, keys: [pending], args: [ageMs, most] };
    return asTexts(await this.scripts.run(chainId, call));
  }

  async sweep(chainId: number, most: number): Promise<SweepResult> {
    const args = [
      most,
      keys.workChannel(chainId),
      EXPIRES_AFTER_MS,
      ...lifeOf(this.lifetimes),
      this.lifetimes.unclaimedAfterMs,
      RESTATE_MS,
    ];
    const lists = [keys.listKey(chainId, 'later'), keys.listKey(chainId, 'deadlines')];
    const [ready, ...expired] = asTexts(
      await this.scripts.run(chainId, { script: LANE_SCRIPTS.sweep, keys: lists, args }),
    );
    return { ready: Number(ready), expired };
  }

  async take(
    held: HeldLane,
    most: number,
    isRetiring = false,
    { free, held: heldPlaces }: PlacesInUse = ALL_PLACES,
  ): Promise<TakenSettlement[]> {
    const args = [most, isRetiring ? '1' : '', RESTATE_MS, free, ...[...heldPlaces].flat()];
    const flat = asTexts(await this.scripts.runHeld(held, LANE_SCRIPTS.take, [], args));
    const taken: TakenSettlement[] = [];
    for (let index = 0; index < flat.length; index += 6) {
      const [id = '', payment = '', since = '', hashes, tries, again] = flat.slice(
        index,
        index + 6,
      );
      taken.push({
        id,
        payment: decodePayment(payment),
        goesAlone: since !== '',
        tries: Number(tries),
        isResubmitted: Number(again) > 0,
        ...(since !== '' && { sentBefore: readSentBefore(since, hashes) }),
      });
    }
    return taken;
  }

  async giveBack(held: HeldLane, ids: readonly string[], delayMs?: number): Promise<void> {
    if (ids.length > 0) {
      await this.scripts.runHeld(held, LANE_SCRIPTS.giveBack, ids, [delayMs ?? '', 0]);
    }
  }

  async postpone(held: HeldLane, ids: readonly string[], delayMs: number): Promise<void> {
    if (ids.length > 0) await this.scripts.runHeld(held, LANE_SCRIPTS.giveBack, ids, [delayMs, 1]);
  }

  async refuse(held: HeldLane, refusals: readonly Refusal[]): Promise<void> {
    if (refusals.length === 0) return;
    await this.scripts.runHeld(
      held,
      LANE_SCRIPTS.refuse,
      refusals.map(({ id }) => id),
      [...lifeOf(this.lifetimes), ...refusals.map(({ reason }) => reason)],
    );
  }
}

// ---------------------------------------------------------------- attempts

/** {@link LaneAttempts} in Redis. */
@Injectable()
export class RedisLaneAttempts implements LaneAttempts {
  constructor(
    private readonly scripts: LedgerScripts,
    @Inject(AppConfig) private readonly lifetimes: LedgerLifetimes,
  ) {}

  async allocate(held: HeldLane, attempt: Attempt, budget: GasBudget): Promise<AllocateResult> {
    const [kind, ...rest] = asTexts(
      await this.scripts.runHeld(
        held,
        LANE_SCRIPTS.allocate,
        attempt.settlementIds,
        this.#attemptArgs(attempt, budget),
      ),
    );
    if (kind === 'ok' || kind === 'nonce' || kind === 'paused') return { kind };
    if (kind === 'gone') return { kind, ids: rest };
    if (kind === 'budget') return { kind, subject: rest[0] ?? '' };
    throw new TypeError(`unexpected reply of the script allocate: ${kind ?? 'nothing'}`);
  }

  async fund(held: HeldLane, attempt: Attempt, budget: GasBudget): Promise<FundResult> {
    const { funding } = attempt;
    if (funding === undefined) throw new TypeError('a funding attempt has no payer');
    const [kind, ...rest] = asTexts(
      await this.scripts.runHeld(
        held,
        LANE_SCRIPTS.fund,
        [funding.settlementId],
        [
          attempt.accountNonce,
          encodeAttempt(attempt),
          funding.payer,
          funding.payerNonce,
          ...budgetArgs(budget),
        ],
      ),
    );
    if (kind === 'ok' || kind === 'nonce' || kind === 'paused' || kind === 'funded')
      return { kind };
    if (kind === 'gone') return { kind, ids: rest };
    if (kind === 'budget') return { kind, subject: rest[0] ?? '' };
    throw new TypeError(`unexpected reply of the script fund: ${kind ?? 'nothing'}`);
  }

  async fundingOf(chainId: number, payer: Address): Promise<KnownFunding | undefined> {
    const reply = this.scripts.ledger.of(chainId).hget(keys.listKey(chainId, 'funded'), payer);
    const known = await redisCall('fundingOf', reply);
    if (known === null) return undefined;
    const [nonce, how] = known.split(':');
    return { payerNonce: Number(nonce), isDone: how === 'done' };
  }

  async replace(held: HeldLane, attempt: Attempt, budget: GasBudget): Promise<ReplaceResult> {
    const [kind, subject = ''] = asTexts(
      await this.scripts.runHeld(
        held,
        LANE_SCRIPTS.replace,
        attempt.settlementIds,
        this.#attemptArgs(attempt, budget),
      ),
    );
    if (kind === 'ok') return { kind };
    if (kind === 'budget') return { kind, subject };
    throw new LeaseLostError(held.lane);
  }

  async fillGap(held: HeldLane, attempt: Attempt, budget: GasBudget): Promise<FillResult> {
    const [kind, subject = ''] = asTexts(
      await this.scripts.runHeld(
        held,
        LANE_SCRIPTS.fillGap,
        [],
        [
          attempt.accountNonce,
          encodeAttempt(attempt),
          budget.costGwei.toString(),
          budget.laneGwei?.toString() ?? '',
          budget.day,
        ],
      ),
    );
    if (kind === 'ok' || kind === 'lost') return { kind };
    if (kind === 'budget') return { kind, subject };
    throw new TypeError(`unexpected reply of the script fill_gap: ${kind ?? 'nothing'}`);
  }

  async closeAttempt(held: HeldLane, accountNonce: number, costWei: bigint): Promise<void> {
    const costGwei = (costWei + WEI_PER_GWEI - 1n) / WEI_PER_GWEI;
    await this.scripts.runHeld(
      held,
      LANE_SCRIPTS.closeAttempt,
      [],
      [accountNonce, costGwei.toString()],
    );
  }

  async include(
    held: HeldLane,
    accountNonce: number,
    block: InclusionBlock,
    batchSize: number,
    items: readonly PaidItem[],
  ): Promise<void> {
    await this.scripts.runHeld(
      held,
      LANE_SCRIPTS.include,
      items.map(({ id }) => id),
      [
        accountNonce,
        encodeHash(block.transaction),
        block.number.toString(),
        encodeHash(block.hash),
        batchSize,
        ...items.map(({ logIndex }) => logIndex ?? ''),
      ],
    );
  }

  async uninclude(held: HeldLane, accountNonce: number, ids: readonly string[]): Promise<void> {
    if (ids.length > 0)
      await this.scripts.runHeld(held, LANE_SCRIPTS.uninclude, ids, [accountNonce]);
  }

  #attemptArgs(attempt: Attempt, budget: GasBudget): ScriptArgument[] {
    const { hash, isNoop } = newestTransactionOf(attempt);
    return [
      attempt.accountNonce,
      encodeAttempt(attempt),
      isNoop ? '' : encodeHash(hash),
      this.lifetimes.retentionSeconds,
      ...budgetArgs(budget),
    ];
  }
}

function budgetArgs({ costGwei, laneGwei, payeeGwei, fundingsGwei, day }: GasBudget): string[] {
  const limit = (gwei: bigint | undefined): string => gwei?.toString() ?? '';
  return [costGwei.toString(), limit(laneGwei), limit(payeeGwei), day, limit(fundingsGwei)];
}

// ---------------------------------------------------------------- endings

/** {@link LaneEndings} in Redis. */
@Injectable()
export class RedisLaneEndings implements LaneEndings {
  constructor(
    private readonly scripts: LedgerScripts,
    @Inject(AppConfig) private readonly lifetimes: LedgerLifetimes,
  ) {}

  async finish(
    held: HeldLane,
    accountNonce: number | undefined,
    endings: readonly Ending[],
  ): Promise<FinishResult> {
    const reply = await this.scripts.runHeld(
      held,
      LANE_SCRIPTS.finish,
      endings.map(({ id }) => id),
      [accountNonce ?? '', ...lifeOf(this.lifetimes), ...endings.flatMap(endingArgs)],
    );
    return { resubmitted: asTexts(reply) };
  }

  async requeue(
    held: HeldLane,
    accountNonce: number,
    sinceBlock: bigint,
    ids: readonly string[],
  ): Promise<void> {
    if (ids.length === 0) return;
    await this.scripts.runHeld(held, LANE_SCRIPTS.requeue, ids, [
      accountNonce,
      sinceBlock.toString(),
    ]);
  }

  async park(
    held: HeldLane,
    accountNonce: number | undefined,
    sinceBlock: bigint,
    parkings: readonly Parking[],
  ): Promise<void> {
    await this.scripts.runHeld(
      held,
      LANE_SCRIPTS.park,
      parkings.map(({ id }) => id),
      [
        accountNonce ?? '',
        sinceBlock.toString(),
        ...parkings.flatMap(({ why, retryAtMs, failed }) => [
          why,
          retryAtMs,
          failed === undefined ? '' : encodeFailed(failed),
        ]),
      ],
    );
  }

  async dueParked(chainId: number, most: number): Promise<readonly ParkedSettlement[]> {
    const parked = keys.listKey(chainId, 'parked');
    const flat = asTexts(
      await this.scripts.run(chainId, {
        script: LANE_SCRIPTS.dueParked,
        keys: [parked],
        args: [most, JUDGED_MS],
      }),
    );
    const due: ParkedSettlement[] = [];
    for (let index = 0; index < flat.length; index += 7) {
      const [id = '', payment = '', why, tries, since = '0', hashes, failed = ''] = flat.slice(
        index,
        index + 7,
      );
      due.push({
        id,
        payment: decodePayment(payment),
        why: readParkReason(why),
        tries: Number(tries),
        sentBefore: {
          ...readSentBefore(since === '' ? '0' : since, hashes),
          ...(failed !== '' && { failed: readFailed(failed) }),
        },
      });
    }
    return due;
  }

  async parkedCount(chainId: number): Promise<number> {
    const parked = keys.listKey(chainId, 'parked');
    return redisCall('parkedCount', this.scripts.ledger.of(chainId).zcard(parked));
  }

  async unpark(chainId: number, unparkings: readonly Unparking[]): Promise<FinishResult> {
    const byId = new Map(unparkings.map((one) => [unparkedIdOf(one), one]));
    if (byId.size === 0) return { resubmitted: [] };
    const args = [...lifeOf(this.lifetimes), ...[...byId.values()].flatMap(unparkingArgs)];
    const own = keys.recordKeys(chainId, [...byId.keys()]);
    const call = { script: LANE_SCRIPTS.unpark, keys: own, args };
    return { resubmitted: asTexts(await this.scripts.run(chainId, call)) };
  }

  async credit(chainId: number, transaction: Hex, logIndex: number, id: string): Promise<boolean> {
    const key = keys.creditKey(chainId, encodeHash(transaction), logIndex);
    const { tombstoneSeconds } = this.lifetimes;
    const credited = await redisCall(
      'credit',
      this.scripts.ledger.of(chainId).set(key, id, 'EX', tombstoneSeconds, 'NX', 'GET'),
    );
    return credited === null || credited === id;
  }

  async noteRevert(chainId: number, blamed: readonly string[]): Promise<void> {
    const counting = this.scripts.ledger.of(chainId).multi();
    for (const one of blamed) {
      const key = keys.revertsKey(chainId, one);
      counting.incr(key).expire(key, REVERTS_KEPT_SECONDS);
    }
    await runTransaction('noteRevert', counting);
  }
}

function readParkReason(text: string | undefined): ParkReason {
  if (text === 'state_unreadable' || text === 'search_failed') return text;
  throw new TypeError('a parked record lacks its reason');
}

function endingArgs(ending: Ending): ScriptArgument[] {
  const { transaction, blockHash } = ending;
  return [
    ending.state,
    ending.isPaid ? '1' : '0',
    transaction === undefined ? '' : encodeHash(transaction),
    ending.blockNumber?.toString() ?? '',
    blockHash === undefined ? '' : encodeHash(blockHash),
    ending.logIndex ?? '',
    ending.batchSize ?? '',
    ending.reason ?? '',
    ending.isUsed === true ? '1' : '',
  ];
}

const unparkedIdOf = (one: Unparking): string => (one.kind === 'ended' ? one.ending.id : one.id);

const NO_ENDING: readonly ScriptArgument[] = Array.from({ length: 9 }, () => '');

function unparkingArgs(unparking: Unparking): ScriptArgument[] {
  switch (unparking.kind) {
    case 'ended':
      return ['ended', ...endingArgs(unparking.ending)];
    case 'requeue':
      return ['requeue', ...NO_ENDING];
    case 'again':
      return ['again', unparking.why, unparking.retryAtMs, ...NO_ENDING.slice(2)];
  }
}
