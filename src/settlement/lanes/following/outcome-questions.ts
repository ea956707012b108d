import type { BlockHeader } from '../../../platform/chain/block.js';
import type { Head } from '../../../platform/chain/head-watcher.js';
import { BackgroundTasks } from '../../../platform/concurrency/background-tasks.js';
import type { Clock } from '../../../platform/concurrency/clock.js';
import { type AcceptedPayment, assetNameOf } from '../../../protocol/payment/accepted-payment.js';
import type { ParkReason } from '../../ledger/lane-store.js';
import { isTransient } from '../lane-errors.js';
import type { OutcomeResolver, OutcomeVerdict } from '../ports.js';
import type { LaneState } from '../state/lane-state.js';
import type { TrackedAttempt } from '../state/tracked-attempt.js';
import { Tries } from './tries.js';
import type { UnresolvedUses } from './unresolved-uses.js';

interface OutcomeQuestionsOptions {
  readonly state: LaneState;
  readonly resolver: OutcomeResolver;
  readonly unresolved: UnresolvedUses;
  /** Called with unexpected errors. */
  readonly onError: (error: unknown) => void;
  readonly clock: Clock;
}

/** Limits of questions at once, for all and for one asset, and of the time of one. */
const MOST = 64;
const MOST_OF_ASSET = 8;
const LIMIT_MS = 2000;
/** A search reports its end; it is also polled at this interval. */
const SEARCH_PAUSE_MS = 500;

/** The subject of a question. */
export type Subject =
  | { readonly kind: 'attempt'; readonly tracked: TrackedAttempt; readonly isFinal: boolean }
  | { readonly kind: 'unresolved'; readonly sinceBlock: bigint };

export interface Question {
  readonly id: string;
  readonly payment: AcceptedPayment;
  readonly subject: Subject;
  /** The final block that decides. */
  readonly finalized: BlockHeader;
}

export type Answer =
  | { readonly kind: 'verdict'; readonly question: Question; readonly verdict: OutcomeVerdict }
  /** The outcome is unknown, and the last try is over. */
  | { readonly kind: 'unknown'; readonly question: Question; readonly why: ParkReason };

/**
 * Resolves settlements in the background of a lane. The questions run code of tokens and search the chain: each is
 * limited in time, those of one asset in number, and each is tried a few times.
 */
export class OutcomeQuestions {
  readonly #tasks: BackgroundTasks<OutcomeVerdict>;
  readonly #asked = new Map<string, Question>();
  readonly #tries = new Tries();

  constructor(private readonly options: OutcomeQuestionsOptions) {
    this.#tasks = new BackgroundTasks({
      most: MOST,
      mostOfGroup: MOST_OF_ASSET,
      limitMs: LIMIT_MS,
      onResult: () => {
        options.state.changed.notify();
      },
      clock: options.clock,
    });
  }

  reset(): void {
    this.#tasks.clear();
    this.#asked.clear();
    this.#tries.clear();
  }

  /** Asks, unless the question is in progress or was asked a moment ago. */
  ask(about: Omit<Question, 'finalized'>, { finalized }: Head): void {
    const { id, payment } = about;
    if (finalized === undefined) return;
    if (!this.#tries.mayTry(id, this.options.clock.steady())) return;
    const question: Question = { ...about, finalized };
    const isAsked = this.#tasks.start(id, assetNameOf(payment), () => this.#resolve(question));
    if (isAsked) this.#asked.set(id, question);
  }

  #resolve({ id, payment, subject, finalized }: Question): Promise<OutcomeVerdict> {
    const { resolver, unresolved } = this.options;
    if (subject.kind === 'attempt') {
      const { tracked, isFinal } = subject;
      const inclusion = isFinal ? tracked.inclusion : undefined;
      return resolver.resolve(id, payment, tracked, inclusion, finalized);
    }
    const use = unresolved.get(id);
    if (use === undefined) return Promise.resolve({ kind: 'waiting' });
    // The ledger has no transaction of it, so no copy of one can have used it.
    const { sentBefore = { sinceBlock: use.sinceBlock, hashes: [] } } = use.taken;
    return resolver.resolveAgain(id, payment, sentBefore, finalized);
  }

  /** The answers since the last call, for settlements that the lane still has. */
  collect(head: Head): readonly Answer[] {
    return this.#tasks.collect().flatMap((result): readonly Answer[] => {
      const question = this.#asked.get(result.key);
      this.#asked.delete(result.key);
      if (question === undefined || !this.#isOpen(question)) return [];
      if (result.kind === 'done') return this.#answerOf(question, result.value, head);
      if (result.kind === 'failed' && !isTransient(result.error))
        this.options.onError(result.error);
      const why = result.kind === 'late' ? 'state_unreadable' : 'search_failed';
      return this.#unknown(question, why, head);
    });
  }

  #answerOf(question: Question, verdict: OutcomeVerdict, head: Head): readonly Answer[] {
    if (verdict.kind === 'waiting') {
      return this.#unknown(question, verdict.why ?? 'search_failed', head);
    }
    if (verdict.kind === 'searching' || isTooEarly(question, verdict)) {
      this.#tries.wait(question.id, this.options.clock.steady() + SEARCH_PAUSE_MS);
      return [];
    }
    this.#tries.forget(question.id);
    return [{ kind: 'verdict', question, verdict }];
  }

  /** No result. The question is repeated a few times. */
  #unknown(question: Question, why: ParkReason, { latest }: Head): readonly Answer[] {
    const { id, subject } = question;
    const isLast = this.#tries.failed(id, this.options.clock.steady(), latest.number);
    // A settlement that may still be mined is followed until it no longer can be.
    if (!isLast || (subject.kind === 'attempt' && !subject.isFinal)) return [];
    this.#tries.forget(id);
    return [{ kind: 'unknown', question, why }];
  }

  /** Whether the lane still has it, in the attempt of the question. */
  #isOpen({ id, subject }: Question): boolean {
    const { state, unresolved } = this.options;
    if (subject.kind === 'unresolved') return unresolved.get(id) !== undefined;
    const { tracked, isFinal } = subject;
    if (state.get(tracked.accountNonce) !== tracked || !tracked.payments.has(id)) return false;
    return isFinal === (tracked.inclusion !== undefined);
  }
}

/** "Unused" in a block before the one that showed the authorization used proves nothing. */
function isTooEarly({ subject, finalized }: Question, { kind }: OutcomeVerdict): boolean {
  if (kind !== 'requeue' || subject.kind === 'attempt') return false;
  return finalized.number <= subject.sinceBlock;
}
