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
import { isPassing } from '../lane-errors.js';
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
/** How long a place is kept for a payer whom the lane cannot pay for: others may need no money. */
const UNPAID_MS = 10_000;
/** A state seen in one block alone may be undone by the next one. */
const BELIEVED_AFTER_BLOCKS = 2n;
/** After a look that told nothing, or that a simulation did not agree with. */
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
  /** Since when the lane has not the money to send its payer what it is short of, by the steady clock. */
  unpaidSince: number | undefined;
}

/** Runs a step of the lane when those before it have ended. */
type InTurn = (step: () => Promise<void>) => Promise<void>;

/**
 * Settlements in the hands of a lane whose payer's own transaction has to be mined first: the payer is sent
 * the native coins that it is short of, then its transaction is sent, then the settlement can be. Where each
 * of them stands is read from the ledger and the chain at every block: nothing of it is remembered that
 * another process would not find out.
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

  /** Forgets all: a lane that is reopened finds them among the settlements it takes. */
  reset(): void {
    this.#looks.clear();
    this.#waiting.clear();
    this.#prepared = [];
  }

  /** Whether a block is awaited. */
  get isWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  /** Those that are prepared since this was last called. */
  takePrepared(): readonly TakenSettlement[] {
    const prepared = this.#prepared;
    this.#prepared = [];
    return prepared;
  }

  /** The places in use: the ledger lets a lane take no more settlements than there are places. */
  get places(): PlacesInUse {
    const held = new Map<string, number>();
    for (const { taken } of this.#waiting.values()) {
      const { asset } = taken.payment;
      held.set(asset, (held.get(asset) ?? 0) + 1);
    }
    return { free: Math.max(0, PLACES - this.#waiting.size), held };
  }

  /** Keeps what has to be prepared. @returns what can be judged now. */
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
   * A node that is a block behind the one that was looked at does not see what was prepared.
   *
   * @returns whether the refusal is not believed yet.
   */
  holds(taken: TakenSettlement, reason: Reason): boolean {
    const { payment } = taken;
    const preparation = this.options.preparationReader && preparationOf(payment);
    const { insufficientAllowance } = actionOf(payment.authorization).reasons;
    if (preparation === undefined || reason !== insufficientAllowance) return false;
    // A result for an earlier opening of the lane is dropped.
    const since = this.#since.get(taken);
    if (since === undefined || this.#isOver(since, PLACE_MS)) return false;
    this.#wait(taken, preparation, this.options.clock.steady() + LOOK_AGAIN_MS);
    return true;
  }

  // ---------------------------------------------------------------- one round

  /**
   * Draws the conclusions of what was looked at since, and looks at the newest block.
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
      if (result.kind === 'failed' && !isPassing(result.error)) {
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
        // Whatever the nodes answer: the next block shows what became of it.
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

  /** That it has come to nothing is believed when a later block says the same. */
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
      if (!isPassing(error)) observer.failed(lane, 'preparation', error);
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

  /** Its time is counted for its payer only while the next step is the payer's. Another lane may be able to send. */
  async #giveBack(held: HeldLane, { id }: TakenSettlement): Promise<void> {
    this.#waiting.delete(id);
    await this.options.queue.giveBack(held, [id]);
  }

  // ---------------------------------------------------------------- the end

  /** Refuses payments that wait for too long, or expire. */
  async #giveUp(held: HeldLane): Promise<void> {
    const nowSeconds = BigInt(Math.floor(this.options.clock.now() / 1000));
    for (const waiting of [...this.#waiting.values()]) {
      const { payment } = waiting.taken;
      if (deadlineOf(payment) <= nowSeconds) {
        await this.#refuse(held, waiting, actionOf(payment.authorization).reasons.expired);
      } else if (this.#isOver(waiting.unpaidSince, UNPAID_MS)) {
        // Where the lane never had the money nothing of the payer's has failed.
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
