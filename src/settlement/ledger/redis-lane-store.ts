import type { Redis } from 'ioredis';
import type { Address, Hex } from 'viem';
import { LeaseLostError } from '../../protocol/errors.js';
import { type AcceptedPayment, decodePayment } from '../../protocol/payment/accepted-payment.js';
import {
  type Attempt,
  decodeAttempt,
  encodeAttempt,
  newestTransactionOf,
} from '../model/attempt.js';
import { WEI_PER_GWEI } from '../model/gas-price.js';
import { termsOf } from '../../protocol/payment/identity.js';
import { isFinishedStage, STATE_OF } from '../model/settlement-machine.js';
import {
  redisCall,
  runTransaction,
  type Script,
  type ScriptArgument,
  type ScriptReply,
} from '../../platform/redis/redis-scripts.js';
import { isLeaseError, type LedgerEpochs } from './epoch.js';
import * as keys from './keys.js';
import { LedgerScripts } from './ledger-scripts.js';
import type {
  AllocateResult,
  Ending,
  FinishResult,
  FillResult,
  GasBudget,
  HeldLane,
  InclusionBlock,
  LaneStore,
  OpenedLane,
  ParkedSettlement,
  Parking,
  ParkReason,
  Refusal,
  RememberedAttempt,
  ReplaceResult,
  SentBefore,
  StoredSettlement,
  SweepResult,
  TakenSettlement,
  Unparking,
} from './lane-store.js';
import { encodeHash, paymentFields, readHash, readHashes, readStage } from './record.js';
import { asList, asPairs, asText, asTexts } from './reply.js';
import { loadScript } from './script-files.js';

/** What a worker runs in Redis, by name. */
export const LANE_SCRIPTS = {
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

const REVERTS_KEPT_SECONDS = 600;
/** A queued settlement ends this long after its deadline: clocks differ. */
const EXPIRES_AFTER_MS = 10_000;
/** A parked settlement is its judge's for this long. */
const JUDGED_MS = 30_000;

export interface LedgerLifetimes {
  readonly retentionSeconds: number;
  readonly tombstoneSeconds: number;
}

/** {@link LaneStore} in Redis. */
export class RedisLaneStore implements LaneStore {
  readonly #scripts: LedgerScripts;

  constructor(
    private readonly redis: Redis,
    private readonly epochs: LedgerEpochs,
    private readonly lifetimes: LedgerLifetimes,
  ) {
    this.#scripts = new LedgerScripts(redis, epochs);
  }

  async acquire(
    lane: string,
    chainId: number,
    processId: string,
    leaseMs: number,
  ): Promise<HeldLane | undefined> {
    const epoch = await this.epochs.of(chainId);
    const lease = asText(
      await this.#scripts.runAt(
        { chainId, epoch },
        {
          script: LANE_SCRIPTS.acquire,
          keys: [keys.laneLeaseKey(chainId, lane)],
          args: [processId, leaseMs],
        },
      ),
    );
    return lease === '' ? undefined : { lane, chainId, lease, epoch };
  }

  async renew(held: HeldLane, leaseMs: number): Promise<void> {
    await this.#write(LANE_SCRIPTS.renew, held, [], [leaseMs]);
  }

  async release(held: HeldLane): Promise<void> {
    await this.#write(LANE_SCRIPTS.release, held, [], []);
  }

  async orphans(chainId: number, ownLanes: readonly string[]): Promise<readonly string[]> {
    const signers = asTexts(
      await this.#ask(
        LANE_SCRIPTS.orphans,
        chainId,
        [keys.listKey(chainId, 'lanes')],
        ownLanes.map(keys.signerOf),
      ),
    );
    return signers.map((signer) => `${chainId}:${signer}`);
  }

  async open(held: HeldLane): Promise<OpenedLane> {
    const [next, attempts, settlements] = asList(
      await this.#write(LANE_SCRIPTS.open, held, [], []),
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

  async paymentsOf(
    chainId: number,
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, AcceptedPayment>> {
    const texts = await redisCall(
      'paymentsOf',
      Promise.all(ids.map((id) => this.redis.hget(keys.recordKey(chainId, id), 'payment'))),
    );
    const payments = new Map<string, AcceptedPayment>();
    ids.forEach((id, index) => {
      const text = texts[index];
      if (text) payments.set(id, decodePayment(text));
    });
    return payments;
  }

  async finishedOf(chainId: number, ids: readonly string[]): Promise<readonly string[]> {
    const stages = await redisCall(
      'finishedOf',
      Promise.all(ids.map((id) => this.redis.hget(keys.recordKey(chainId, id), 'stage'))),
    );
    return ids.filter((_, index) => {
      const stage = stages[index];
      return stage == null || isFinishedStage(readStage(stage));
    });
  }

  async setNext(held: HeldLane, known: number | undefined, next: number): Promise<boolean> {
    return (await this.#write(LANE_SCRIPTS.setNext, held, [], [known ?? '', next])) === 1;
  }

  async restoreAttempts(
    held: HeldLane,
    attempts: readonly RememberedAttempt[],
    next: number,
  ): Promise<void> {
    // An attempt may carry many payments: each goes by itself, so that Redis is never held up.
    for (const { attempt, payments } of attempts) {
      const remembered = {
        nonce: String(attempt.accountNonce),
        attempt: encodeAttempt(attempt),
        hashes: attempt.transactions
          .filter(({ isNoop }) => !isNoop)
          .map(({ hash }) => encodeHash(hash)),
        items: [...payments].map(([id, payment]) => {
          const { authorizationId, termsTag } = termsOf(
            payment.chainId,
            payment.asset,
            payment.authorization,
          );
          const fields = paymentFields(payment, { termsTag, signedTag: '' }, 0);
          return { id, fields: ['auth', authorizationId, ...fields] };
        }),
      };
      await this.#write(
        LANE_SCRIPTS.restoreAttempts,
        held,
        [],
        [next, this.lifetimes.retentionSeconds, JSON.stringify([remembered])],
      );
    }
    if (attempts.length > 0) return;
    const args = [next, this.lifetimes.retentionSeconds, '[]'];
    await this.#write(LANE_SCRIPTS.restoreAttempts, held, [], args);
  }

  async ready(chainId: number, ids: readonly string[]): Promise<number> {
    const reply = await this.#ask(LANE_SCRIPTS.ready, chainId, this.#records(chainId, ids), [
      keys.workChannel(chainId),
    ]);
    return Number(asText(reply));
  }

  async overdue(chainId: number, ageMs: number, most: number): Promise<readonly string[]> {
    const pending = keys.listKey(chainId, 'pending');
    return asTexts(await this.#ask(LANE_SCRIPTS.overdue, chainId, [pending], [ageMs, most]));
  }

  async sweep(chainId: number, most: number): Promise<SweepResult> {
    const [ready, ...expired] = asTexts(
      await this.#ask(
        LANE_SCRIPTS.sweep,
        chainId,
        [keys.listKey(chainId, 'later'), keys.listKey(chainId, 'deadlines')],
        [most, keys.workChannel(chainId), EXPIRES_AFTER_MS, ...this.#life()],
      ),
    );
    return { ready: Number(ready), expired };
  }

  async take(held: HeldLane, most: number): Promise<TakenSettlement[]> {
    const flat = asTexts(await this.#write(LANE_SCRIPTS.take, held, [], [most]));
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
        isCollectedAgain: Number(again) > 0,
        ...(since !== '' && { sentBefore: readSentBefore(since, hashes) }),
      });
    }
    return taken;
  }

  async giveBack(held: HeldLane, ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.#write(LANE_SCRIPTS.giveBack, held, ids, ['']);
  }

  async postpone(held: HeldLane, ids: readonly string[], delayMs: number): Promise<void> {
    if (ids.length > 0) await this.#write(LANE_SCRIPTS.giveBack, held, ids, [delayMs]);
  }

  async allocate(held: HeldLane, attempt: Attempt, budget: GasBudget): Promise<AllocateResult> {
    const [kind, ...rest] = asTexts(
      await this.#write(
        LANE_SCRIPTS.allocate,
        held,
        attempt.settlementIds,
        this.#attemptArgs(attempt, budget),
      ),
    );
    if (kind === 'ok' || kind === 'nonce' || kind === 'paused') return { kind };
    if (kind === 'gone') return { kind, ids: rest };
    if (kind === 'budget') return { kind, subject: rest[0] ?? '' };
    throw new TypeError(`allocate answered ${kind ?? 'nothing'}`);
  }

  async replace(held: HeldLane, attempt: Attempt, budget: GasBudget): Promise<ReplaceResult> {
    const [kind, subject = ''] = asTexts(
      await this.#write(
        LANE_SCRIPTS.replace,
        held,
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
      await this.#write(
        LANE_SCRIPTS.fillGap,
        held,
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
    throw new TypeError(`fill_gap answered ${kind ?? 'nothing'}`);
  }

  async closeAttempt(held: HeldLane, accountNonce: number, costWei: bigint): Promise<void> {
    const costGwei = (costWei + WEI_PER_GWEI - 1n) / WEI_PER_GWEI;
    await this.#write(LANE_SCRIPTS.closeAttempt, held, [], [accountNonce, costGwei.toString()]);
  }

  async include(
    held: HeldLane,
    accountNonce: number,
    block: InclusionBlock,
    batchSize: number,
    items: readonly { readonly id: string; readonly logIndex: number }[],
  ): Promise<void> {
    await this.#write(
      LANE_SCRIPTS.include,
      held,
      items.map(({ id }) => id),
      [
        accountNonce,
        encodeHash(block.transaction),
        block.number.toString(),
        encodeHash(block.hash),
        batchSize,
        ...items.map(({ logIndex }) => logIndex),
      ],
    );
  }

  async uninclude(held: HeldLane, accountNonce: number, ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.#write(LANE_SCRIPTS.uninclude, held, ids, [accountNonce]);
  }

  async finish(
    held: HeldLane,
    accountNonce: number | undefined,
    endings: readonly Ending[],
  ): Promise<FinishResult> {
    const reply = await this.#write(
      LANE_SCRIPTS.finish,
      held,
      endings.map(({ id }) => id),
      [accountNonce ?? '', ...this.#life(), ...endings.flatMap(endingArgs)],
    );
    return { collectedAgain: asTexts(reply) };
  }

  async requeue(
    held: HeldLane,
    accountNonce: number,
    sinceBlock: bigint,
    ids: readonly string[],
  ): Promise<void> {
    if (ids.length === 0) return;
    await this.#write(LANE_SCRIPTS.requeue, held, ids, [accountNonce, sinceBlock.toString()]);
  }

  async refuse(held: HeldLane, refusals: readonly Refusal[]): Promise<void> {
    if (refusals.length === 0) return;
    await this.#write(
      LANE_SCRIPTS.refuse,
      held,
      refusals.map(({ id }) => id),
      [...this.#life(), ...refusals.map(({ reason }) => reason)],
    );
  }

  async park(
    held: HeldLane,
    accountNonce: number | undefined,
    sinceBlock: bigint,
    parkings: readonly Parking[],
  ): Promise<void> {
    await this.#write(
      LANE_SCRIPTS.park,
      held,
      parkings.map(({ id }) => id),
      [
        accountNonce ?? '',
        sinceBlock.toString(),
        ...parkings.flatMap(({ why, retryAtMs }) => [why, retryAtMs]),
      ],
    );
  }

  async dueParked(chainId: number, most: number): Promise<readonly ParkedSettlement[]> {
    const parked = keys.listKey(chainId, 'parked');
    const flat = asTexts(
      await this.#ask(LANE_SCRIPTS.dueParked, chainId, [parked], [most, JUDGED_MS]),
    );
    const due: ParkedSettlement[] = [];
    for (let index = 0; index < flat.length; index += 6) {
      const [id = '', payment = '', why, tries, since = '0', hashes] = flat.slice(index, index + 6);
      due.push({
        id,
        payment: decodePayment(payment),
        why: readParkReason(why),
        tries: Number(tries),
        sentBefore: readSentBefore(since === '' ? '0' : since, hashes),
      });
    }
    return due;
  }

  parkedCount(chainId: number): Promise<number> {
    return redisCall('parkedCount', this.redis.zcard(keys.listKey(chainId, 'parked')));
  }

  async unpark(chainId: number, unparkings: readonly Unparking[]): Promise<FinishResult> {
    const reply = await this.#ask(
      LANE_SCRIPTS.unpark,
      chainId,
      this.#records(
        chainId,
        unparkings.map((one) => (one.kind === 'ended' ? one.ending.id : one.id)),
      ),
      [...this.#life(), ...unparkings.flatMap(unparkingArgs)],
    );
    return { collectedAgain: asTexts(reply) };
  }

  async credit(chainId: number, transaction: Hex, logIndex: number, id: string): Promise<boolean> {
    const key = keys.creditKey(chainId, encodeHash(transaction), logIndex);
    const { tombstoneSeconds } = this.lifetimes;
    const credited = await redisCall(
      'credit',
      this.redis.set(key, id, 'EX', tombstoneSeconds, 'NX', 'GET'),
    );
    return credited === null || credited === id;
  }

  async noteRevert(chainId: number, payer: Address): Promise<void> {
    const key = keys.revertsKey(chainId, payer);
    await runTransaction(
      'noteRevert',
      this.redis.multi().incr(key).expire(key, REVERTS_KEPT_SECONDS),
    );
  }

  onEpochChange(listener: () => void): () => void {
    return this.epochs.onChange(listener);
  }

  #attemptArgs(attempt: Attempt, budget: GasBudget): ScriptArgument[] {
    const { hash, isNoop } = newestTransactionOf(attempt);
    return [
      attempt.accountNonce,
      encodeAttempt(attempt),
      isNoop ? '' : encodeHash(hash),
      this.lifetimes.retentionSeconds,
      budget.costGwei.toString(),
      budget.laneGwei?.toString() ?? '',
      budget.payeeGwei?.toString() ?? '',
      budget.day,
    ];
  }

  #life(): readonly [tombstone: number, retention: number] {
    return [this.lifetimes.tombstoneSeconds, this.lifetimes.retentionSeconds];
  }

  #records(chainId: number, ids: readonly string[]): string[] {
    return ids.map((id) => keys.recordKey(chainId, id));
  }

  /** A step of a lane: its lease and the epoch it was acquired at are asserted. */
  async #write(
    script: Script,
    held: HeldLane,
    ids: readonly string[],
    args: readonly ScriptArgument[],
  ): Promise<ScriptReply> {
    const { chainId, lane, lease } = held;
    const own = [keys.laneKey(chainId, lane), ...this.#records(chainId, ids)];
    try {
      return await this.#scripts.runAt(held, { script, keys: own, args: [lease, ...args] });
    } catch (error) {
      throw isLeaseError(error) ? new LeaseLostError(lane) : error;
    }
  }

  /** A step of the chain that needs no lane: of whichever epoch it is. */
  #ask(
    script: Script,
    chainId: number,
    own: readonly string[],
    args: readonly ScriptArgument[],
  ): Promise<ScriptReply> {
    return this.#scripts.run(chainId, { script, keys: own, args });
  }
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

function readSentBefore(since: string, hashes: string | undefined): SentBefore {
  return { sinceBlock: BigInt(since), hashes: readHashes(hashes) };
}

function readParkReason(text: string | undefined): ParkReason {
  if (text === 'state_unreadable' || text === 'search_failed') return text;
  throw new TypeError('a parked record does not say why');
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
  ];
}

const NO_ENDING: readonly ScriptArgument[] = Array.from({ length: 8 }, () => '');

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
