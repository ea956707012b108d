import { delay } from '../../platform/concurrency/timing.js';
import type { ClaimRef } from '../../settlement/ledger/settlement-store.js';

/** What was told is said again to a ledger that went back within this time. */
const KEPT_MS = 120_000;
const KEPT_MAX = 10_000;
/** Said again together, so that a ledger that has just come back is not flooded. */
const TOGETHER = 100;
/**
 * Claims that the ledger lost are stored again by the lanes that follow them, once their leases are theirs.
 * Until the grace of a sale is over nobody else can be sold one of those.
 */
const AGAIN_MS = 2000;
/** A ledger that has just come back may not answer at once. */
const FIRST_AGAIN_MS = 250;
const TRIES = 17;

/** Answers of one kind that this process has given lately, so that a ledger that went back learns of them again. */
export class RecentAnswers<T extends { readonly ref: ClaimRef }> {
  /** How often the ledger of a chain went back. */
  readonly #rounds = new Map<number, number>();
  readonly #answers = new Map<string, { readonly answer: T; readonly at: number }>();

  /** @param say - tells the ledger. Says whether it knows then; if not, it may learn of the claim later. */
  constructor(
    private readonly say: (answer: T) => Promise<boolean>,
    private readonly onTrouble: (error: unknown) => void,
    private readonly now: () => number = () => performance.now(),
    private readonly sleep: (ms: number) => Promise<void> = delay,
  ) {}

  note(answer: T): void {
    const key = answer.ref.id;
    this.#answers.delete(key);
    this.#answers.set(key, { answer, at: this.now() });
    for (const [oldest, { at }] of this.#answers) {
      if (this.#answers.size <= KEPT_MAX && this.now() - at <= KEPT_MS) break;
      this.#answers.delete(oldest);
    }
  }

  takenBack(id: string): void {
    this.#answers.delete(id);
  }

  /** The ledger of a chain went back: it is told what was answered on it, also of what it learns of later. */
  async restate(chainId: number): Promise<void> {
    const round = (this.#rounds.get(chainId) ?? 0) + 1;
    this.#rounds.set(chainId, round);
    const isNewest = (): boolean => this.#rounds.get(chainId) === round;
    let missing = [...this.#answers.values()]
      .filter(({ answer, at }) => answer.ref.chainId === chainId && this.now() - at <= KEPT_MS)
      .map(({ answer }) => answer);
    for (let tries = 0; tries < TRIES && missing.length > 0; tries += 1) {
      if (tries > 0) await this.sleep(Math.min(AGAIN_MS, FIRST_AGAIN_MS * 2 ** (tries - 1)));
      // It went back once more: what follows that says everything again.
      if (!isNewest()) return;
      missing = await this.#restateAll(missing, isNewest);
    }
  }

  /** @returns those that the ledger does not have. */
  async #restateAll(answers: readonly T[], isNewest: () => boolean): Promise<T[]> {
    const missing: T[] = [];
    for (let from = 0; from < answers.length && isNewest(); from += TOGETHER) {
      await Promise.all(
        answers.slice(from, from + TOGETHER).map(async (answer) => {
          try {
            if (!(await this.say(answer)) && this.#answers.has(answer.ref.id)) {
              missing.push(answer);
            }
          } catch (error) {
            this.onTrouble(error);
            missing.push(answer);
          }
        }),
      );
    }
    return missing;
  }
}
