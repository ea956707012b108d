import type { Hex } from 'viem';
import type { Clock } from '../../../platform/concurrency/clock.js';
import { ChainUnavailableError } from '../../../protocol/errors.js';
import { channelsRaisedBy, chargedTo } from '../../../protocol/payment/payment-facts.js';
import type { HeldLane, LaneQueue, TakenSettlement } from '../../ledger/lane-store.js';
import { type BatchRules, gasBoundOf } from '../../model/grouping.js';
import type { UnresolvedUses } from '../following/unresolved-uses.js';
import { ReopenLane } from '../lane-errors.js';
import type {
  BatchSimulator,
  BatchSuspensions,
  LaneChain,
  LaneEvents,
  LaneHeads,
  Sending,
} from '../ports.js';
import type { Preparations } from '../preparing/preparations.js';
import type { LaneState } from '../state/lane-state.js';
import type { Broadcaster } from './broadcaster.js';
import type { ChannelsInFlight } from './channels-in-flight.js';
import type { LaneReadiness } from './lane-readiness.js';
import type { PreflightResult, SendGroup } from './preflight-result.js';

/** A slower simulation continues in the background, and the lane takes the next settlement. */
const SIMULATION_TIMEOUT_MS = 250;
/** When an undecided settlement is taken again. */
const UNDECIDED_MS = 1000;
/** When an unaffordable settlement is offered again, to this lane or another one. */
const UNPAID_MS = 500;
/** Limit of simulation rounds in the background. */
const BESIDE_MOST = 4;

interface LaneSendingOptions {
  readonly chain: LaneChain;
  readonly heads: LaneHeads;
  readonly queue: LaneQueue;
  readonly state: LaneState;
  readonly broadcaster: Broadcaster;
  readonly simulator: BatchSimulator;
  readonly readiness: LaneReadiness;
  readonly suspensions: BatchSuspensions;
  readonly unresolved: UnresolvedUses;
  readonly preparations: Preparations;
  readonly channels: ChannelsInFlight;
  readonly events: LaneEvents;
  readonly batchRules: Omit<BatchRules, 'maxGas'>;
  /** Milliseconds; 0 for a chain that mines on demand. */
  readonly headMaxAgeMs: number;
  /** Takes only settlements that name this signer. */
  readonly isRetiring: boolean;
  readonly clock: Clock;
}

/**
 * A simulation older than this is repeated before the send. A remote key service signs only a few in a second, and those
 * behind would be sent on an old state of the chain.
 */
const FRESH_MS = 3000;

/** Takes ready settlements, simulates them once more, and sends the good ones. */
export class LaneSending implements Sending {
  /** Simulation rounds in the background. */
  readonly #beside = new Set<Promise<void>>();
  #failure: Error | undefined;
  /** The number of the lane's recovery. */
  #generation = 0;
  /** Account nonces are allocated one after another. */
  #sending: Promise<void> = Promise.resolve();

  constructor(private readonly options: LaneSendingOptions) {}

  /** Resets the state after the lane was reopened. */
  reset(): void {
    this.options.readiness.reset();
    this.#failure = undefined;
    this.#generation += 1;
    this.#beside.clear();
    this.options.simulator.clear();
    this.options.preparations.reset();
  }

  /** Whether a block is awaited before something can be sent. */
  get isWaiting(): boolean {
    return this.options.preparations.isWaiting;
  }

  /**
   * Sends until nothing is ready, the window is full, or a condition stops it.
   *
   * @throws ReopenLane, LeaseLostError, RedisUnavailableError.
   */
  async sendReady(held: HeldLane, isGoing: () => boolean): Promise<void> {
    const { queue, batchRules, simulator, preparations } = this.options;
    await preparations.round(held, (step) => this.#inTurn(step));
    while (isGoing() && (await this.#mayTake())) {
      const { isRetiring } = this.options;
      const taken = await queue.take(held, batchRules.maxItems, isRetiring, preparations.places);
      const ready = preparations.keep(taken);
      const simulated = [...preparations.takePrepared(), ...ready];
      if (simulated.length > 0 || simulator.hasDecided) {
        await this.#simulateInTime(this.#simulateAndSend(held, simulated, isGoing));
      } else if (taken.length === 0) {
        return;
      }
    }
  }

  /** A slow simulation must not delay later payments: it ends in the background. */
  async #simulateInTime(round: Promise<void>): Promise<void> {
    const { state } = this.options;
    const generation = this.#generation;
    const watched = round
      .catch((error: unknown) => {
        // Recovered again meanwhile: a failure of an earlier recovery does not count.
        if (generation !== this.#generation) return;
        this.#failure ??=
          error instanceof Error ? error : new Error('a value that is not an Error was thrown');
      })
      .finally(() => {
        this.#beside.delete(watched);
        state.work.notify();
      });
    this.#beside.add(watched);
    await Promise.race([watched, this.options.clock.sleep(SIMULATION_TIMEOUT_MS)]);
    this.#throwFailure();
  }

  #throwFailure(): void {
    const failure = this.#failure;
    if (failure === undefined) return;
    this.#failure = undefined;
    throw failure;
  }

  async #mayTake(): Promise<boolean> {
    this.#throwFailure();
    const { state, readiness } = this.options;
    if (!state.hasRoom) return false;
    if (this.#beside.size >= BESIDE_MOST) return readiness.rest('chain_unavailable');
    return readiness.isReady();
  }

  // ---------------------------------------------------------------- sending

  async #simulateAndSend(
    held: HeldLane,
    taken: readonly TakenSettlement[],
    isGoing: () => boolean,
  ): Promise<void> {
    const { state, simulator } = this.options;
    const { recoveries } = state;
    let checked: readonly PreflightResult<TakenSettlement>[] | undefined;
    try {
      checked = await simulator.preflight(taken, this.#rules(), this.options.readiness.asSender());
    } catch (error) {
      if (!(error instanceof ChainUnavailableError)) throw error;
    }
    // Recovered again meanwhile: the settlements of this round are ready again already.
    if (recoveries !== state.recoveries) return;
    if (checked === undefined) {
      await this.#giveBack(held, taken);
      this.options.readiness.rest('chain_unavailable');
      return;
    }
    const until = this.options.clock.steady() + FRESH_MS;
    const isFresh = (): boolean => isGoing() && this.options.clock.steady() <= until;
    for (const one of checked) await this.#inTurn(() => this.#sendChecked(held, one, isFresh));
  }

  async #sendChecked(
    held: HeldLane,
    { groups, refusals, undecided, blockNumber }: PreflightResult<TakenSettlement>,
    isGoing: () => boolean,
  ): Promise<void> {
    const { queue, events, unresolved, preparations } = this.options;
    const refused = refusals
      .filter(({ item, reason }) => !unresolved.holds(item, reason, blockNumber))
      .filter(({ item, reason }) => !preparations.holds(item, reason))
      .map(({ item: { id }, reason }) => ({ id, reason }));
    if (refused.length > 0) {
      await queue.refuse(held, refused);
      events.finished(refused.map(({ id }) => id));
    }
    const later = undecided.map(({ id }) => id);
    if (later.length > 0) await queue.postpone(held, later, UNDECIDED_MS);
    await this.#sendGroups(held, groups, blockNumber, isGoing);
  }

  async #inTurn(send: () => Promise<void>): Promise<void> {
    const turn = this.#sending.then(send);
    this.#sending = turn.catch(() => undefined);
    await turn;
  }

  async #sendGroups(
    held: HeldLane,
    groups: readonly SendGroup<TakenSettlement>[],
    blockNumber: bigint,
    isGoing: () => boolean,
  ): Promise<void> {
    let canSend = true;
    for (const group of groups) {
      if (!canSend || !this.options.state.hasRoom || !isGoing()) {
        await this.#giveBack(held, group.items);
      } else if (this.options.channels.hasAny(channelsOf(group))) {
        await this.#giveBack(held, group.items, UNDECIDED_MS);
      } else if (!this.options.readiness.canPayFor(group.gas)) {
        // The lane continues with what it can afford; only these wait.
        this.options.state.fellShort();
        await this.#giveBack(held, group.items, UNPAID_MS);
      } else {
        canSend = await this.options.channels.during(channelsOf(group), () =>
          this.#sendOne(held, group, blockNumber),
        );
      }
    }
  }

  /** @returns whether the lane can go on sending now. */
  async #sendOne(
    held: HeldLane,
    group: SendGroup<TakenSettlement>,
    blockNumber: bigint,
  ): Promise<boolean> {
    const { heads, state, broadcaster, headMaxAgeMs } = this.options;
    const head = heads.current;
    if (head === undefined) throw new ReopenLane('no head');
    const accountNonce = state.next;
    const sent = await broadcaster.send(held, { accountNonce, group, head, blockNumber });
    switch (sent.kind) {
      case 'sent':
        state.allocated(sent.tracked);
        // A chain that mines on demand has mined it by now.
        if (headMaxAgeMs === 0) heads.look();
        else heads.lookIfIdle();
        return true;
      case 'nonce':
        throw new ReopenLane('the ledger has another next nonce for the lane');
      case 'paused':
        await this.#giveBack(held, group.items);
        return this.options.readiness.rest('paused');
      case 'gone': {
        const gone = new Set(sent.ids);
        await this.#giveBack(
          held,
          group.items.filter(({ id }) => !gone.has(id)),
        );
        state.work.notify();
        return true;
      }
      case 'price_cap':
        await this.#giveBack(held, group.items);
        return this.options.readiness.rest('gas_price_cap');
      case 'no_signature':
        await this.#giveBack(held, group.items);
        return this.options.readiness.rest('signer_unavailable');
      case 'budget':
        return this.#overBudget(held, group, sent.subject);
    }
  }

  async #overBudget(
    held: HeldLane,
    group: SendGroup<TakenSettlement>,
    subject: string,
  ): Promise<boolean> {
    if (subject === 'lane') {
      await this.#giveBack(held, group.items);
      return this.options.readiness.rest('budget_exhausted');
    }
    const refused = group.items.filter(({ payment }) => chargedTo(payment) === subject);
    await this.options.queue.refuse(
      held,
      refused.map(({ id }) => ({ id, reason: 'budget_exhausted' })),
    );
    this.options.events.finished(refused.map(({ id }) => id));
    await this.#giveBack(
      held,
      group.items.filter((item) => !refused.includes(item)),
    );
    return true;
  }

  async #giveBack(
    held: HeldLane,
    items: readonly TakenSettlement[],
    delayMs?: number,
  ): Promise<void> {
    if (items.length === 0) return;
    const ids = items.map(({ id }) => id);
    await this.options.queue.giveBack(held, ids, delayMs);
  }

  #rules(): BatchRules {
    const { batchRules, chain, suspensions, state, readiness, heads } = this.options;
    const canBatch = chain.hasContract('multicall3') === true;
    const most = gasBoundOf(heads.current?.latest.gasLimit ?? 0n);
    const payable = readiness.payableGas ?? most;
    const safeAssets = [...batchRules.safeAssets].filter((one) => !suspensions.isSuspended(one));
    return {
      ...batchRules,
      maxItems: canBatch ? Math.min(batchRules.maxItems, state.batchMost) : 1,
      safeAssets: new Set(safeAssets),
      // A lane that is low on gas sends smaller batches, because a larger one would wait for money that may not come.
      maxGas: payable < most ? payable : most,
    };
  }
}

function channelsOf({ items }: SendGroup<TakenSettlement>): readonly Hex[] {
  return items.flatMap(({ payment }) => channelsRaisedBy(payment));
}
