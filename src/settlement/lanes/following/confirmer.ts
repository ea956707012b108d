import type { Hex } from 'viem';
import type { Head } from '../../../platform/chain/head-watcher.js';
import { BackgroundTasks } from '../../../platform/concurrency/background-tasks.js';
import type { Clock } from '../../../platform/concurrency/clock.js';
import { settleAll } from '../../../platform/concurrency/timing.js';
import type { HeldLane, LaneAttempts, StoredInclusion } from '../../ledger/lane-store.js';
import { isTransient } from '../lane-errors.js';
import type { LaneObserver } from '../lane-observer.js';
import type {
  Block,
  BlockState,
  FeeMarkets,
  GasEstimates,
  InclusionLook,
  ReceiptReader,
  SeenInclusion,
} from '../ports.js';
import type { LaneState } from '../state/lane-state.js';
import { type Inclusion, inclusionChanges, type TrackedAttempt } from '../state/tracked-attempt.js';
import type { InclusionRate } from './inclusion-rate.js';

interface ConfirmerOptions {
  readonly attempts: LaneAttempts;
  readonly state: LaneState;
  readonly reader: ReceiptReader;
  readonly gasEstimates: GasEstimates;
  readonly rate: InclusionRate;
  readonly fees: Pick<FeeMarkets, 'noteMined'>;
  readonly observer: LaneObserver;
  readonly clock: Clock;
}

/** The result of one look at the newest block. */
export interface Look {
  /** Account nonces below this are used on chain. */
  readonly usedNonces: number;
  /** Not mined, although their nonce is used. */
  readonly missing: readonly TrackedAttempt[];
  readonly waiting: readonly TrackedAttempt[];
}

interface Found {
  readonly tracked: TrackedAttempt;
  readonly inclusion: Inclusion;
}

interface Confirmation {
  readonly tracked: TrackedAttempt;
  /** `undefined` where no second endpoint confirms it. */
  readonly inclusion: Inclusion | undefined;
  /** Hash of the head at which it was seen; `undefined` if it was not a look at a head. */
  readonly seenAt: Hex | undefined;
}

interface Stood {
  readonly block: Block;
  readonly standing: BlockState;
}

/** Inclusion within this many blocks after sending counts as smooth. */
const SMOOTH_BLOCKS = 2n;
/** Blocks that each look checks: the newest ones, and in turns some older ones. */
const NEWEST_BLOCKS = 64;
const OLDER_BLOCKS = 16;
/** An inclusion that no second endpoint confirms within this many blocks counts as not seen. */
const CONFIRMED_BLOCKS = 4n;
/** Limit of confirmations at once. */
const CONFIRMATIONS_MOST = 128;
const CONFIRMATION_MS = 5000;
/** The pause before an unconfirmed inclusion is asked again at the same block. */
const DOUBT_MS = 250;

/**
 * Keeps the inclusions in the ledger equal to the chain: which attempts are mined, in which block, and which
 * settlements they paid. A background task asks a second endpoint.
 */
export class Confirmer {
  readonly #confirmations: BackgroundTasks<Confirmation>;
  /** Background checks whether blocks below the final height are part of the chain. */
  readonly #standings: BackgroundTasks<Stood>;
  /** When a block without a quorum answer is asked again; steady clock. */
  readonly #standingsAgainAt = new Map<Hex, number>();
  /** The position at which the check of older blocks continues. */
  #olderFrom = 0;
  /** When to look again, while a finding is unconfirmed. */
  #lookAgainAt: number | undefined;

  constructor(private readonly options: ConfirmerOptions) {
    const beside = {
      most: CONFIRMATIONS_MOST,
      mostOfGroup: CONFIRMATIONS_MOST,
      limitMs: CONFIRMATION_MS,
      onResult: () => {
        options.state.changed.notify();
      },
      clock: options.clock,
    };
    this.#confirmations = new BackgroundTasks(beside);
    this.#standings = new BackgroundTasks(beside);
  }

  reset(): void {
    this.#confirmations.clear();
    this.#standings.clear();
    this.#standingsAgainAt.clear();
    this.#lookAgainAt = undefined;
  }

  /** Whether a finding at this block is unconfirmed. */
  get isInDoubt(): boolean {
    return this.#lookAgainAt !== undefined;
  }

  /** Whether the same block has to be looked at again now. True once for each doubt. */
  takeDoubt(): boolean {
    if (this.#lookAgainAt === undefined) return false;
    if (this.options.clock.steady() < this.#lookAgainAt) return false;
    this.#lookAgainAt = undefined;
    return true;
  }

  // ---------------------------------------------------------------- looking

  /** @throws ChainUnavailableError, LeaseLostError, RedisUnavailableError. It may be repeated. */
  async look(held: HeldLane, head: Head): Promise<Look> {
    const { pending } = this.options.state;
    const looking = this.#lookAt(head, pending);
    await settleAll<unknown>([looking, this.#dropReplaced(held, head)]);
    const { usedNonces, included } = await looking;
    // A mined attempt has used its nonce and all below it, even while a search for those runs.
    const newestMined = this.options.state.mined.at(-1)?.accountNonce ?? -1;
    for (const [tracked, inclusion] of included) {
      this.found(tracked, { view: head.view, inclusion }, head.latest.hash);
    }
    const unseen = pending.filter((tracked) => {
      tracked.seenAtBlock = included.has(tracked)
        ? (tracked.seenAtBlock ?? head.latest.number)
        : undefined;
      const { seenAtBlock = head.latest.number } = tracked;
      return !included.has(tracked) || head.latest.number - seenAtBlock > CONFIRMED_BLOCKS;
    });
    return {
      usedNonces: Math.max(usedNonces, newestMined + 1),
      missing: unseen.filter(({ accountNonce }) => accountNonce < usedNonces),
      waiting: unseen.filter(({ accountNonce }) => accountNonce >= usedNonces),
    };
  }

  async #lookAt(head: Head, pending: readonly TrackedAttempt[]): Promise<InclusionLook> {
    return pending.length === 0 ? NOTHING : this.options.reader.look(head, pending);
  }

  /** One endpoint shows an attempt in a block. The inclusion is written after a second endpoint confirms it. */
  found(tracked: TrackedAttempt, { view, inclusion }: SeenInclusion, seenAt?: Hex): void {
    const { reader } = this.options;
    const key = `${tracked.accountNonce}:${inclusion.blockHash}`;
    this.#confirmations.start(key, '', async () => ({
      tracked,
      seenAt,
      inclusion: await reader.confirm(view, tracked, inclusion),
    }));
  }

  /** Checks for each block below the final height whether it is part of the chain. */
  askFinal({ finalized }: Head): void {
    if (finalized === undefined) return;
    const { state, reader, clock } = this.options;
    for (const { inclusion, finalBlock } of state.mined) {
      if (inclusion === undefined || inclusion.blockNumber > finalized.number) continue;
      const block = blockOf(inclusion);
      if (finalBlock === block.hash) continue;
      if (clock.steady() < (this.#standingsAgainAt.get(block.hash) ?? 0)) continue;
      this.#standings.start(block.hash, '', async () => ({
        block,
        standing: await reader.standingOf(block, finalized),
      }));
    }
  }

  /** Writes what was confirmed since the last call. */
  async collect(held: HeldLane, head: Head): Promise<void> {
    this.#collectFinal();
    const now: Found[] = [];
    const late: Found[] = [];
    for (const result of this.#confirmations.collect()) {
      if (result.kind === 'failed' && !isTransient(result.error)) throw result.error;
      const { tracked, inclusion, seenAt } = result.kind === 'done' ? result.value : NOTHING_SEEN;
      if (tracked === undefined || inclusion === undefined) this.#doubt();
      else (seenAt === head.latest.hash ? now : late).push({ tracked, inclusion });
    }
    await this.#include(held, [...now, ...(await this.#thoseStillThere(late, head))]);
  }

  /** A finding at an older head may be in a block that was replaced since. */
  async #thoseStillThere(found: readonly Found[], head: Head): Promise<readonly Found[]> {
    if (found.length === 0) return [];
    try {
      const blocks = found.map(({ inclusion }) => blockOf(inclusion));
      const { gone, doubtful } = await this.options.reader.replacedBlocks(head, blocks);
      const isThere = ({ inclusion: { blockHash } }: Found): boolean =>
        !gone.has(blockHash) && !doubtful.has(blockHash);
      const there = found.filter(isThere);
      if (there.length < found.length) this.#doubt();
      return there;
    } catch (error) {
      if (!isTransient(error)) throw error;
      this.#doubt();
      return [];
    }
  }

  #collectFinal(): void {
    const { state, clock } = this.options;
    for (const result of this.#standings.collect()) {
      if (result.kind === 'failed' && !isTransient(result.error)) throw result.error;
      if (result.kind === 'done' && result.value.standing === 'there') {
        this.#standingsAgainAt.delete(result.key as Hex);
        for (const tracked of state.mined) {
          const { hash } = result.value.block;
          if (tracked.inclusion?.blockHash === hash) tracked.finalBlock = hash;
        }
        continue;
      }
      // A missing answer proves nothing; the next look shows whether the block was replaced.
      this.#standingsAgainAt.set(result.key as Hex, clock.steady() + DOUBT_MS);
      this.#doubt();
    }
  }

  #doubt(): void {
    this.#lookAgainAt ??= this.options.clock.steady() + DOUBT_MS;
  }

  // ---------------------------------------------------------------- writing

  async #include(held: HeldLane, found: readonly Found[]): Promise<void> {
    const { state } = this.options;
    const mine = found.filter(
      ({ tracked }) =>
        tracked.inclusion === undefined && state.get(tracked.accountNonce) === tracked,
    );
    if (mine.length === 0) return;
    const smooth = await settleAll(
      mine.map(({ tracked, inclusion }) => this.#includeOne(held, tracked, inclusion)),
    );
    state.blockTook(smooth.filter(Boolean).length);
  }

  /** @returns whether it was included soon. */
  async #includeOne(
    held: HeldLane,
    tracked: TrackedAttempt,
    inclusion: Inclusion,
  ): Promise<boolean> {
    const { rate, fees, gasEstimates, observer, clock } = this.options;
    await this.#write(held, tracked, inclusion);
    tracked.inclusion = inclusion;
    const mined = tracked.attempt.transactions.find(({ hash }) => hash === inclusion.transaction);
    if (mined !== undefined) fees.noteMined(mined.maxPriorityFeePerGas);
    const latencyMs = clock.now() - tracked.sentAt;
    rate.noteInclusion(latencyMs, inclusion.credited.size);
    const [only] = tracked.items;
    if (inclusion.isSuccess && tracked.attempt.kind === 'single' && only !== undefined) {
      if (tracked.isSettledBy(inclusion.transaction)) {
        gasEstimates.raise(only.payment, inclusion.gasUsed);
      }
    }
    observer.included(held.lane, tracked.attempt, inclusion, latencyMs, tracked.payments);
    return inclusion.blockNumber - tracked.sentSince <= SMOOTH_BLOCKS;
  }

  /** Writes the chain's result for every settlement of an attempt to the ledger. */
  async #write(
    held: HeldLane,
    tracked: TrackedAttempt,
    inclusion: Inclusion | undefined,
  ): Promise<void> {
    const { attempts } = this.options;
    const { accountNonce, attempt } = tracked;
    const { include, uninclude } = inclusionChanges(tracked, inclusion);
    if (uninclude.length > 0) {
      await attempts.uninclude(held, accountNonce, uninclude);
      for (const id of uninclude) tracked.stored.delete(id);
    }
    if (inclusion === undefined || include.length === 0) return;
    const { transaction, blockNumber, blockHash } = inclusion;
    const block = { transaction, number: blockNumber, hash: blockHash };
    await attempts.include(held, accountNonce, block, attempt.settlementIds.length, include);
    for (const { id, logIndex } of include) {
      const stored: StoredInclusion = { transaction, blockNumber, blockHash, logIndex };
      tracked.stored.set(id, stored);
    }
  }

  /** No block contains an attempt, so the ledger's inclusion of it is removed. */
  async forget(held: HeldLane, tracked: TrackedAttempt): Promise<void> {
    await this.#write(held, tracked, undefined);
    tracked.inclusion = undefined;
    tracked.finalBlock = undefined;
    tracked.seenAtBlock = undefined;
  }

  /**
   * Handles replaced blocks: their transactions are sent again unchanged. Checks the inclusions of this process and
   * those that a former holder of the lane stored.
   */
  async #dropReplaced(held: HeldLane, head: Head): Promise<void> {
    const blocks = this.options.state.attempts.flatMap((tracked) =>
      blocksOf(tracked).map((block) => ({ tracked, ...block })),
    );
    if (blocks.length === 0) return;
    const asked = this.#inTurns(blocks);
    const { gone, doubtful } = await this.options.reader.replacedBlocks(head, asked);
    if (doubtful.size > 0) this.#doubt();
    const replaced = new Set(
      blocks.filter(({ hash }) => gone.has(hash)).map(({ tracked }) => tracked),
    );
    await settleAll([...replaced].map((tracked) => this.#drop(held, tracked, head)));
  }

  /** While no block becomes final, the list of blocks grows; the work of a look does not. */
  #inTurns(blocks: readonly Block[]): readonly Block[] {
    const newestFirst = [...new Map(blocks.map((block) => [block.hash, block])).values()].sort(
      (a, b) => (a.number > b.number ? -1 : 1),
    );
    const older = newestFirst.slice(NEWEST_BLOCKS);
    const from = this.#olderFrom < older.length ? this.#olderFrom : 0;
    this.#olderFrom = from + OLDER_BLOCKS;
    return [...newestFirst.slice(0, NEWEST_BLOCKS), ...older.slice(from, from + OLDER_BLOCKS)];
  }

  async #drop(held: HeldLane, tracked: TrackedAttempt, head: Head): Promise<void> {
    await this.forget(held, tracked);
    // The transaction is rebroadcast at once, with the same fees.
    tracked.sentAtBlock = 0n;
    tracked.pricedAtBlock = head.latest.number;
    this.options.observer.reorged(held.lane, tracked.attempt);
  }
}

const NOTHING_SEEN: Partial<Confirmation> = {};
const NOTHING: InclusionLook = { usedNonces: 0, included: new Map() };

function blockOf({ blockNumber, blockHash }: Inclusion): Block {
  return { number: blockNumber, hash: blockHash };
}

/** The blocks that an attempt is said to be in. */
function blocksOf({ inclusion, stored }: TrackedAttempt): readonly Block[] {
  if (inclusion !== undefined) return [blockOf(inclusion)];
  const byHash = new Map([...stored.values()].map((one) => [one.blockHash, one.blockNumber]));
  return [...byHash].map(([hash, number]) => ({ number, hash }));
}
