import type { Hex } from 'viem';
import { BackgroundTasks } from '../../../platform/concurrency/background-tasks.js';
import type { Clock } from '../../../platform/concurrency/clock.js';
import { assetNameOf } from '../../../protocol/payment/accepted-payment.js';
import { deadlineOf, preparationOf } from '../../../protocol/payment/payment-facts.js';
import type { Reason } from '../../../protocol/reasons.js';
import { actionOf } from '../../../protocol/schemes/registry.js';
import type { Preparation } from '../../../protocol/schemes/scheme.js';
import type {
  HeldLane,
  LaneAttempts,
  LaneQueue,
  TakenSettlement,
} from '../../ledger/lane-store.js';
import {
  nextPreparationStep,
  type PreparationFacts,
  type PreparationStep,
} from '../../model/preparation-step.js';
import { PLACE_MS, PLACES, type PlacesInUse } from '../../model/sponsoring-machine.js';
import { isTransient } from '../lane-errors.js';
import type { LaneObserver } from '../lane-observer.js';
import type { LaneChain, LaneEvents, PreparationReader } from '../ports.js';
import { PayerFunding, type PayerFundingOptions } from './payer-funding.js';

interface PreparationsOptions extends PayerFundingOptions {
  readonly lane: string;
  readonly chain: Pick<LaneChain, 'chainId' | 'broadcast'>;
  readonly queue: LaneQueue;
  readonly attempts: LaneAttempts;
  /** `undefined` where payers' own transactions are not sponsored: nothing is prepared then. */
  readonly preparationReader: PreparationReader | undefined;
  readonly events: LaneEvents;
  readonly observer: LaneObserver;
  readonly clock: Clock;
}

const LOOKS_OF_ASSET_MOST = 16;
const LOOK_MS = 2500;
/** How long a place is kept for a payer whom the lane cannot fund: others may need no money. */
const UNPAID_MS = 10_000;
/** A state in only one block may be undone by the next one. */
const BELIEVED_AFTER_BLOCKS = 2n;
/** Pause after a look without a result, or one that a simulation contradicted. */
const LOOK_AGAIN_MS = 500;

interface Waiting {
  readonly taken: TakenSettlement;
  readonly preparation: Preparation;
  /** By the steady clock. */
  readonly since: number;
  /** Newest block when it was looked at last. */
  lookedAt: Hex | undefined;
  /** By the steady clock; it is not looked at before. */
  restsUntil: number;
  /** The first block at which it seemed to come to nothing. */
  doubtedAt: bigint | undefined;
  /** The time since which the lane lacks the money for this payer, by the steady clock. */
  unpaidSince: number | undefined;
}

/** Runs a step of the lane after the previous steps. */
type InTurn = (step: () => Promise<void>) => Promise<void>;

/**
 * Settlements of a lane whose payer's own transaction has to be mined first: the payer gets the missing native coins,
 * then its transaction is sent, then the settlement can be sent. The state of each is read from the ledger and the
 * chain at every block, so that another process can continue.
 */
export class Preparations {
  readonly #waiting = new Map<string, Waiting>();
  readonly #looks: BackgroundTasks<PreparationFacts>;
  readonly #funding: PayerFunding;
  #prepared: TakenSettlement[] = [];
  /** When each was kept first, by the steady clock. */
  readonly #since = new WeakMap<TakenSettlement, number>();

  constructor(private readonly options: PreparationsOptions) {
    this.#funding = new PayerFunding(options);
    this.#looks = new BackgroundTasks({
      most: PLACES,
      mostOfGroup: LOOKS_OF_ASSET_MOST,
      limitMs: LOOK_MS,
      onResult: () => {
        options.state.work.notify();
      },
      clock: options.clock,
    });
  }

  /** Drops all state: a reopened lane finds the settlements again. */
  reset(): void {
    this.#looks.clear();
    this.#waiting.clear();
    this.#prepared = [];
  }

  /** Whether a block is awaited. */
  get isWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  /** Settlements whose preparation ended since the last call. */
  takePrepared(): readonly TakenSettlement[] {
    const prepared = this.#prepared;
    this.#prepared = [];
    return prepared;
  }

  /** The places in use: the ledger lets a lane take no more settlements than places. */
  get places(): PlacesInUse {
    const held = new Map<string, number>();
    for (const { taken } of this.#waiting.values()) {
      const { asset } = taken.payment;
      held.set(asset, (held.get(asset) ?? 0) + 1);
    }
    return { free: Math.max(0, PLACES - this.#waiting.size), held };
  }

  /** Keeps settlements that need preparation. @returns those that can be simulated now. */
  keep(taken: readonly TakenSettlement[]): readonly TakenSettlement[] {
    return taken.filter((one) => {
      const preparation = this.options.preparationReader && preparationOf(one.payment);
      if (preparation !== undefined) this.#wait(one, preparation);
      return preparation === undefined;
    });
  }

  #wait(taken: TakenSettlement, preparation: Preparation, restsUntil = 0): void {
    const since = this.#since.get(taken) ?? this.options.clock.steady();
    this.#since.set(taken, since);
    const unseen = { lookedAt: undefined, doubtedAt: undefined, unpaidSince: undefined };
    this.#waiting.set(taken.id, { taken, preparation, since, restsUntil, ...unseen });
    this.#look();
  }

  /**
   * A node one block behind does not see the preparation.
   *
   * @returns whether the refusal has to be confirmed first.
   */
  holds(taken: TakenSettlement, reason: Reason): boolean {
    const { payment } = taken;
    const preparation = this.options.preparationReader && preparationOf(payment);
    const { insufficientAllowance } = actionOf(payment.authorization).reasons;
    if (preparation === undefined || reason !== insufficientAllowance) return false;
    // A result for an earlier recovery of the lane is dropped.
    const since = this.#since.get(taken);
    if (since === undefined || this.#isOver(since, PLACE_MS)) return false;
    this.#wait(taken, preparation, this.options.clock.steady() + LOOK_AGAIN_MS);
    return true;
  }

  // ---------------------------------------------------------------- one round

  /**
   * Processes the results of looks, and looks at the newest block.
   *
   * @throws ReopenLane, LeaseLostError, RedisUnavailableError.
   */
  async round(held: HeldLane, inTurn: InTurn): Promise<void> {
    if (this.#waiting.size === 0) return;
    const { queue, chain, observer, lane } = this.options;
    const gone = await queue.finishedOf(chain.chainId, [...this.#waiting.keys()]);
    for (const id of gone) this.#waiting.delete(id);
    for (const result of this.#looks.collect()) {
      const waiting = this.#waiting.get(result.key);
      if (waiting === undefined) continue;
      if (result.kind === 'done') await this.#conclude(held, waiting, result.value, inTurn);
      else this.#lookAgain(waiting);
      if (result.kind === 'failed' && !isTransient(result.error)) {
        observer.failed(lane, 'preparation', result.error);
      }
    }
    await this.#giveUp(held);
    this.#look();
  }

  #lookAgain(waiting: Waiting): void {
    waiting.lookedAt = undefined;
    waiting.restsUntil = this.options.clock.steady() + LOOK_AGAIN_MS;
  }

  #look(): void {
    const { heads, preparationReader, attempts, chain, clock } = this.options;
    const newest = heads.current?.latest.hash;
    if (newest === undefined || preparationReader === undefined) return;
    for (const [id, waiting] of this.#waiting) {
      if (waiting.lookedAt === newest || clock.steady() < waiting.restsUntil) continue;
      const { taken, preparation } = waiting;
      const { payment } = taken;
      const payer = payment.authorization.from;
      const isStarted = this.#looks.start(id, assetNameOf(payment), async () => {
        const funding = await attempts.fundingOf(chain.chainId, payer);
        return { funding, ...(await preparationReader.look(payer, preparation)) };
      });
      if (isStarted) waiting.lookedAt = newest;
    }
  }

  async #conclude(
    held: HeldLane,
    waiting: Waiting,
    facts: PreparationFacts,
    inTurn: InTurn,
  ): Promise<void> {
    const { taken, preparation } = waiting;
    const step = nextPreparationStep(facts, preparation.transaction);
    if (step !== 'fund') waiting.unpaidSince = undefined;
    switch (step) {
      case 'done':
        this.#waiting.delete(taken.id);
        this.#prepared.push(taken);
        return;
      case 'send':
        // The nodes' replies do not matter, because the next block shows the outcome.
        void this.#sendPayers(preparation.transaction.raw);
        break;
      case 'fund':
        await inTurn(() => this.#fund(held, waiting, facts.balanceWei));
        break;
      case 'lost':
      case 'spent':
      case 'wait':
    }
    await this.#doubt(held, waiting, step);
  }

  /** A preparation counts as failed only when a later block confirms it. */
  async #doubt(held: HeldLane, waiting: Waiting, step: PreparationStep): Promise<void> {
    const newest = this.options.heads.current?.latest.number;
    if (step !== 'lost' && step !== 'spent') {
      waiting.doubtedAt = undefined;
    } else if (newest !== undefined) {
      waiting.doubtedAt ??= newest;
      if (newest - waiting.doubtedAt < BELIEVED_AFTER_BLOCKS) return;
      await this.#refuse(held, waiting, waiting.preparation.failed);
    }
  }

  async #sendPayers(raw: Hex): Promise<void> {
    const { chain, observer, lane } = this.options;
    try {
      await chain.broadcast(raw);
    } catch (error) {
      if (!isTransient(error)) observer.failed(lane, 'preparation', error);
    }
  }

  async #fund(held: HeldLane, waiting: Waiting, balanceWei: bigint): Promise<void> {
    const { taken, preparation } = waiting;
    // Reopened meanwhile.
    if (this.#waiting.get(taken.id) !== waiting) return;
    const funded = await this.#funding.fund(held, taken, preparation.transaction, balanceWei);
    const now = this.options.clock.steady();
    waiting.unpaidSince = funded === 'no_gas' ? (waiting.unpaidSince ?? now) : undefined;
    if (funded === 'gone') this.#waiting.delete(taken.id);
    if (funded === 'held') await this.#giveBack(held, taken);
    if (funded === 'too_much') await this.#refuse(held, waiting, preparation.failed);
    if (funded === 'budget') await this.#refuse(held, waiting, 'budget_exhausted');
  }

  /** The payer's time counts only while the next step is the payer's. Another lane may be able to send. */
  async #giveBack(held: HeldLane, { id }: TakenSettlement): Promise<void> {
    this.#waiting.delete(id);
    await this.options.queue.giveBack(held, [id]);
  }

  // ---------------------------------------------------------------- the end

  /** Refuses payments that waited too long or expired. */
  async #giveUp(held: HeldLane): Promise<void> {
    const nowSeconds = BigInt(Math.floor(this.options.clock.now() / 1000));
    for (const waiting of [...this.#waiting.values()]) {
      const { payment } = waiting.taken;
      if (deadlineOf(payment) <= nowSeconds) {
        await this.#refuse(held, waiting, actionOf(payment.authorization).reasons.expired);
      } else if (this.#isOver(waiting.unpaidSince, UNPAID_MS)) {
        // If the lane never had the money, the payer is not at fault.
        await this.#refuse(held, waiting, 'no_gas');
      } else if (this.#isOver(waiting.since, PLACE_MS)) {
        await this.#refuse(held, waiting, waiting.preparation.failed);
      }
    }
  }

  #isOver(since: number | undefined, ms: number): boolean {
    return since !== undefined && this.options.clock.steady() - since >= ms;
  }

  async #refuse(held: HeldLane, { taken: { id } }: Waiting, reason: Reason): Promise<void> {
    const { queue, events } = this.options;
    this.#waiting.delete(id);
    await queue.refuse(held, [{ id, reason }]);
    events.finished([id]);
  }
}
