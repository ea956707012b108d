import type { Redis } from 'ioredis';
import type { Address, Hex } from 'viem';
import { LeaseLostError } from '../core/errors.js';
import type { Reason } from '../core/reasons.js';
import { type AcceptedPayment, decodePayment } from '../core/settlement/accepted-payment.js';
import {
  type Attempt,
  decodeAttempt,
  encodeAttempt,
  newestTransactionOf,
} from '../core/settlement/attempt.js';
import {
  ledgerCall,
  runScript,
  type Script,
  script,
  type ScriptArgument,
  type ScriptReply,
} from '../redis/redis-scripts.js';
import { WEI_PER_GWEI } from '../core/settlement/gas-price.js';
import { creditKey, revertsKey, settlementKey } from './keys.js';
import * as lua from './lua/lane-scripts.js';
import { PRELUDE } from './lua/prelude.js';
import { asList, asPairs, asText, asTexts } from './reply.js';

/** What a worker runs in Redis, by name. */
export const LANE_SCRIPTS = {
  acquire: script('acquire', PRELUDE + lua.ACQUIRE),
  renew: script('renew', PRELUDE + lua.RENEW),
  release: script('release', PRELUDE + lua.RELEASE),
  ready: script('ready', PRELUDE + lua.READY),
  overdue: script('overdue', PRELUDE + lua.OVERDUE),
  take: script('take', PRELUDE + lua.TAKE),
  giveBack: script('giveBack', PRELUDE + lua.GIVE_BACK),
  open: script('open', PRELUDE + lua.OPEN_LANE),
  setNext: script('setNext', PRELUDE + lua.SET_NEXT),
  allocate: script('allocate', PRELUDE + lua.ALLOCATE),
  fillGap: script('fillGap', PRELUDE + lua.FILL_GAP),
  replace: script('replace', PRELUDE + lua.REPLACE),
  closeAttempt: script('closeAttempt', PRELUDE + lua.CLOSE_ATTEMPT),
  include: script('include', PRELUDE + lua.INCLUDE),
  uninclude: script('uninclude', PRELUDE + lua.UNINCLUDE),
  finish: script('finish', PRELUDE + lua.FINISH),
  requeue: script('requeue', PRELUDE + lua.REQUEUE),
  refuse: script('refuse', PRELUDE + lua.REFUSE),
};

const REVERTS_KEPT_SECONDS = 600;

/** A lane that this process writes: proof of the lease goes with every write. */
export interface HeldLane {
  /** `<chainId>:<signer>` */
  readonly lane: string;
  readonly chainId: number;
  /** `<process>:<epoch>` */
  readonly lease: string;
}

/** A settlement a lane has taken from the ready set. */
export interface TakenSettlement {
  readonly id: string;
  readonly payment: AcceptedPayment;
  /** It shared a transaction that did not pay it; now it goes alone. */
  readonly goesAlone: boolean;
  /** Present where an attempt carried it that is dead now. */
  readonly sentBefore?: SentBefore;
}

/** What is left of the attempts that did not settle a settlement. */
export interface SentBefore {
  /** A block before the first of them was broadcast, and the authorization unused. */
  readonly sinceBlock: bigint;
  readonly hashes: readonly Hex[];
}

export interface OpenedLane {
  /** Next account nonce; `undefined` when the lane has no record. */
  readonly next: number | undefined;
  readonly attempts: readonly Attempt[];
}

export interface GasBudget {
  /** What the transaction may cost at most, gwei. */
  readonly costGwei: bigint;
  readonly laneGwei: bigint | undefined;
  readonly payeeGwei: bigint | undefined;
}

export type AllocateResult =
  | { readonly kind: 'ok' }
  /** An operator has paused the lane; nothing was allocated. */
  | { readonly kind: 'paused' }
  /** The lane's record names another nonce than the bytes were signed with. */
  | { readonly kind: 'nonce' }
  /** These settlements are not in the queue any more; nothing was allocated. */
  | { readonly kind: 'gone'; readonly ids: readonly string[] }
  | { readonly kind: 'budget'; readonly subject: string };

/** How one settlement of an attempt ended. */
export interface Ending {
  readonly id: string;
  readonly state: 'finalized' | 'reverted' | 'expired' | 'foreign';
  readonly isPaid: boolean;
  readonly transaction?: Hex;
  readonly blockNumber?: bigint;
  readonly blockHash?: Hex;
  readonly logIndex?: number;
  readonly batchSize?: number;
  readonly reason?: Reason;
}

export interface LedgerLifetimes {
  readonly retentionSeconds: number;
  readonly tombstoneSeconds: number;
}

/**
 * The ledger as lanes use it. Every method is one atomic step in Redis.
 *
 * @throws LeaseLostError from every method that takes a lane, when its lease is not ours any more:
 *   nothing was written.
 * @throws LedgerUnavailableError from every method when Redis does not answer: the step may have
 *   been taken.
 */
export class LaneLedger {
  constructor(
    private readonly redis: Redis,
    private readonly lifetimes: LedgerLifetimes,
  ) {}

  async acquire(
    lane: string,
    chainId: number,
    process: string,
    leaseMs: number,
  ): Promise<HeldLane | undefined> {
    const lease = asText(await this.#run(LANE_SCRIPTS.acquire, [lane, process, leaseMs]));
    return lease === '' ? undefined : { lane, chainId, lease };
  }

  renew({ lane, lease }: HeldLane, leaseMs: number): Promise<void> {
    return this.#write(LANE_SCRIPTS.renew, lane, [lane, lease, leaseMs]);
  }

  release({ lane, lease }: HeldLane): Promise<void> {
    return this.#write(LANE_SCRIPTS.release, lane, [lane, lease]);
  }

  async open({ lane, lease }: HeldLane): Promise<OpenedLane> {
    const reply = await this.#run(LANE_SCRIPTS.open, [lane, lease]);
    if (reply === null) throw new LeaseLostError(lane);
    const [next, attempts] = asList(reply);
    const text = asText(next);
    return {
      next: text === '' ? undefined : Number(text),
      attempts: [...asPairs(attempts).values()]
        .map(decodeAttempt)
        .sort((a, b) => a.accountNonce - b.accountNonce),
    };
  }

  /** The payments of settlements that are still live; finished ones are missing from the result. */
  async paymentsOf(ids: readonly string[]): Promise<ReadonlyMap<string, AcceptedPayment>> {
    const texts = await ledgerCall(
      'paymentsOf',
      Promise.all(ids.map((id) => this.redis.hget(settlementKey(id), 'pay'))),
    );
    const payments = new Map<string, AcceptedPayment>();
    ids.forEach((id, index) => {
      const text = texts[index];
      if (text) payments.set(id, decodePayment(text));
    });
    return payments;
  }

  /** @returns whether the record still named `known` and was set. */
  async setNext(
    { lane, lease }: HeldLane,
    known: number | undefined,
    next: number,
  ): Promise<boolean> {
    return (await this.#run(LANE_SCRIPTS.setNext, [lane, lease, known ?? '', next])) === 1;
  }

  /** @returns how many of them are ready now that were not before. */
  async ready(chainId: number, ids: readonly string[]): Promise<number> {
    return Number(asText(await this.#run(LANE_SCRIPTS.ready, [chainId, ...ids])));
  }

  /** Settlements claimed at least this long ago that no job brought here. */
  async overdue(chainId: number, ageMs: number, most: number): Promise<readonly string[]> {
    return asTexts(await this.#run(LANE_SCRIPTS.overdue, [chainId, ageMs, most]));
  }

  async take({ lane, lease, chainId }: HeldLane, most: number): Promise<TakenSettlement[]> {
    const reply = await this.#run(LANE_SCRIPTS.take, [lane, lease, chainId, most]);
    if (reply === null) throw new LeaseLostError(lane);
    const flat = asTexts(reply);
    const taken: TakenSettlement[] = [];
    for (let index = 0; index < flat.length; index += 4) {
      const [id = '', payment = '', since = '', hashes = ''] = flat.slice(index, index + 4);
      taken.push({
        id,
        payment: decodePayment(payment),
        goesAlone: since !== '',
        ...(since !== '' && {
          sentBefore: { sinceBlock: BigInt(since), hashes: hashes.split(',') as Hex[] },
        }),
      });
    }
    return taken;
  }

  giveBack({ lane, lease }: HeldLane, ids: readonly string[]): Promise<void> {
    return this.#write(LANE_SCRIPTS.giveBack, lane, [lane, lease, ...ids]);
  }

  async allocate(
    { lane, lease, chainId }: HeldLane,
    attempt: Attempt,
    budget: GasBudget,
    day: string,
  ): Promise<AllocateResult> {
    const reply = asTexts(
      await this.#run(LANE_SCRIPTS.allocate, [
        lane,
        lease,
        attempt.accountNonce,
        encodeAttempt(attempt),
        newestTransactionOf(attempt).hash,
        chainId,
        this.lifetimes.retentionSeconds,
        budget.costGwei.toString(),
        budget.laneGwei?.toString() ?? '',
        budget.payeeGwei?.toString() ?? '',
        day,
        ...attempt.settlementIds,
      ]),
    );
    const [kind, ...rest] = reply;
    if (kind === 'ok' || kind === 'nonce' || kind === 'paused') return { kind };
    if (kind === 'gone') return { kind, ids: rest };
    if (kind === 'budget') return { kind, subject: rest[0] ?? '' };
    throw new LeaseLostError(lane);
  }

  /** Stores a further transaction of an attempt, before it is sent. */
  replace({ lane, lease, chainId }: HeldLane, attempt: Attempt): Promise<void> {
    return this.#write(LANE_SCRIPTS.replace, lane, [
      lane,
      lease,
      attempt.accountNonce,
      encodeAttempt(attempt),
      newestTransactionOf(attempt).hash,
      chainId,
      this.lifetimes.retentionSeconds,
      ...attempt.settlementIds,
    ]);
  }

  /** @param costWei - what the mined transaction of this nonce has cost us; none, if it was not ours. */
  closeAttempt({ lane, lease }: HeldLane, accountNonce: number, costWei: bigint): Promise<void> {
    const costGwei = (costWei + WEI_PER_GWEI - 1n) / WEI_PER_GWEI;
    return this.#write(LANE_SCRIPTS.closeAttempt, lane, [
      ...[lane, lease, accountNonce],
      costGwei.toString(),
    ]);
  }

  include(
    { lane, lease }: HeldLane,
    accountNonce: number,
    block: { readonly transaction: Hex; readonly number: bigint; readonly hash: Hex },
    batchSize: number,
    items: readonly { readonly id: string; readonly logIndex: number }[],
  ): Promise<void> {
    return this.#write(LANE_SCRIPTS.include, lane, [
      lane,
      lease,
      accountNonce,
      block.transaction,
      block.number.toString(),
      block.hash,
      batchSize,
      ...items.flatMap(({ id, logIndex }) => [id, logIndex]),
    ]);
  }

  /** @param items - with the amounts that are in flight again, as `<kind>:<amount>`. */
  uninclude(
    { lane, lease }: HeldLane,
    accountNonce: number,
    items: readonly { readonly id: string; readonly inFlight: string }[],
  ): Promise<void> {
    return this.#write(LANE_SCRIPTS.uninclude, lane, [
      lane,
      lease,
      accountNonce,
      ...items.flatMap(({ id, inFlight }) => [id, inFlight]),
    ]);
  }

  /** @param accountNonce - of their attempt; `undefined` for settlements taken and not sent again. */
  finish(
    { lane, lease }: HeldLane,
    accountNonce: number | undefined,
    endings: readonly Ending[],
  ): Promise<void> {
    return this.#write(LANE_SCRIPTS.finish, lane, [
      lane,
      lease,
      accountNonce ?? '',
      this.lifetimes.tombstoneSeconds,
      this.lifetimes.retentionSeconds,
      ...endings.flatMap((ending) => [
        ending.id,
        ending.state,
        ending.isPaid ? '1' : '0',
        ending.transaction ?? '',
        ending.blockNumber?.toString() ?? '',
        ending.blockHash ?? '',
        ending.logIndex ?? '',
        ending.batchSize ?? '',
        ending.reason ?? '',
      ]),
    ]);
  }

  /** @param sinceBlock - a block before the attempt was broadcast. */
  requeue(
    { lane, lease }: HeldLane,
    accountNonce: number,
    sinceBlock: bigint,
    ids: readonly string[],
  ): Promise<void> {
    return this.#write(LANE_SCRIPTS.requeue, lane, [
      lane,
      lease,
      accountNonce,
      sinceBlock.toString(),
      ...ids,
    ]);
  }

  refuse(
    { lane, lease }: HeldLane,
    refusals: readonly { readonly id: string; readonly reason: Reason }[],
  ): Promise<void> {
    return this.#write(LANE_SCRIPTS.refuse, lane, [
      lane,
      lease,
      this.lifetimes.tombstoneSeconds,
      this.lifetimes.retentionSeconds,
      ...refusals.flatMap(({ id, reason }) => [id, reason]),
    ]);
  }

  /**
   * Credits a log of a transaction not ours to a settlement. One log is credited once, ever.
   *
   * @returns whether it is this settlement's.
   */
  async credit(chainId: number, transaction: Hex, logIndex: number, id: string): Promise<boolean> {
    const key = creditKey(chainId, transaction, logIndex);
    const { tombstoneSeconds } = this.lifetimes;
    const credited = await ledgerCall(
      'credit',
      this.redis.set(key, id, 'EX', tombstoneSeconds, 'NX', 'GET'),
    );
    return credited === null || credited === id;
  }

  /** Counts a settlement that reverted although its simulation was clean; forgotten after a while. */
  async noteRevert(chainId: number, payer: Address): Promise<void> {
    const key = revertsKey(chainId, payer);
    await ledgerCall(
      'noteRevert',
      this.redis.multi().incr(key).expire(key, REVERTS_KEPT_SECONDS).exec(),
    );
  }

  /** Stores a transaction for a nonce below the next one, of which nothing is stored. */
  async fillGap({ lane, lease }: HeldLane, attempt: Attempt): Promise<boolean> {
    const reply = await this.#run(LANE_SCRIPTS.fillGap, [
      lane,
      lease,
      attempt.accountNonce,
      encodeAttempt(attempt),
    ]);
    if (reply === null) throw new LeaseLostError(lane);
    return reply === 1;
  }

  #run(which: Script, args: readonly ScriptArgument[]): Promise<ScriptReply> {
    return runScript(this.redis, which, args);
  }

  async #write(which: Script, lane: string, args: readonly ScriptArgument[]): Promise<void> {
    if ((await this.#run(which, args)) !== 1) throw new LeaseLostError(lane);
  }
}
