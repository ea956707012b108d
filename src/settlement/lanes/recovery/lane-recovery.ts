import type { Address } from 'viem';
import type { Head } from '../../../platform/chain/head-watcher.js';
import type { Clock } from '../../../platform/concurrency/clock.js';
import { ChainUnavailableError } from '../../../protocol/errors.js';
import type { AcceptedPayment } from '../../../protocol/payment/accepted-payment.js';
import type {
  HeldLane,
  LaneLeases,
  OpenedLane,
  StoredInclusion,
  StoredSettlement,
} from '../../ledger/lane-store.js';
import type { Attempt } from '../../model/attempt.js';
import { ReopenLane } from '../lane-errors.js';
import type { LaneObserver } from '../lane-observer.js';
import type { LaneChain } from '../ports.js';
import type { Broadcaster } from '../sending/broadcaster.js';
import type { LaneState } from '../state/lane-state.js';
import { TrackedAttempt } from '../state/tracked-attempt.js';

/** How long transactions unknown to the ledger may block a lane. */
const POOL_TIMEOUT_MS = 10_000;
const ASK_AGAIN_MS = 500;
/** Limit of gaps that are filled at once. A lane further ahead of the chain goes back instead. */
export const GAPS_MOST = 64;

interface LaneRecoveryOptions {
  readonly signer: Address;
  readonly chain: LaneChain;
  readonly leases: LaneLeases;
  readonly state: LaneState;
  readonly broadcaster: Broadcaster;
  readonly observer: LaneObserver;
  readonly clock: Clock;
}

/** Determines the state of a lane from the ledger and the chain, before anything is allocated. */
export class LaneRecovery {
  /** The ledger epoch in which this process's state of the lane is stored. */
  #epoch: string | undefined;

  constructor(private readonly options: LaneRecoveryOptions) {}

  /** @throws ReopenLane, ChainUnavailableError, LeaseLostError, RedisUnavailableError. */
  async open(held: HeldLane, head: Head, isGoing: () => boolean): Promise<void> {
    const { leases, state, broadcaster, observer } = this.options;
    state.condition = 'resyncing';
    await this.#restore(held);
    const opened = await leases.open(held);
    this.#epoch = held.epoch;
    const attempts = opened.attempts.map((attempt) => this.#track(attempt, opened, head));
    // A process that follows a lane without its key has nothing to allocate.
    if (!broadcaster.hasKey) {
      state.open(attempts, false);
      state.next = opened.next ?? 0;
    } else {
      const { signer, chain } = this.options;
      state.open(attempts, await chain.hasCode(signer));
      state.next = await this.#nextNonce(held, opened.next, isGoing);
      await this.#fillGaps(held, head);
    }
    for (const tracked of attempts) void broadcaster.broadcast(tracked);
    observer.opened(held.lane, { nextNonce: state.next, inFlight: state.attempts.length });
    state.condition = undefined;
    state.work.notify();
    state.changed.notify();
  }

  /**
   * A ledger that lost writes (a failover, a restore) may lack attempts that this process has sent: they are stored
   * again before its content is used.
   */
  async #restore(held: HeldLane): Promise<void> {
    const { leases, state } = this.options;
    if (this.#epoch === undefined || this.#epoch === held.epoch) return;
    await leases.restoreAttempts(held, state.remembered, state.next);
    this.options.observer.restored(held.lane, state.remembered.length);
  }

  #track(attempt: Attempt, { settlements }: OpenedLane, head: Head): TrackedAttempt {
    const own = attempt.settlementIds.flatMap((id): StoredSettlement[] => {
      const settlement = settlements.get(id);
      return settlement?.accountNonce === attempt.accountNonce ? [settlement] : [];
    });
    const payments = new Map(
      own.map(({ id, payment }): [string, AcceptedPayment] => [id, payment]),
    );
    const stored = own.flatMap(({ id, inclusion }): [string, StoredInclusion][] =>
      inclusion === undefined ? [] : [[id, inclusion]],
    );
    const nowMs = this.options.clock.now();
    const atBlock = head.latest.number;
    return new TrackedAttempt({ attempt, payments, stored: new Map(stored), atBlock, nowMs });
  }

  // ---------------------------------------------------------------- account nonces

  /**
   * The next account nonce. If the ledger does not know it, or the chain is past it, the chain decides, after the
   * transactions in the pools are mined; those that stay there for long are not awaited. A count above the known one
   * needs two endpoints: too low a nonce shows when it is sent, too high a one leaves a gap that is never filled.
   */
  async #nextNonce(
    held: HeldLane,
    known: number | undefined,
    isGoing: () => boolean,
  ): Promise<number> {
    const { leases, observer, clock } = this.options;
    const deadline = clock.steady() + POOL_TIMEOUT_MS;
    let before: number | undefined;
    for (;;) {
      const counts = await this.#counts(known);
      if (counts === undefined) return known ?? 0;
      const { latest, pending } = counts;
      if (known !== undefined && latest <= known) return known;
      const isSure = latest === 0 || latest === before;
      if (isSure && (latest === pending || clock.steady() > deadline)) {
        if (known !== undefined) observer.nonceUsedByOther(held.lane, known);
        if (await leases.setNext(held, known, latest)) return latest;
        throw new ReopenLane('the record of the lane was changed');
      }
      before = latest;
      if (!isGoing()) throw new ReopenLane('the lane was stopped');
      await clock.sleep(ASK_AGAIN_MS);
    }
  }

  /** @returns `undefined` where no two endpoints agree, and the lane can continue without. */
  async #counts(known: number | undefined): Promise<Counts | undefined> {
    const { chain, signer } = this.options;
    try {
      return await chain.transactionCount(signer);
    } catch (error) {
      if (known === undefined || !(error instanceof ChainUnavailableError)) throw error;
      return undefined;
    }
  }

  async #fillGaps(held: HeldLane, head: Head): Promise<void> {
    const { state, broadcaster } = this.options;
    if (state.gapsFrom(0, 1).length === 0) return;
    const counts = await this.#counts(state.next);
    // A gap that cannot be read now shows while the lane runs.
    if (counts === undefined) return;
    for (const nonce of state.gapsFrom(counts.latest, GAPS_MOST)) {
      const filler = await broadcaster.fillGap(held, nonce, head);
      if (filler !== undefined) state.filled(filler);
    }
  }
}

type Counts = Awaited<ReturnType<LaneChain['transactionCount']>>;
