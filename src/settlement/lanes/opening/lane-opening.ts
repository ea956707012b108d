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

/** How long transactions that the ledger does not know may hold a lane up. */
const POOL_TIMEOUT_MS = 10_000;
const ASK_AGAIN_MS = 500;
/** Gaps that are filled at once. A lane that is further ahead of the chain goes back instead. */
export const GAPS_MOST = 64;

interface LaneOpeningOptions {
  readonly signer: Address;
  readonly chain: LaneChain;
  readonly leases: LaneLeases;
  readonly state: LaneState;
  readonly broadcaster: Broadcaster;
  readonly observer: LaneObserver;
  readonly clock: Clock;
}

/** Learns from the ledger and the chain where a lane stands, before anything is allocated. */
export class LaneOpening {
  /** The ledger in which everything that this process remembers of the lane is stored. */
  #epoch: string | undefined;

  constructor(private readonly options: LaneOpeningOptions) {}

  /** @throws ReopenLane, ChainUnavailableError, LeaseLostError, RedisUnavailableError. */
  async open(held: HeldLane, head: Head, isGoing: () => boolean): Promise<void> {
    const { leases, state, broadcaster, observer } = this.options;
    state.trouble = 'resyncing';
    await this.#restore(held);
    const opened = await leases.open(held);
    this.#epoch = held.epoch;
    const attempts = opened.attempts.map((attempt) => this.#track(attempt, opened, head));
    // What follows a lane without its key has nothing to allocate.
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
    state.trouble = undefined;
    state.work.notify();
    state.changed.notify();
  }

  /**
   * A ledger that went back (a failover, a restore) may have lost attempts that this process has sent:
   * they are stored again before anything is concluded from what it says.
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
   * The next account nonce. Where the ledger does not know it, or the chain is already past it, the
   * chain decides, once the transactions in the pools have come through; those that stay there for long are not
   * waited for. A count beyond the known one needs two endpoints: a nonce that is too low shows when it is sent, one
   * that is too high leaves a gap that would never be filled.
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
        throw new ReopenLane('its record was changed');
      }
      before = latest;
      if (!isGoing()) throw new ReopenLane('it was stopped');
      await clock.sleep(ASK_AGAIN_MS);
    }
  }

  /**
   * @returns `undefined` where no two endpoints answer or agree, and the lane can do without.
   */
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
