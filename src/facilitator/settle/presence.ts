import { LedgerEpochChangedError, RedisUnavailableError } from '../../protocol/errors.js';
import type { SettlementStore } from '../../settlement/ledger/settlement-store.js';
import type { RecentAnswers } from './recent-answers.js';

type Answers = Pick<RecentAnswers<never>, 'replay' | 'heard'>;

const SPEAK_INTERVAL_MS = 1000;

/**
 * Shows each ledger that this process lives, so that one that goes back waits for it; and says again to
 * one that went back what it told.
 */
export class Presence {
  /** How often each ledger went back, while the acknowledged answers were not replayed yet. */
  readonly #unsaid = new Map<number, number>();
  readonly #speaking = new Set<number>();
  #timer: NodeJS.Timeout | undefined;

  /** @param answers - what this process has told lately. */
  constructor(
    private readonly store: Pick<SettlementStore, 'speak' | 'onEpochChange'>,
    private readonly processId: string,
    private readonly answers: readonly Answers[],
    private readonly onTrouble: (error: unknown) => void,
    private readonly now: () => number = () => performance.now(),
  ) {
    store.onEpochChange((chainId) => {
      this.#sayAgain(chainId);
    });
  }

  /** Runs before the first answer. @throws RedisUnavailableError */
  async start(chainIds: readonly number[]): Promise<void> {
    await Promise.all(chainIds.map((chainId) => this.#speak(chainId)));
    this.#timer = setInterval(() => {
      for (const chainId of chainIds) void this.speak(chainId);
    }, SPEAK_INTERVAL_MS).unref();
  }

  /** The ledger forgets a silent process by itself: it may still have to wait for the last answers of this one. */
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
      if (!isPassing) this.onTrouble(error);
    } finally {
      this.#speaking.delete(chainId);
    }
  }

  async #speak(chainId: number): Promise<void> {
    const at = this.now();
    await this.store.speak(chainId, this.processId, () => !this.#unsaid.has(chainId));
    if (this.#unsaid.has(chainId)) return;
    for (const one of this.answers) one.heard(chainId, at);
  }

  #sayAgain(chainId: number): void {
    const round = (this.#unsaid.get(chainId) ?? 0) + 1;
    this.#unsaid.set(chainId, round);
    let left = this.answers.length;
    for (const one of this.answers) {
      void one.replay(chainId, () => {
        left -= 1;
        if (left > 0 || this.#unsaid.get(chainId) !== round) return;
        this.#unsaid.delete(chainId);
        void this.speak(chainId);
      });
    }
  }
}
