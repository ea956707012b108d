import { LeaseLostError, RedisUnavailableError } from '../../protocol/errors.js';
import type { HeldLane, LaneLeases } from '../ledger/lane-store.js';
import type { ChainWorker } from './chain-worker.js';
import type { LaneObserver } from './lane-observer.js';
import type { LaneSlot } from './state/lane-slot.js';

interface LaneHolderOptions {
  readonly leases: LaneLeases;
  readonly workers: readonly ChainWorker[];
  readonly processId: string;
  readonly leaseMs: number;
  /** The number of processes with lanes. @throws RedisUnavailableError */
  readonly countWorkers: () => Promise<number>;
  readonly observer: LaneObserver;
}

/** A free lane is noticed within this time: with a lease of 3 s, 3.5 s after its holder died. */
const ACQUIRE_INTERVAL_MS = 500;
const ORPHANS_INTERVAL_MS = 2000;
const SHARE_OUT_INTERVAL_MS = 2000;
/** Lanes without a key that one process follows. */
const ORPHANS_MOST = 16;
/** A process that holds its share leaves free lanes to others for this many rounds. */
const MODESTY_ROUNDS = 4;
/** A lane that does not open within this time is logged. */
const RESYNC_IS_LONG_MS = 30_000;

/** Holds the lanes of this process: acquires free ones, renews their leases, and hands them over. */
export class LaneHolder {
  #timers: NodeJS.Timeout[] = [];
  #stopListening: () => void = () => undefined;
  /** A second caller waits for the same result. */
  #stopping: Promise<void> | undefined;
  #isAcquiring = false;
  #isAdopting = false;
  /** The number of processes among which the lanes were last shared. */
  #sharedAmong = 1;

  constructor(private readonly options: LaneHolderOptions) {}

  async start(): Promise<void> {
    const { workers, leases, leaseMs } = this.options;
    for (const worker of workers) worker.start();
    // A ledger that lost writes has other leases than this process remembers.
    this.#stopListening = leases.onEpochChange(() => void this.acquireFree());
    await this.acquireFree();
    this.#timers = [
      setInterval(() => void this.acquireFree(), ACQUIRE_INTERVAL_MS),
      setInterval(() => void this.adoptOrphans(), ORPHANS_INTERVAL_MS),
      setInterval(() => void this.shareOut(), SHARE_OUT_INTERVAL_MS),
      setInterval(() => void this.renewHeld(), leaseMs / 3),
    ];
  }

  /** The lanes this process holds now. */
  get heldLanes(): readonly string[] {
    return this.#slots.filter(({ held }) => held !== undefined).map(({ runner }) => runner.lane);
  }

  get #slots(): readonly LaneSlot[] {
    return this.options.workers.flatMap(({ slots }) => slots);
  }

  get #ownSlots(): readonly LaneSlot[] {
    return this.options.workers.flatMap(({ ownLanes }) => ownLanes);
  }

  /** Stops taking work, lets what is being signed be sent, and gives the lanes to the others. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    this.#stopListening();
    for (const { runner } of this.#slots) runner.stop();
    await Promise.all(
      this.#slots.map(async (slot) => {
        await slot.running;
        await this.#release(slot.held);
        slot.held = undefined;
      }),
    );
    await Promise.all(this.options.workers.map((worker) => worker.stop()));
  }

  async #release(held: HeldLane | undefined): Promise<void> {
    if (held === undefined) return;
    try {
      await this.options.leases.release(held);
    } catch (error) {
      // The lease expires, or another process has it already.
      this.#report(held.lane, 'release', error);
    }
  }

  // ---------------------------------------------------------------- taking

  async acquireFree(): Promise<void> {
    if (this.#isAcquiring || this.#stopping !== undefined) return;
    this.#isAcquiring = true;
    try {
      for (const worker of this.options.workers) {
        for (const slot of worker.ownLanes) {
          if (slot.held === undefined && slot.running === undefined) {
            await this.#tryAcquire(worker, slot);
          }
        }
      }
    } catch (error) {
      this.#report('all', 'acquire', error);
    } finally {
      this.#isAcquiring = false;
    }
  }

  /** Orphan lanes: any worker follows the transactions of lanes whose key was removed. */
  async adoptOrphans(): Promise<void> {
    if (this.#isAdopting || this.#stopping !== undefined) return;
    this.#isAdopting = true;
    try {
      for (const worker of this.options.workers) await this.#adoptOrphansOf(worker);
    } catch (error) {
      this.#report('all', 'orphans', error);
    } finally {
      this.#isAdopting = false;
    }
  }

  async #adoptOrphansOf(worker: ChainWorker): Promise<void> {
    const { leases } = this.options;
    const known = worker.slots.map(({ runner }) => runner.lane);
    const room = ORPHANS_MOST - (known.length - worker.ownLanes.length);
    if (room <= 0) return;
    for (const lane of (await leases.orphans(worker.chainId, known)).slice(0, room)) {
      const slot = worker.slotForOrphan(lane);
      await this.#acquire(worker, slot);
      if (slot.held === undefined) worker.orphanEnded(slot);
    }
  }

  async #tryAcquire(worker: ChainWorker, slot: LaneSlot): Promise<void> {
    if (slot.passed < MODESTY_ROUNDS && (await this.#hasShare())) {
      slot.passed += 1;
      return;
    }
    slot.passed = 0;
    await this.#acquire(worker, slot);
  }

  /** Whether this process holds its share of the lanes. */
  async #hasShare(): Promise<boolean> {
    const own = this.#ownSlots.filter(({ held }) => held !== undefined).length;
    if (own === 0) return false;
    const workers = await this.options.countWorkers();
    return own >= Math.ceil(this.#ownSlots.length / Math.max(1, workers));
  }

  /**
   * Hands over the lanes above this process's share, once after each increase in processes.
   *
   * A newer process may have none of these keys: then the lanes return after some rounds, and stay.
   */
  async shareOut(): Promise<void> {
    try {
      const workers = Math.max(1, await this.options.countWorkers());
      if (this.#stopping !== undefined) return;
      const isGrown = workers > this.#sharedAmong;
      this.#sharedAmong = workers;
      if (!isGrown) return;
      const held = this.#ownSlots.filter((slot) => slot.held !== undefined);
      const share = Math.ceil(this.#ownSlots.length / workers);
      for (const slot of held.slice(share)) {
        slot.isHandedOver = true;
        slot.runner.stop();
      }
    } catch (error) {
      this.#report('all', 'share', error);
    }
  }

  async #acquire(worker: ChainWorker, slot: LaneSlot): Promise<void> {
    const { leases, processId, leaseMs } = this.options;
    const { lane } = slot.runner;
    const held = await leases.acquire(lane, worker.chainId, processId, leaseMs);
    if (held === undefined) return;
    if (held.from !== undefined) this.options.observer.takenOver(lane, held.from);
    // The holder was stopped while it acquired the lease: another process can take the lane at once.
    if (this.#stopping !== undefined) await this.#release(held);
    else this.#begin(worker, slot, held);
  }

  #begin(worker: ChainWorker, slot: LaneSlot, held: HeldLane): void {
    slot.held = held;
    slot.running = this.#run(worker, slot, held);
    void this.#adjust(worker);
  }

  async #run(worker: ChainWorker, slot: LaneSlot, held: HeldLane): Promise<void> {
    try {
      await slot.runner.run(held);
    } catch (error) {
      this.options.observer.lost(slot.runner.lane, error);
    }
    if (this.#stopping !== undefined) return;
    // A lane without its key has no transaction left to follow, so its lease is released.
    if (!slot.runner.hasKey || slot.isHandedOver) await this.#release(slot.held);
    slot.isHandedOver = false;
    slot.held = undefined;
    slot.running = undefined;
    if (!slot.runner.hasKey) worker.orphanEnded(slot);
    await this.#adjust(worker);
  }

  async #adjust(worker: ChainWorker): Promise<void> {
    try {
      await worker.adjustConsumer();
    } catch (error) {
      this.#report(`${worker.chainId}`, 'queue', error);
    }
  }

  // ---------------------------------------------------------------- keeping

  async renewHeld(): Promise<void> {
    await Promise.all(this.#slots.map((slot) => this.#renew(slot)));
  }

  async #renew(slot: LaneSlot): Promise<void> {
    const { held, runner } = slot;
    if (held === undefined) return;
    const hangingIn = runner.hangingIn;
    if (hangingIn !== undefined) {
      await this.#giveUpHanging(slot, held, hangingIn);
      return;
    }
    this.#logResync(slot);
    try {
      await this.options.leases.renew(held, this.options.leaseMs);
    } catch (error) {
      // A lease that could not be renewed in time is lost when a script says so.
      if (error instanceof LeaseLostError) {
        // The lane may have been acquired again since; that lease is still valid.
        if (slot.held !== held) return;
        slot.held = undefined;
        this.options.observer.lost(runner.lane, error);
        runner.stop();
      } else {
        this.#report(runner.lane, 'renew', error);
      }
    }
  }

  /**
   * Another process may take over a lane that hangs here; so may this one, with a new lease. The hanging work uses the
   * old lease, so its writes are refused.
   */
  async #giveUpHanging(slot: LaneSlot, held: HeldLane, hangingIn: string): Promise<void> {
    const { lane } = slot.runner;
    this.options.observer.failed(
      lane,
      'hanging',
      new Error(
        `the ${hangingIn} loop of the lane made no progress for a minute: the lane is released to another process`,
      ),
    );
    await this.#release(held);
    if (slot.held === held) slot.runner.abandon();
  }

  /** Logs once for each time that a lane takes long to open. */
  #logResync(slot: LaneSlot): void {
    const { lane, resyncingMs } = slot.runner;
    const isLong = resyncingMs > RESYNC_IS_LONG_MS;
    if (isLong && !slot.isResyncReported) {
      const seconds = Math.round(resyncingMs / 1000);
      const error = new Error(
        `nonce recovery has taken ${seconds} s so far; the lane sends nothing until it ends`,
      );
      this.options.observer.failed(lane, 'resync', error);
    }
    slot.isResyncReported = isLong;
  }

  /** Redis may be unreachable for a moment; every other error needs an operator. */
  #report(subject: string, what: string, error: unknown): void {
    if (error instanceof RedisUnavailableError || error instanceof LeaseLostError) return;
    this.options.observer.failed(subject, what, error);
  }
}
