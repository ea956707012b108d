import { LedgerEpochChangedError, RedisUnavailableError } from '../../protocol/errors.js';
import type { SettlementStore } from '../../settlement/ledger/settlement-store.js';
import type { RecentAnswers } from './recent-answers.js';

type Answers = Pick<RecentAnswers<never>, 'restate' | 'heard'>;

interface PresenceOptions {
  readonly store: Pick<SettlementStore, 'speak' | 'onEpochChange'>;
  readonly processId: string;
  /** What this process has told lately. */
  readonly answers: readonly Answers[];
  readonly onTrouble: (error: unknown) => void;
  readonly now?: () => number;
}

const SPEAK_INTERVAL_MS = 1000;

/**
 * Shows each ledger that this process lives, so that one that goes back waits for it; and says again to
 * one that went back what it told.
 */
export class Presence {
  /** How often each ledger went back, while what was told was not said again yet. */
  readonly #unsaid = new Map<number, number>();
  readonly #speaking = new Set<number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly options: PresenceOptions) {
    options.store.onEpochChange((chainId) => {
      this.#sayAgain(chainId);
    });
  }

  /** Before anything is told. @throws RedisUnavailableError */
  async start(chainIds: readonly number[]): Promise<void> {
    await Promise.all(chainIds.map((chainId) => this.#speak(chainId)));
    this.#timer = setInterval(() => {
      for (const chainId of chainIds) void this.speak(chainId);
    }, SPEAK_INTERVAL_MS).unref();
  }

  /** It is forgotten by its silence: what it told last may still have to be said again by nobody else. */
  stop(): void {
    clearInterval(this.#timer);
  }

  /** Never fails: a word that is missed is made up for by the next one. */
  async speak(chainId: number): Promise<void> {
    if (this.#speaking.has(chainId)) return;
    this.#speaking.add(chainId);
    try {
      await this.#speak(chainId);
    } catch (error) {
      const isPassing =
        error instanceof RedisUnavailableError || error instanceof LedgerEpochChangedError;
      if (!isPassing) this.options.onTrouble(error);
    } finally {
      this.#speaking.delete(chainId);
    }
  }

  async #speak(chainId: number): Promise<void> {
    const { store, processId, answers, now = () => performance.now() } = this.options;
    const at = now();
    await store.speak(chainId, processId, () => !this.#unsaid.has(chainId));
    if (this.#unsaid.has(chainId)) return;
    for (const one of answers) one.heard(chainId, at);
  }

  #sayAgain(chainId: number): void {
    const round = (this.#unsaid.get(chainId) ?? 0) + 1;
    this.#unsaid.set(chainId, round);
    let left = this.options.answers.length;
    for (const one of this.options.answers) {
      void one.restate(chainId, () => {
        left -= 1;
        if (left > 0 || this.#unsaid.get(chainId) !== round) return;
        this.#unsaid.delete(chainId);
        void this.speak(chainId);
      });
    }
  }
}
