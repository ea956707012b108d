import { LedgerEpochChangedError, RedisUnavailableError } from '../../protocol/errors.js';
import type { SettlementStore } from '../../settlement/ledger/settlement-store.js';
import type { RecentAnswers } from './recent-answers.js';

type Answers = Pick<RecentAnswers<never>, 'replay' | 'heard'>;

const HEARTBEAT_INTERVAL_MS = 1000;

/**
 * Shows each ledger that this process lives, so that one that goes back waits for it; and says again to
 * one that went back what it told.
 */
export class Presence {
  /** How often each ledger went back, while the acknowledged answers were not replayed yet. */
  readonly #unreplayed = new Map<number, number>();
  readonly #beating = new Set<number>();
  #timer: NodeJS.Timeout | undefined;

  /** @param answers - what this process has told lately. */
  constructor(
    private readonly store: Pick<SettlementStore, 'heartbeat' | 'onEpochChange'>,
    private readonly processId: string,
    private readonly answers: readonly Answers[],
    private readonly onTrouble: (error: unknown) => void,
    private readonly now: () => number = () => performance.now(),
  ) {
    store.onEpochChange((chainId) => {
      this.#replay(chainId);
    });
  }

  /** Runs before the first answer. @throws RedisUnavailableError */
  async start(chainIds: readonly number[]): Promise<void> {
    await Promise.all(chainIds.map((chainId) => this.#heartbeat(chainId)));
    this.#timer = setInterval(() => {
      for (const chainId of chainIds) void this.heartbeat(chainId);
    }, HEARTBEAT_INTERVAL_MS).unref();
  }

  /** The ledger forgets a silent process by itself: it may still have to wait for the last answers of this one. */
  stop(): void {
    clearInterval(this.#timer);
  }

  /** Never fails: a word that is missed is made up for by the next one. */
  async heartbeat(chainId: number): Promise<void> {
    if (this.#beating.has(chainId)) return;
    this.#beating.add(chainId);
    try {
      await this.#heartbeat(chainId);
    } catch (error) {
      const isPassing =
        error instanceof RedisUnavailableError || error instanceof LedgerEpochChangedError;
      if (!isPassing) this.onTrouble(error);
    } finally {
      this.#beating.delete(chainId);
    }
  }

  async #heartbeat(chainId: number): Promise<void> {
    const at = this.now();
    await this.store.heartbeat(chainId, this.processId, () => !this.#unreplayed.has(chainId));
    if (this.#unreplayed.has(chainId)) return;
    for (const one of this.answers) one.heard(chainId, at);
  }

  #replay(chainId: number): void {
    const round = (this.#unreplayed.get(chainId) ?? 0) + 1;
    this.#unreplayed.set(chainId, round);
    let left = this.answers.length;
    for (const one of this.answers) {
      void one.replay(chainId, () => {
        left -= 1;
        if (left > 0 || this.#unreplayed.get(chainId) !== round) return;
        this.#unreplayed.delete(chainId);
        void this.heartbeat(chainId);
      });
    }
  }
}
