import type { Hex } from 'viem';
import { Signal } from '../concurrency/signal.js';
import { LedgerUnavailableError } from '../core/errors.js';
import { type Finality, isFailure, isSuccessAt } from '../core/settlement/settlement.js';
import type { Reason } from '../core/reasons.js';
import type { Asker } from '../ledger/asker.js';
import type { AskResult, Role, SettlementLedger } from '../ledger/settlement-ledger.js';
import type { Snapshot } from '../ledger/snapshot.js';
import type { SettleAnswer, SettleAnswers } from './settle-answer.js';
import type { News, SettlementNews } from './settlement-news.js';

/** The client's side of a request. */
export interface Connection {
  /** Whether an answer written now can still reach the client. */
  readonly isWritable: boolean;
  /** Resolves when the connection closes before an answer was finished. */
  readonly closed: Promise<void>;
}

export interface WaitOptions {
  readonly ledger: SettlementLedger;
  readonly news: SettlementNews;
  readonly answers: SettleAnswers;
  readonly asker: Asker;
  readonly connection: Connection;
  readonly finality: Finality;
  /** Milliseconds since the epoch at which the asker is answered whatever is known. */
  readonly deadlineAt: number;
  /** Whether everyone who asks hears of success (`SETTLE_REPLAY=always`). */
  readonly isReplayed: boolean;
  /** Takes over what could not be told to the ledger now. */
  readonly whenBack: (task: () => Promise<void>) => void;
}

/** How often an asker looks at the ledger without having heard anything. */
const LOOK_INTERVAL_MS = 1000;

const WAITING = { kind: 'waiting' } as const;

type Standing =
  | { readonly kind: 'answered'; readonly answer: SettleAnswer }
  | typeof WAITING
  /** The record is gone: to be judged like a payment never seen. */
  | { readonly kind: 'unknown' };

/**
 * One asker's wait for the outcome of one settlement. It ends with the true answer, or with what is
 * known when its time is up, or with nothing when its client has hung up.
 */
export class AskerWait {
  #lastHash: Hex | undefined;
  #generation: string;
  readonly #signal = new Signal();
  #refusal: Reason | undefined;
  #hasHeardOfSuccess = false;
  #role: Role | undefined;

  /** @param claimed - the generation of the claim this asker made itself, which holds the sale. */
  constructor(
    private readonly id: string,
    private readonly options: WaitOptions,
    claimed: string | undefined,
  ) {
    this.#generation = claimed ?? '';
    this.#role = claimed === undefined ? undefined : 'holder';
  }

  /** @returns `undefined` when the client is gone; `unknown` when there is no such settlement. */
  async run(): Promise<SettleAnswer | 'unknown' | undefined> {
    const stopListening = this.options.news.listen(this.id, (news) => {
      this.#hear(news);
    });
    const { connection } = this.options;
    void connection.closed.then(() => {
      this.#signal.notify();
    });
    let isAsking = this.#role === undefined;
    try {
      for (;;) {
        if (!connection.isWritable) {
          await this.#hangUp();
          return undefined;
        }
        // Who has just claimed knows how things stand.
        const standing = isAsking ? await this.#stand() : WAITING;
        isAsking = true;
        if (standing.kind === 'answered') return standing.answer;
        if (standing.kind === 'unknown') return 'unknown';
        const remaining = this.options.deadlineAt - Date.now();
        if (remaining <= 0) return await this.#timeOut();
        await this.#signal.wait(Math.min(remaining, LOOK_INTERVAL_MS));
      }
    } finally {
      stopListening();
    }
  }

  #hear(news: News): void {
    if (news.transaction !== undefined) this.#lastHash = news.transaction;
    if (news.kind === 'refused' && news.generation === this.#generation) {
      this.#refusal = news.reason;
    }
    if (news.kind === 'finalized' || news.kind === this.options.finality) {
      this.#hasHeardOfSuccess = true;
    }
    // A new hash is worth knowing, not worth a look.
    if (news.kind !== 'sent') this.#signal.notify();
  }

  async #stand(): Promise<Standing> {
    const { answers } = this.options;
    if (this.#refusal !== undefined) {
      return this.#answered(answers.failure(this.#refusal, this.#lastHash));
    }
    try {
      if (this.#hasHeardOfSuccess && this.#role === 'holder') {
        const sold = await this.#sell();
        if (sold !== undefined) return sold;
      }
      return await this.#ask();
    } catch (error) {
      // The ledger is away: it may be back before this asker's time is up.
      if (error instanceof LedgerUnavailableError) return WAITING;
      throw error;
    }
  }

  async #ask(): Promise<Standing> {
    const { ledger, asker, answers, finality } = this.options;
    const asked: AskResult = await ledger.ask(this.id, asker, this.#generation);
    if (asked.kind === 'key_conflict') {
      return this.#answered(answers.failure('idempotency_key_conflict'));
    }
    if (asked.kind === 'gone') {
      if (asked.reason !== undefined) return this.#answered(answers.failure(asked.reason));
      // The ledger lost it. What this process knows of it is all that is left.
      return this.#lastHash === undefined
        ? { kind: 'unknown' }
        : this.#answered(answers.pending(this.#lastHash));
    }
    const { role, snapshot } = asked;
    this.#role = role;
    this.#note(snapshot);
    if (isFailure(snapshot)) {
      await ledger.leave(this.id, asker, 'closed');
      return this.#answered(answers.failure(reasonOf(snapshot), snapshot.transaction));
    }
    if (isSuccessAt(snapshot, finality)) return this.#claimSuccess(role, snapshot);
    if (role === 'outsider' || role === 'too_many') return this.#duplicate(snapshot);
    return WAITING;
  }

  async #claimSuccess(role: Role, snapshot: Snapshot): Promise<Standing> {
    const { ledger, asker, answers, isReplayed } = this.options;
    if (role === 'holder' || role === 'owner') {
      const sold = await this.#sell();
      if (sold !== undefined) return sold;
      if (!isReplayed) return WAITING;
    }
    if (isReplayed) {
      await ledger.leave(this.id, asker, 'closed');
      return this.#answered(answers.success(snapshot, undefined));
    }
    return role === 'waiter' ? WAITING : this.#duplicate(snapshot);
  }

  /** `undefined`: the sale is not this asker's any more, or the payment is not paid after all. */
  async #sell(): Promise<Standing | undefined> {
    const { ledger, asker, answers, connection } = this.options;
    if (!connection.isWritable) return WAITING;
    const sold = await ledger.sell(this.id, asker, false);
    if (sold.kind !== 'sold') return undefined;
    return this.#answered(answers.success(sold.snapshot, () => this.#hangUp()));
  }

  #duplicate(snapshot: Snapshot): Standing {
    const { answers } = this.options;
    return this.#answered(answers.failure('duplicate_settlement', snapshot.transaction));
  }

  #answered(answer: SettleAnswer): Standing {
    return { kind: 'answered', answer };
  }

  #note(snapshot: Snapshot): void {
    if (snapshot.transaction !== undefined) this.#lastHash = snapshot.transaction;
    if (snapshot.generation !== '') this.#generation = snapshot.generation;
  }

  async #timeOut(): Promise<SettleAnswer> {
    const { ledger, asker, answers } = this.options;
    try {
      const left = await ledger.leave(this.id, asker, 'timeout');
      if (left.kind === 'gone') return this.#bestKnown();
      const { snapshot } = left;
      this.#note(snapshot);
      if (left.kind === 'withdrawn') return answers.failure('settlement_not_sent');
      if (isFailure(snapshot)) return answers.failure(reasonOf(snapshot), snapshot.transaction);
      return left.wasHolder
        ? this.#bestKnown()
        : answers.failure('duplicate_settlement', snapshot.transaction);
    } catch (error) {
      if (!(error instanceof LedgerUnavailableError)) throw error;
      this.#leaveLater();
      return this.#bestKnown();
    }
  }

  #bestKnown(): SettleAnswer {
    const { answers } = this.options;
    return this.#lastHash === undefined
      ? answers.failure('network_unavailable')
      : answers.pending(this.#lastHash);
  }

  async #hangUp(): Promise<void> {
    try {
      await this.options.ledger.leave(this.id, this.options.asker, 'closed');
    } catch (error) {
      if (!(error instanceof LedgerUnavailableError)) throw error;
      this.#leaveLater();
    }
  }

  /** An asker that the ledger still counts must not hold a sale in the name of this process. */
  #leaveLater(): void {
    const { ledger, asker, whenBack } = this.options;
    whenBack(async () => {
      await ledger.leave(this.id, asker, 'closed');
    });
  }
}

function reasonOf(snapshot: Snapshot): NonNullable<Snapshot['reason']> {
  return snapshot.reason ?? 'invalid_exact_evm_transaction_failed';
}
