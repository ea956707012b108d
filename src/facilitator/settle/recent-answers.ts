import { delay } from '../../platform/concurrency/timing.js';
import type { Requester } from '../../settlement/ledger/requester.js';
import type { ClaimRef } from '../../settlement/ledger/settlement-store.js';

/** An answer is kept for this long after the ledger last showed that it has not lost writes. */
const KEPT_MS = 120_000;
/** Number of claims. */
const KEPT_MAX = 10_000;
/**
 * Requesters of one claim. A key that returns without end evicts no other claim's answers. The first and the last
 * requester stay.
 */
const REQUESTERS_MAX = 8;
/** Replays at a time, so that a ledger that has just come back is not flooded. */
const TOGETHER = 100;
/**
 * The lanes store lost claims again once they hold their leases. Until the grace of a sale is over, no other requester
 * can get its sale.
 */
const AGAIN_MS = 2000;
/** A ledger that has just come back may not answer at once. */
const FIRST_AGAIN_MS = 250;
const TRIES = 17;

interface Answer {
  readonly ref: ClaimRef;
  /** Present where the answer was for one requester alone. */
  readonly requester?: Pick<Requester, 'id'>;
}

/** The answers about one claim, by requester. */
interface RecentAnswer<T> {
  readonly chainId: number;
  readonly answers: Map<string, T>;
  readonly at: number;
}

/**
 * Answers of one kind that this process has given recently, so that they can be replayed to a ledger that lost its
 * newest writes.
 */
export class RecentAnswers<T extends Answer> {
  /** How often the ledger of a chain lost writes. */
  readonly #rounds = new Map<number, number>();
  readonly #kept = new Map<string, RecentAnswer<T>>();
  /** When the ledger of a chain last showed that it had lost no writes. */
  readonly #heardAt = new Map<number, number>();

  /**
   * @param say - replays one answer. Returns whether the ledger has its claim; if not, the ledger may get the claim
   * later.
   */
  constructor(
    private readonly say: (answer: T) => Promise<boolean>,
    private readonly onError: (error: unknown) => void,
    private readonly now: () => number = () => performance.now(),
    private readonly sleep: (ms: number) => Promise<void> = delay,
  ) {}

  note(answer: T): void {
    const { id, chainId } = answer.ref;
    const answers = this.#kept.get(id)?.answers ?? new Map<string, T>();
    const [, second] = answers.keys();
    if (answers.size >= REQUESTERS_MAX && second !== undefined) answers.delete(second);
    answers.set(requesterOf(answer), answer);
    this.#kept.delete(id);
    this.#kept.set(id, { chainId, answers, at: this.now() });
    for (const [oldest, kept] of this.#kept) {
      if (this.#kept.size <= KEPT_MAX && !this.#isOver(kept)) break;
      this.#kept.delete(oldest);
    }
  }

  /**
   * The ledger of a chain has answered and has lost no writes. During an outage no answer is dropped, however long it
   * lasts, because the ledger may return without its last writes.
   *
   * @param at - when the ledger was asked.
   */
  heard(chainId: number, at: number): void {
    this.#heardAt.set(chainId, at);
  }

  #isOver({ chainId, at }: RecentAnswer<T>): boolean {
    const heardAt = this.#heardAt.get(chainId);
    return heardAt !== undefined && heardAt - at > KEPT_MS;
  }

  /** The answers to other requesters stay. */
  withdrawn(answer: T): void {
    const { id } = answer.ref;
    const answers = this.#kept.get(id)?.answers;
    answers?.delete(requesterOf(answer));
    if (answers?.size === 0) this.#kept.delete(id);
  }

  #has(answer: T): boolean {
    return this.#kept.get(answer.ref.id)?.answers.has(requesterOf(answer)) === true;
  }

  /**
   * The ledger of a chain lost writes: all answers that depend on them are replayed, also for claims that the ledger
   * gets later.
   *
   * @param onReplayed - called after each answer was replayed, whether or not the ledger has its claim.
   */
  async replay(chainId: number, onReplayed: () => void = () => undefined): Promise<void> {
    const round = (this.#rounds.get(chainId) ?? 0) + 1;
    this.#rounds.set(chainId, round);
    const isNewest = (): boolean => this.#rounds.get(chainId) === round;
    let missing = [...this.#kept.values()]
      .filter((kept) => kept.chainId === chainId && !this.#isOver(kept))
      .flatMap(({ answers }) => [...answers.values()]);
    let hasReplayed = false;
    for (let tries = 0; !hasReplayed || (tries < TRIES && missing.length > 0); tries += 1) {
      if (tries > 0) await this.sleep(Math.min(AGAIN_MS, FIRST_AGAIN_MS * 2 ** (tries - 1)));
      // The ledger lost writes once more: the replay of that loss repeats everything.
      if (!isNewest()) return;
      const replayed = await this.#replayAll(missing, isNewest);
      missing = replayed.missing;
      if (hasReplayed || replayed.hasFailed || !isNewest()) continue;
      hasReplayed = true;
      onReplayed();
    }
  }

  /** @returns the answers whose claims the ledger does not have, and whether some answers did not reach it. */
  async #replayAll(
    answers: readonly T[],
    isNewest: () => boolean,
  ): Promise<{ readonly missing: T[]; readonly hasFailed: boolean }> {
    const missing: T[] = [];
    let hasFailed = false;
    for (let from = 0; from < answers.length && isNewest(); from += TOGETHER) {
      await Promise.all(
        answers.slice(from, from + TOGETHER).map(async (answer) => {
          // The answer was rolled back meanwhile. A replay would reserve the sale for a requester that got no answer.
          if (!this.#has(answer)) return;
          try {
            if (!(await this.say(answer)) && this.#has(answer)) missing.push(answer);
          } catch (error) {
            this.onError(error);
            missing.push(answer);
            hasFailed = true;
          }
        }),
      );
    }
    return { missing, hasFailed };
  }
}

const requesterOf = ({ requester }: Answer): string => requester?.id ?? '';
