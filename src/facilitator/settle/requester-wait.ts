import type { Hex } from 'viem';
import { Signal } from '../../platform/concurrency/signal.js';
import { RedisUnavailableError } from '../../protocol/errors.js';
import type { Reason } from '../../protocol/reasons.js';
import type { Requester } from '../../settlement/ledger/requester.js';
import type {
  SettlementEvents,
  SettlementUpdate,
} from '../../settlement/ledger/settlement-events.js';
import type { ClaimRef, SettlementStore } from '../../settlement/ledger/settlement-store.js';
import {
  type Finality,
  isFailure,
  isSoldToKey,
  isSuccessAt,
  type SettlementView,
} from '../../settlement/model/settlement.js';
import type { AcknowledgedAnswers } from './acknowledged-answers.js';
import type { DeferredSteps } from './deferred-steps.js';
import type { SettleAnswer, SettleAnswers } from './settle-answer.js';

/** The client's side of a request. */
export interface Connection {
  /** Whether an answer written now can still reach the client. */
  readonly isWritable: boolean;
  /** Resolves when the connection closes before an answer was finished. */
  readonly closed: Promise<void>;
}

interface WaitOptions {
  readonly store: SettlementStore;
  readonly events: Pick<SettlementEvents, 'listen'>;
  readonly answers: SettleAnswers;
  readonly requester: Requester;
  readonly authorizationId: string;
  readonly connection: Connection;
  readonly finality: Finality;
  /**
   * Milliseconds since the epoch at which the requester is answered with what is known; earlier after a shutdown has
   * begun.
   */
  readonly deadlineAt: () => number;
  /** The same without a shutdown. */
  readonly ownDeadlineAt: number;
  readonly deferred: DeferredSteps;
  readonly acknowledged: Pick<AcknowledgedAnswers, 'sold' | 'withdrawn'>;
  /** Whether requesters other than the one with the sale may get success. */
  readonly isRepeatable: boolean;
  /** The reason for a failure whose cause is unknown. */
  readonly unknownFailure: Reason;
}

/** Interval of a requester's polls without an event. A poll is also its heartbeat. */
const LOOK_INTERVAL_MS = 1000;
/**
 * A requester above the ledger's limit is asked to return after this time; by then the ledger has forgotten a requester
 * that vanished.
 */
const TOO_MANY_RETRY_SECONDS = 5;
/** Pause after a step that the ledger did not answer, or could not decide yet. */
const AGAIN_MS = 100;

/**
 * - `answer`: the answer; `undefined` when the client is gone.
 * - `isKeyFree`: no transaction was ever signed and none will be, or the sale is another requester's.
 * - `unknown`: the settlement does not exist, so the payment is verified like a new one.
 */
export type Waited =
  | {
      readonly kind: 'answered';
      readonly answer: SettleAnswer | undefined;
      readonly isKeyFree: boolean;
    }
  | { readonly kind: 'unknown' };

type WaitState = Waited | { readonly kind: 'waiting'; readonly lookAgainMs: number };

const WAITING: WaitState = { kind: 'waiting', lookAgainMs: LOOK_INTERVAL_MS };
const SOON: WaitState = { kind: 'waiting', lookAgainMs: AGAIN_MS };

/**
 * One requester's wait for the outcome of one claim. It ends with the true answer, with what is known at its deadline,
 * or without an answer when its client has closed the connection.
 */
export class RequesterWait {
  readonly #signal = new Signal();
  readonly #stopListening: () => void;
  #hash: Hex | undefined;
  #hasHeardOfSuccess = false;
  /** A sale was requested, and the reply was lost. */
  #mayHaveSale = false;

  /** Subscribes at once, because events before the claim count too. */
  constructor(
    readonly ref: ClaimRef,
    private readonly options: WaitOptions,
  ) {
    this.#stopListening = options.events.listen(ref.id, (event) => {
      this.#onEvent(event);
    });
  }

  /** A transaction of the claim that this process knows. */
  get knownHash(): Hex | undefined {
    return this.#hash;
  }

  end(): void {
    this.#stopListening();
  }

  /** @param hasJoined - whether this requester has just claimed it, so that it needs no first look. */
  async run(hasJoined: boolean): Promise<Waited> {
    const { connection, deadlineAt } = this.options;
    void connection.closed.then(() => {
      this.#signal.notify();
    });
    let standing = hasJoined ? WAITING : SOON;
    let isLooking = !hasJoined;
    try {
      for (;;) {
        if (!connection.isWritable) {
          await this.#hangUp();
          return answered(undefined);
        }
        if (isLooking) standing = await this.#stand();
        isLooking = true;
        if (standing.kind !== 'waiting') return standing;
        const remaining = deadlineAt() - Date.now();
        if (remaining <= 0) return await this.#timeOut();
        await this.#signal.wait(Math.min(remaining, standing.lookAgainMs));
      }
    } finally {
      this.end();
    }
  }

  #onEvent(event: SettlementUpdate): void {
    if (event.transaction !== undefined) this.#hash = event.transaction;
    if (event.kind === 'finalized' || event.kind === this.options.finality) {
      this.#hasHeardOfSuccess = true;
    }
    // A new hash is stored but is no reason for a look.
    if (event.kind !== 'sent') this.#signal.notify();
  }

  async #stand(): Promise<WaitState> {
    try {
      if (this.#hasHeardOfSuccess || this.#mayHaveSale) {
        this.#hasHeardOfSuccess = false;
        const redeemed = await this.#redeem();
        if (redeemed.kind !== 'waiting' || redeemed === SOON) return redeemed;
      }
      return await this.#join();
    } catch (error) {
      // The ledger is unreachable and may return before this requester's deadline.
      if (error instanceof RedisUnavailableError) return SOON;
      throw error;
    }
  }

  async #join(): Promise<WaitState> {
    const { store, requester, finality } = this.options;
    const joined = await store.join(this.ref, requester);
    if (joined.kind === 'gone') return this.#gone();
    const { kind, view } = joined;
    this.#note(view);
    if (kind === 'non_owner') return this.#notTheOwner(view);
    if (kind === 'too_many' && !this.#isOwn(view)) return this.#oneTooMany(this.#notTheOwner(view));
    if (isFailure(view)) return this.#failed(view);
    if (isSuccessAt(view, finality)) return this.#redeem();
    return kind === 'too_many' ? this.#oneTooMany(WAITING) : WAITING;
  }

  /**
   * The ledger lost or dropped the claim. The answer is what this process knows of it, unless the state of a contract
   * shows what was done: then the payment is verified again.
   */
  #gone(): WaitState {
    return this.#hash === undefined || this.options.isRepeatable
      ? { kind: 'unknown' }
      : answered(this.options.answers.pending(this.#hash));
  }

  async #redeem(): Promise<WaitState> {
    const { store, requester, authorizationId, answers, connection, finality, acknowledged } =
      this.options;
    if (!connection.isWritable) return SOON;
    // From here on the ledger may hold the sale for this requester, even if the reply is lost.
    this.#mayHaveSale = true;
    const redeemed = await store.redeem(this.ref, requester, finality);
    if (redeemed.kind === 'gone') return this.#gone();
    const { kind, view } = redeemed;
    this.#note(view);
    switch (kind) {
      case 'sold':
        return answered(
          answers.success(
            view,
            acknowledged.sold({ ref: this.ref, authorizationId, requester, isAccepted: false }),
          ),
        );
      case 'not_yet':
        return SOON;
      case 'lost':
        this.#mayHaveSale = false;
        return this.#notTheOwner(view);
      case 'not_eligible':
        this.#mayHaveSale = false;
        return this.options.isRepeatable ? this.#repeat(view) : WAITING;
      case 'unpaid':
      case 'over':
        this.#mayHaveSale = false;
        return WAITING;
    }
  }

  #notTheOwner(view: SettlementView): WaitState {
    return this.options.isRepeatable ? this.#repeat(view) : this.#duplicate(view);
  }

  /** The requester is not listed, so it does not wait. */
  #oneTooMany(standing: WaitState): WaitState {
    if (standing.kind !== 'waiting') return standing;
    const { answers } = this.options;
    return answered(
      this.#hash === undefined
        ? answers.failure('queue_full', undefined, TOO_MANY_RETRY_SECONDS)
        : answers.pending(this.#hash),
    );
  }

  /** A success for a requester that did not cause it, once it is done. It sells nothing. */
  #repeat(view: SettlementView): WaitState {
    const { answers, finality } = this.options;
    if (isFailure(view)) return this.#failed(view);
    return isSuccessAt(view, finality) ? answered(answers.success(view, undefined)) : WAITING;
  }

  #duplicate(view: SettlementView): Waited {
    const answer = this.options.answers.failure('duplicate_settlement', view.transaction);
    return answered(answer, this.#isOfAnother(view));
  }

  #note(view: SettlementView): void {
    if (view.transaction !== undefined) this.#hash = view.transaction;
  }

  async #timeOut(): Promise<Waited> {
    const { store, requester, ownDeadlineAt } = this.options;
    // A process that shuts down takes no claim away from requesters of other processes.
    const cause = Date.now() < ownDeadlineAt ? 'closed' : 'timeout';
    try {
      if (this.#mayHaveSale) {
        const redeemed = await this.#redeem();
        if (redeemed.kind !== 'waiting') return redeemed;
      }
      const left = await store.leave(this.ref, requester, cause, this.#hash);
      if (left.kind === 'gone') return this.#bestKnown();
      const { view } = left;
      this.#note(view);
      if (isFailure(view)) return this.#failed(view);
      return this.#isOfAnother(view) ? this.#duplicate(view) : this.#bestKnown();
    } catch (error) {
      if (!(error instanceof RedisUnavailableError)) throw error;
      this.#giveUpLater();
      return this.#bestKnown();
    }
  }

  #failed(view: SettlementView): Waited {
    const { answers, unknownFailure, acknowledged } = this.options;
    const isWithdrawn = view.state === 'withdrawn';
    if (isWithdrawn)
      acknowledged.withdrawn({ ref: this.ref, reason: view.reason ?? unknownFailure });
    return answered(answers.failed(view, unknownFailure), isWithdrawn);
  }

  #isOfAnother(view: SettlementView): boolean {
    return !this.options.isRepeatable && view.sale.state === 'sold' && !this.#isOwn(view);
  }

  /** Whether the sale is this requester's, or its key's. */
  #isOwn(view: SettlementView): boolean {
    const { requester } = this.options;
    const isKeysOwn = isSoldToKey(view, requester.keyTag);
    return view.sale.state === 'sold' && (view.sale.requester === requester.id || isKeysOwn);
  }

  #bestKnown(): Waited {
    const { answers } = this.options;
    return answered(
      this.#hash === undefined
        ? answers.failure('network_unavailable')
        : answers.pending(this.#hash),
    );
  }

  async #hangUp(): Promise<void> {
    await this.options.deferred.runOrDefer(() => this.#giveUp());
  }

  #giveUpLater(): void {
    this.options.deferred.defer(() => this.#giveUp());
  }

  /**
   * Gives up all that this requester may hold: a sale whose answer was never sent, and its place among the waiting
   * requesters.
   */
  async #giveUp(): Promise<void> {
    const { store, requester, authorizationId } = this.options;
    if (this.#mayHaveSale) await store.rollBack(this.ref, authorizationId, requester);
    await store.leave(this.ref, requester, 'closed', this.#hash);
  }
}

function answered(answer: SettleAnswer | undefined, isKeyFree = false): Waited {
  return { kind: 'answered', answer, isKeyFree };
}
