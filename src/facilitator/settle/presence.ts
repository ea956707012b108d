import { LedgerEpochChangedError, RedisUnavailableError } from '../../protocol/errors.js';
import type { SettlementStore } from '../../settlement/ledger/settlement-store.js';
import type { RecentAnswers } from './recent-answers.js';

type Answers = Pick<RecentAnswers<never>, 'replay' | 'heard'>;

const HEARTBEAT_INTERVAL_MS = 1000;

/**
 * Tells each ledger that this process lives, so that a ledger that lost its newest writes waits for it, and replays the
 * acknowledged answers to such a ledger.
 */
export class Presence {
  /** How often each ledger lost writes for which the acknowledged answers are not replayed yet. */
  readonly #unreplayed = new Map<number, number>();
  readonly #beating = new Map<number, Promise<void>>();
  #chainIds: readonly number[] = [];
  #timer: NodeJS.Timeout | undefined;
  #hasEnded = false;

  /** @param answers - the recent answers of this process. */
  constructor(
    private readonly store: Pick<SettlementStore, 'heartbeat' | 'depart' | 'onEpochChange'>,
    private readonly processId: string,
    private readonly answers: readonly Answers[],
    private readonly onError: (error: unknown) => void,
    private readonly now: () => number = () => performance.now(),
  ) {
    store.onEpochChange((chainId) => {
      this.#replay(chainId);
    });
  }

  /** Runs before the first answer. @throws RedisUnavailableError */
  async start(chainIds: readonly number[]): Promise<void> {
    await Promise.all(chainIds.map((chainId) => this.#heartbeat(chainId)));
    this.#chainIds = chainIds;
    this.#timer = setInterval(() => {
      for (const chainId of chainIds) void this.heartbeat(chainId);
    }, HEARTBEAT_INTERVAL_MS).unref();
  }

  /** The ledger forgets a silent process by itself, and may still have to wait for the last answers of this one. */
  stop(): void {
    clearInterval(this.#timer);
    this.#hasEnded = true;
  }

  /**
   * The last step of a process that has finished all its work, so that no ledger waits for it. A ledger that lost
   * writes and lacks some of its answers still waits.
   */
  async depart(): Promise<void> {
    this.stop();
    // A heartbeat in progress would register this process again.
    await Promise.all(this.#beating.values());
    await Promise.all(
      this.#chainIds.map((chainId) =>
        this.#passing(() =>
          this.store.depart(chainId, this.processId, () => !this.#unreplayed.has(chainId)),
        ),
      ),
    );
  }

  /** Never fails: the next heartbeat replaces a missed one. */
  async heartbeat(chainId: number): Promise<void> {
    if (this.#hasEnded || this.#beating.has(chainId)) return;
    const beat = this.#passing(() => this.#heartbeat(chainId)).finally(() => {
      this.#beating.delete(chainId);
    });
    this.#beating.set(chainId, beat);
    await beat;
  }

  async #passing(step: () => Promise<void>): Promise<void> {
    try {
      await step();
    } catch (error) {
      const isTransient =
        error instanceof RedisUnavailableError || error instanceof LedgerEpochChangedError;
      if (!isTransient) this.onError(error);
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
