import type { Address } from 'viem';
import type { LaneEndings, LaneQueue } from '../ledger/lane-store.js';
import type { SettlementConsumer } from '../queue/settlement.processor.js';
import type { ParkedFollower } from './following/parked-follower.js';
import type { LaneObserver } from './lane-observer.js';
import type { LaneRunner } from './lane-runner.js';
import type { LaneHeads } from './ports.js';
import { type LaneSlot, slotFor } from './state/lane-slot.js';

interface ChainWorkerOptions {
  readonly chainId: number;
  readonly queue: LaneQueue;
  readonly endings: LaneEndings;
  readonly heads: LaneHeads & { start(): void; stop(): Promise<void> };
  readonly jobs: Pick<SettlementConsumer, 'start' | 'pause' | 'stop' | 'finished'>;
  readonly parked: ParkedFollower;
  readonly observer: LaneObserver;
  /** Lanes whose keys this process has. */
  readonly lanes: readonly LaneRunner[];
  /** A runner that follows a lane without its key. */
  readonly follow: (lane: string, signer: Address) => LaneRunner;
}

/** A sweep picks up a settlement whose job has not arrived after this time. */
const OVERDUE_MS = 1000;
const SWEPT_AT_ONCE = 500;
/** Rounds of one sweep. The sweep alone picks up settlements whose job is never read. */
const ROUNDS_OF_A_SWEEP = 20;

/** The work of a process on one chain: its own lanes, orphan lanes, and parked settlements. */
export class ChainWorker {
  readonly #own: readonly LaneSlot[];
  readonly #orphans = new Map<string, LaneSlot>();
  #isConsuming = false;

  constructor(private readonly options: ChainWorkerOptions) {
    this.#own = options.lanes.map(slotFor);
  }

  get chainId(): number {
    return this.options.chainId;
  }

  get ownLanes(): readonly LaneSlot[] {
    return this.#own;
  }

  get slots(): readonly LaneSlot[] {
    return [...this.#own, ...this.#orphans.values()];
  }

  /** Blocks are watched from the start, so that a lane taken over by this process need not wait for a head. */
  start(): void {
    this.options.heads.start();
  }

  async stop(): Promise<void> {
    const { jobs, heads } = this.options;
    await Promise.all([this.#isConsuming ? jobs.stop() : undefined, heads.stop()]);
  }

  /** Wakes the lanes: work became ready on this chain. */
  notifyWork(): void {
    for (const { runner } of this.slots) runner.state.work.notify();
  }

  /** Wakes the lanes: a search has ended. */
  notifySearchEnded(): void {
    for (const { runner } of this.slots) runner.state.changed.notify();
  }

  // ---------------------------------------------------------------- lanes

  /** A slot for a lane whose key no live process has. It follows the lane until nothing is in flight. */
  slotForOrphan(lane: string): LaneSlot {
    const known = this.#orphans.get(lane);
    if (known !== undefined) return known;
    const signer = lane.slice(lane.indexOf(':') + 1) as Address;
    const slot = slotFor(this.options.follow(lane, signer));
    this.#orphans.set(lane, slot);
    return slot;
  }

  orphanEnded(slot: LaneSlot): void {
    this.#orphans.delete(slot.runner.lane);
  }

  /** A process takes jobs of the chain while it holds a lane that can send. */
  async adjustConsumer(): Promise<void> {
    const shouldConsume = this.#own.some(
      ({ held, runner }) => held !== undefined && !runner.isTreasury,
    );
    if (shouldConsume === this.#isConsuming) return;
    this.#isConsuming = shouldConsume;
    const { jobs, observer, chainId } = this.options;
    if (!shouldConsume) await jobs.pause();
    else {
      jobs.start((error) => {
        observer.failed(`${chainId}`, 'queue', error);
      });
    }
  }

  // ---------------------------------------------------------------- every second

  async sweep(): Promise<void> {
    if (!this.slots.some(({ held }) => held !== undefined)) return;
    const { queue, endings, chainId, jobs, observer, parked } = this.options;
    await this.#bringOverdue();
    const swept = await queue.sweep(chainId, SWEPT_AT_ONCE);
    jobs.finished(swept.expired);
    await parked.round();
    observer.parkedNow(chainId, await endings.parkedCount(chainId));
  }

  async #bringOverdue(): Promise<void> {
    const { queue, chainId } = this.options;
    for (let round = 0; round < ROUNDS_OF_A_SWEEP; round += 1) {
      const ids = await queue.overdue(chainId, OVERDUE_MS, SWEPT_AT_ONCE);
      if (ids.length > 0) await queue.ready(chainId, ids);
      if (ids.length < SWEPT_AT_ONCE) return;
    }
  }
}
