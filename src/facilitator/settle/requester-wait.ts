import type { Hex } from 'viem';
import { Signal } from '../../platform/concurrency/signal.js';
import { RedisUnavailableError } from '../../protocol/errors.js';
import type { Reason } from '../../protocol/reasons.js';
import type { Requester } from '../../settlement/ledger/requester.js';
import type {
  SettlementEvent,
  SettlementEvents,
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
  /** Milliseconds since the epoch at which the requester is answered whatever is known. */
  readonly deadlineAt: number;
  readonly deferred: DeferredSteps;
  readonly acknowledged: Pick<AcknowledgedAnswers, 'sold' | 'withdrawn'>;
  /** Whether requesters other than the one with the sale may get success. */
  readonly isRepeatable: boolean;
  /** What a failure is answered with that says nothing of its cause. */
  readonly unknownFailure: Reason;
}

/** How often a requester polls the ledger without an event. The poll is its heartbeat, too. */
const LOOK_INTERVAL_MS = 1000;
/** After a step that the ledger did not answer, or did not want to decide yet. */
const AGAIN_MS = 100;

/**
 * - `answer`: what to say; `undefined` when the client is gone.
 * - `isOver`: nothing was ever signed, and nothing will be.
 * - `unknown`: there is no such settlement: to be judged like a payment never seen.
 */
export type Waited =
  | {
      readonly kind: 'answered';
      readonly answer: SettleAnswer | undefined;
      readonly isOver: boolean;
    }
  | { readonly kind: 'unknown' };

type WaitState = Waited | { readonly kind: 'waiting'; readonly lookAgainMs: number };

const WAITING: WaitState = { kind: 'waiting', lookAgainMs: LOOK_INTERVAL_MS };
const SOON: WaitState = { kind: 'waiting', lookAgainMs: AGAIN_MS };

/**
 * One requester's wait for the outcome of one claim. It ends with the true answer, or with what is known
 * when its time is up, or with nothing when its client has hung up.
 */
export class RequesterWait {
  readonly #signal = new Signal();
  readonly #stopListening: () => void;
  #hash: Hex | undefined;
  #hasHeardOfSuccess = false;
  /** A sale was asked for, and the answer was lost. */
  #mayHaveSale = false;

  /** Listens from the beginning: events before the claim count, too. */
  constructor(
    readonly ref: ClaimRef,
    private readonly options: WaitOptions,
  ) {
    this.#stopListening = options.events.listen(ref.id, (event) => {
      this.#onEvent(event);
    });
  }

  /** A transaction of it that this process knows. */
  get knownHash(): Hex | undefined {
    return this.#hash;
  }

  end(): void {
    this.#stopListening();
  }

  /** @param hasJoined - whether this requester has just claimed it: then it knows how things stand. */
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
        const remaining = deadlineAt - Date.now();
        if (remaining <= 0) return await this.#timeOut();
        await this.#signal.wait(Math.min(remaining, standing.lookAgainMs));
      }
    } finally {
      this.end();
    }
  }

  #onEvent(event: SettlementEvent): void {
    if (event.transaction !== undefined) this.#hash = event.transaction;
    if (event.kind === 'finalized' || event.kind === this.options.finality) {
      this.#hasHeardOfSuccess = true;
    }
    // A new hash is worth knowing, not worth a look.
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
      // The ledger is away: it may be back before this requester's time is up.
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
    if (kind === 'too_many') return this.#duplicate(view);
    if (kind === 'non_owner') return this.#soldToAnother(view);
    if (isFailure(view)) return this.#failed(view);
    return isSuccessAt(view, finality) ? this.#redeem() : WAITING;
  }

  /** The ledger lost it, or forgot it. What this process knows of it is all that is left. */
  #gone(): WaitState {
    return this.#hash === undefined
      ? { kind: 'unknown' }
      : answered(this.options.answers.pending(this.#hash));
  }

  async #redeem(): Promise<WaitState> {
    const {
      store,
      requester,
      authorizationId,
      answers,
      connection,
      finality,
      acknowledged: told,
    } = this.options;
    if (!connection.isWritable) return SOON;
    // From here on the ledger may say that it is this requester's, whether the reply comes or not.
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
            told.sold({ ref: this.ref, authorizationId, requester, isAccepted: false }),
          ),
        );
      case 'not_yet':
        return SOON;
      case 'lost':
        this.#mayHaveSale = false;
        return this.#soldToAnother(view);
      case 'not_eligible':
        this.#mayHaveSale = false;
        return this.options.isRepeatable ? this.#repeat(view) : WAITING;
      case 'unpaid':
      case 'over':
        this.#mayHaveSale = false;
        return WAITING;
    }
  }

  #soldToAnother(view: SettlementView): WaitState {
    return this.options.isRepeatable ? this.#repeat(view) : this.#duplicate(view);
  }

  /** Success, once it is done, for who has not caused it. Nothing is sold by it. */
  #repeat(view: SettlementView): WaitState {
    const { answers, finality } = this.options;
    return isSuccessAt(view, finality) ? answered(answers.success(view, undefined)) : WAITING;
  }

  #duplicate(view: SettlementView): WaitState {
    return answered(this.options.answers.failure('duplicate_settlement', view.transaction));
  }

  #note(view: SettlementView): void {
    if (view.transaction !== undefined) this.#hash = view.transaction;
  }

  async #timeOut(): Promise<Waited> {
    const { store, requester, answers } = this.options;
    try {
      if (this.#mayHaveSale) {
        const redeemed = await this.#redeem();
        if (redeemed.kind !== 'waiting') return redeemed;
      }
      const left = await store.leave(this.ref, requester, 'timeout', this.#hash);
      if (left.kind === 'gone') return this.#bestKnown();
      const { view } = left;
      this.#note(view);
      if (isFailure(view)) return this.#failed(view);
      return this.#isOfAnother(view)
        ? answered(answers.failure('duplicate_settlement', view.transaction))
        : this.#bestKnown();
    } catch (error) {
      if (!(error instanceof RedisUnavailableError)) throw error;
      this.#giveUpLater();
      return this.#bestKnown();
    }
  }

  #failed(view: SettlementView): Waited {
    const { answers, unknownFailure, acknowledged: told } = this.options;
    const isOver = view.state === 'withdrawn';
    if (isOver) told.withdrawn({ ref: this.ref, reason: view.reason ?? unknownFailure });
    return answered(answers.failed(view, unknownFailure), isOver);
  }

  #isOfAnother(view: SettlementView): boolean {
    const { requester, isRepeatable } = this.options;
    if (isRepeatable) return false;
    const isOwn = view.sale.requester === requester.id || isSoldToKey(view, requester.keyTag);
    return view.sale.state === 'sold' && !isOwn;
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

  /** Gives up what this requester may hold: a sale whose answer was never sent, and its place among the waiting. */
  async #giveUp(): Promise<void> {
    const { store, requester, authorizationId } = this.options;
    if (this.#mayHaveSale) await store.rollBack(this.ref, authorizationId, requester);
    await store.leave(this.ref, requester, 'closed', this.#hash);
  }
}

function answered(answer: SettleAnswer | undefined, isOver = false): Waited {
  return { kind: 'answered', answer, isOver };
}
