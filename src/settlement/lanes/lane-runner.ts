import type { Address, Hex } from 'viem';
import type { Head } from '../../platform/chain/head-watcher.js';
import type { Clock } from '../../platform/concurrency/clock.js';
import { ChainUnavailableError, LeaseLostError } from '../../protocol/errors.js';
import type { HeldLane, LaneLedger } from '../ledger/lane-store.js';
import type { BatchRules } from '../model/grouping.js';
import type { LaneStatus } from '../model/lane-status.js';
import { Confirmer } from './following/confirmer.js';
import { InclusionRate } from './following/inclusion-rate.js';
import { LaneFollowing } from './following/lane-following.js';
import { Outcomes } from './following/outcomes.js';
import { UnresolvedUses } from './following/unresolved-uses.js';
import { isTransient, ReopenLane } from './lane-errors.js';
import type { LaneObserver } from './lane-observer.js';
import type {
  AssetSuspensions,
  BatchSimulator,
  BatchSuspensions,
  FeeMarkets,
  GasEstimates,
  LaneChain,
  LaneEvents,
  LaneHeads,
  OutcomeResolver,
  PreparationReader,
  ReceiptReader,
  Sending,
  TransactionSigner,
} from './ports.js';
import { Preparations } from './preparing/preparations.js';
import { LaneRecovery } from './recovery/lane-recovery.js';
import { RefillSending, type Treasury } from './refilling/refill-sending.js';
import { Broadcaster } from './sending/broadcaster.js';
import type { ChannelsInFlight } from './sending/channels-in-flight.js';
import { GasBalance } from './sending/gas-balance.js';
import { LaneReadiness } from './sending/lane-readiness.js';
import { LaneSending } from './sending/lane-sending.js';
import type { DailyBudgets } from './sending/send-results.js';
import { LaneState } from './state/lane-state.js';

/** The parts that all lanes of a chain share. */
export interface ChainParts extends LaneLedger {
  readonly chain: LaneChain;
  readonly heads: LaneHeads;
  readonly fees: FeeMarkets;
  readonly resolver: OutcomeResolver;
  readonly gasEstimates: GasEstimates;
  readonly suspensions: BatchSuspensions;
  readonly assetSuspensions: AssetSuspensions;
  readonly channels: ChannelsInFlight;
  readonly budgets: DailyBudgets;
  /** The suffix of the calldata of a transaction with several payments. */
  readonly batchSuffix?: Hex | undefined;
  /** `undefined` where payers' own transactions are not sponsored. */
  readonly preparationReader: PreparationReader | undefined;
  readonly events: LaneEvents;
  readonly observer: LaneObserver;
  readonly clock: Clock;
}

export interface LaneRunnerOptions extends ChainParts {
  /** `<chainId>:<signer>` */
  readonly lane: string;
  readonly address: Address;
  /** `undefined` where this process has no key of the lane: it only follows transactions in flight. */
  readonly signer: TransactionSigner | undefined;
  readonly reader: ReceiptReader;
  /** @param onDecided - called when a background simulation has a result. */
  readonly simulatorFor: (onDecided: () => void) => BatchSimulator;
  readonly processId: string;
  readonly windowMax: number;
  /** The lane serves only payments that name its account, and `/supported` offers it no longer. */
  readonly isRetiring: boolean;
  /** Milliseconds; 0 for a chain that mines on demand. */
  readonly headMaxAgeMs: number;
  readonly batchRules: Omit<BatchRules, 'maxGas'>;
  /** Present for the treasury, which refills the other lanes and settles nothing. */
  readonly treasury?: Treasury | undefined;
}

/** Pause of a lane after a missing answer. */
const REST_MS = 500;
/** Interval at which a lane looks for work without an event. */
const LOOK_FOR_WORK_MS = 1000;
/** Pause after an undecided look: a second endpoint needs a moment for a new block. */
const LOOK_AGAIN_MS = 50;
/** A lane whose loop makes no progress for this long waits for an answer that will not come. */
export const HANGS_AFTER_MS = 60_000;

/**
 * One lane, worked on by the process that holds its lease: takes ready settlements, sends them with
 * consecutive account nonces, and follows every transaction to its end.
 */
export class LaneRunner {
  readonly lane: string;
  readonly state: LaneState;
  readonly #recovery: LaneRecovery;
  readonly #sending: Sending;
  readonly #refills: RefillSending | undefined;
  readonly #following: LaneFollowing;
  readonly #gasBalance: GasBalance;
  readonly #readiness: LaneReadiness;
  readonly #rate: InclusionRate;
  #isRunning = false;
  /** The number of the run: an abandoned one may continue when its answer finally comes. */
  #run = 0;
  #giveUp: (error: Error) => void = () => undefined;
  /** When each of its loops last made progress. */
  readonly #roundAt = new Map<string, number>();
  #resyncingSince: number | undefined;

  constructor(private readonly options: LaneRunnerOptions) {
    const { lane, address: signer, clock, events, chain, windowMax, reader, treasury } = options;
    this.lane = lane;
    const onConditionChange = (): void => {
      events.conditionChanged(lane);
    };
    const state = new LaneState(windowMax, onConditionChange, clock);
    const broadcaster = new Broadcaster({ ...options, refillable: treasury?.rules.lanes });
    const unresolved = new UnresolvedUses();
    const gasBalance = new GasBalance(chain, signer, clock);
    const rate = new InclusionRate(clock);
    const simulator = options.simulatorFor(() => {
      state.work.notify();
    });
    const readiness = new LaneReadiness({ ...options, state, gasBalance });
    const preparations = new Preparations({ ...options, state, broadcaster, readiness });
    const own = {
      ...options,
      preparations,
      simulator,
      readiness,
      signer,
      state,
      broadcaster,
      unresolved,
      gasBalance,
      rate,
    };
    const confirmer = new Confirmer(own);
    const outcomes = new Outcomes(own);
    this.state = state;
    this.#gasBalance = gasBalance;
    this.#readiness = readiness;
    this.#rate = rate;
    this.#recovery = new LaneRecovery(own);
    this.#refills = treasury && new RefillSending({ ...own, treasury, signer: options.signer });
    this.#sending = this.#refills ?? new LaneSending(own);
    this.#following = new LaneFollowing({ ...own, reader, confirmer, outcomes });
  }

  /** Whether this process can send on the lane, and not only follow it. */
  get hasKey(): boolean {
    return this.options.signer !== undefined;
  }

  /** Whether it is a treasury, which refills other lanes and takes no settlement. */
  get isTreasury(): boolean {
    return this.#refills !== undefined;
  }

  /** Whether a block is awaited for something in flight. */
  get isWaitingForBlocks(): boolean {
    return this.#isRunning && (this.#following.isWaiting || this.#sending.isWaiting);
  }

  set isPaused(isPaused: boolean) {
    this.state.isPaused = isPaused;
    this.state.work.notify();
  }

  /** Stops taking work; the next holder of the lane follows the transactions in flight. */
  stop(): void {
    this.#isRunning = false;
    this.state.work.notify();
    this.state.changed.notify();
  }

  /**
   * Works until stopped. A lane without its key works until nothing is left to follow.
   *
   * @throws LeaseLostError when another process has the lane; LedgerEpochChangedError when the ledger lost writes: the
   *   lane is acquired again, and its state is stored again.
   */
  async run(held: HeldLane): Promise<void> {
    this.#isRunning = true;
    this.#run += 1;
    this.#resyncingSince = this.options.clock.steady();
    const isGoing = this.#goingOn();
    const givenUp = new Promise<never>((_, reject) => {
      this.#giveUp = reject;
    });
    const stopListening = this.options.heads.onHead(() => {
      this.state.changed.notify();
      if (this.#sending.isWaiting) this.state.work.notify();
    });
    try {
      do await Promise.race([this.#workWhileReady(held, isGoing), givenUp]);
      while (isGoing());
    } finally {
      this.#isRunning = false;
      this.#roundAt.clear();
      stopListening();
    }
  }

  /** Whether the run that has begun goes on. */
  #goingOn(): () => boolean {
    const run = this.#run;
    return () => this.#isRunning && this.#run === run;
  }

  /** The loop that makes no progress; `undefined` while all do. */
  get hangingIn(): string | undefined {
    const before = this.options.clock.steady() - HANGS_AFTER_MS;
    return [...this.#roundAt].find(([, at]) => at < before)?.[0];
  }

  /** How long it has tried to open the lane, ms. */
  get resyncingMs(): number {
    const since = this.#resyncingSince;
    return since === undefined || !this.#isRunning ? 0 : this.options.clock.steady() - since;
  }

  /** Ends a run that does not come round. Its lease has to be given up before: with that it can write nothing. */
  abandon(): void {
    this.#run += 1;
    this.#giveUp(new LeaseLostError(this.lane));
  }

  #cameRound(loop: string): void {
    this.#roundAt.set(loop, this.options.clock.steady());
  }

  async #workWhileReady(held: HeldLane, isGoing: () => boolean): Promise<void> {
    const { observer, clock } = this.options;
    try {
      this.#roundAt.clear();
      const head = await this.#firstHead(isGoing);
      this.#sending.reset();
      this.#following.reset();
      await this.#recovery.open(held, head, isGoing);
      if (!isGoing()) return;
      this.#roundAt.clear();
      this.#resyncingSince = undefined;
      await this.#runLoops(held, isGoing);
    } catch (error) {
      if (error instanceof LeaseLostError || isEpochChange(error)) throw error;
      if (!isTransient(error)) observer.failed(this.lane, 'run', error);
      if (!isGoing()) return;
      this.#resyncingSince ??= clock.steady();
      this.state.condition = 'resyncing';
      await clock.sleep(REST_MS);
    }
  }

  async #firstHead(isGoing: () => boolean): Promise<Head> {
    for (;;) {
      this.#cameRound('recovery');
      const head = this.options.heads.current;
      if (head !== undefined) return head;
      if (!isGoing()) throw new ReopenLane('the lane was stopped');
      await this.state.changed.wait(REST_MS);
    }
  }

  /** Runs both loops until one of them fails and the other has stopped too. */
  async #runLoops(held: HeldLane, isRunning: () => boolean): Promise<void> {
    const failures: unknown[] = [];
    const isGoing = (): boolean => isRunning() && failures.length === 0;
    const loops = [this.#followLoop(held, isGoing)];
    if (this.hasKey) loops.push(this.#sendLoop(held, isGoing));
    await Promise.all(
      loops.map((loop) =>
        loop.catch((error: unknown) => {
          failures.push(error);
          this.state.work.notify();
          this.state.changed.notify();
        }),
      ),
    );
    // A lost lease explains the other failures, so it is the one that is thrown.
    const lost = failures.find((error) => error instanceof LeaseLostError || isEpochChange(error));
    if (failures.length > 0) throw lost ?? failures[0];
  }

  async #sendLoop(held: HeldLane, isGoing: () => boolean): Promise<void> {
    while (isGoing()) {
      this.#cameRound('sending');
      await this.state.work.wait(LOOK_FOR_WORK_MS);
      if (isGoing()) await this.#sending.sendReady(held, isGoing);
    }
  }

  async #followLoop(held: HeldLane, isGoing: () => boolean): Promise<void> {
    while (isGoing()) {
      this.#cameRound('following');
      await this.state.changed.wait(LOOK_FOR_WORK_MS);
      const head = this.options.heads.current;
      if (!this.hasKey && !this.#following.isWaiting) {
        this.stop();
        return;
      }
      if (!isGoing() || head === undefined || !this.#following.isWaiting) continue;
      try {
        const isConclusive = await this.#following.follow(held, head);
        if (!isConclusive) await this.#lookAgainSoon();
      } catch (error) {
        if (!(error instanceof ChainUnavailableError)) throw error;
        await this.#lookAgainSoon();
      }
    }
  }

  async #lookAgainSoon(): Promise<void> {
    await this.options.clock.sleep(LOOK_AGAIN_MS);
    this.state.changed.notify();
  }

  // ---------------------------------------------------------------- status

  /** What the lane publishes for the other processes. */
  status(): LaneStatus {
    const { chain, address, processId, batchRules, assetSuspensions, clock } = this.options;
    const { lane, state } = this;
    const refills = this.#refills;
    const { attempts, next } = state;
    const oldest = state.pending[0];
    // Without its key, nothing else identifies a treasury.
    const isTreasury = refills !== undefined || attempts.some(({ attempt }) => attempt.refill);
    const isRetiring = this.options.isRetiring || state.isRetired || isTreasury;
    return {
      lane,
      chainId: chain.chainId,
      signer: address,
      processId,
      trouble: state.condition ?? refills?.condition,
      balanceWei: this.#gasBalance.balanceWei.toString(),
      settlementsLeft: this.#readiness.settlementsLeft(),
      inFlight: state.inFlight,
      window: state.windowSize,
      gaps: state.gapsFrom(attempts[0]?.accountNonce ?? next, state.windowSize).length,
      nextNonce: next,
      oldestNonce: attempts[0]?.accountNonce ?? next,
      oldestInFlightMs: oldest === undefined ? 0 : clock.now() - oldest.allocatedAt,
      inclusionMs: this.#rate.inclusionMs,
      gasPriceWei: this.#readiness.gasPriceWei.toString(),
      suspendedAssets: assetSuspensions.suspended,
      // Processes of an older version know no treasury, and never offer a retiring lane.
      ...(isRetiring && { isRetiring: true }),
      ...(state.isShort && { isShort: true }),
      ...(refills !== undefined && { treasury: refills.status }),
      perSecond: this.#rate.perSecond(state.windowSize, batchRules.maxItems),
    };
  }

  /** Refreshes the values of the status while there is no work. */
  async refresh(): Promise<void> {
    this.state.work.notify();
    await this.#gasBalance.refresh();
  }
}

function isEpochChange(error: unknown): boolean {
  return error instanceof Error && error.name === 'LedgerEpochChangedError';
}
