import { delay } from '../../platform/concurrency/timing.js';
import type { Requester } from '../../settlement/ledger/requester.js';
import type { ClaimRef } from '../../settlement/ledger/settlement-store.js';

/** An answer is kept for so long after the ledger has last answered from its old state. */
const KEPT_MS = 120_000;
/** Claims. */
const KEPT_MAX = 10_000;
/** Of one claim: a key that comes back without end pushes out nothing of others. The first one and the last stay. */
const REQUESTERS_MAX = 8;
/** Replays at a time, so that a ledger that has just come back is not flooded. */
const TOGETHER = 100;
/**
 * Claims that the ledger lost are stored again by the lanes that follow them, once these hold their leases again.
 * Until the grace of a sale is over no other requester can get its sale.
 */
const AGAIN_MS = 2000;
/** A ledger that has just come back may not answer at once. */
const FIRST_AGAIN_MS = 250;
const TRIES = 17;

interface Answer {
  readonly ref: ClaimRef;
  /** Where it was for this one alone. */
  readonly requester?: Pick<Requester, 'id'>;
}

/** The answers about one claim, by requester. */
interface RecentAnswer<T> {
  readonly chainId: number;
  readonly answers: Map<string, T>;
  readonly at: number;
}

/** Answers of one kind that this process has given lately, so that a ledger that went back learns of them again. */
export class RecentAnswers<T extends Answer> {
  /** How often the ledger of a chain went back. */
  readonly #rounds = new Map<number, number>();
  readonly #kept = new Map<string, RecentAnswer<T>>();
  /** When the ledger of a chain last showed itself as it was. */
  readonly #heardAt = new Map<number, number>();

  /** @param say - tells the ledger. Says whether it knows then; if not, it may learn of the claim later. */
  constructor(
    private readonly say: (answer: T) => Promise<boolean>,
    private readonly onTrouble: (error: unknown) => void,
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
   * The ledger of a chain has answered, and has not gone back. While it is away no answer is dropped, however long
   * that takes: the ledger may come back without its last changes.
   *
   * @param at - when it was asked.
   */
  heard(chainId: number, at: number): void {
    this.#heardAt.set(chainId, at);
  }

  #isOver({ chainId, at }: RecentAnswer<T>): boolean {
    const heardAt = this.#heardAt.get(chainId);
    return heardAt !== undefined && heardAt - at > KEPT_MS;
  }

  /** The answers to other requesters stay. */
  takenBack(answer: T): void {
    const { id } = answer.ref;
    const answers = this.#kept.get(id)?.answers;
    answers?.delete(requesterOf(answer));
    if (answers?.size === 0) this.#kept.delete(id);
  }

  #has(answer: T): boolean {
    return this.#kept.get(answer.ref.id)?.answers.has(requesterOf(answer)) === true;
  }

  /**
   * The ledger of a chain went back: all answers based on it are replayed, also for claims that it gets later.
   *
   * @param onReplayed - called once each answer was replayed, whether the ledger knew its claim or not.
   */
  async replay(chainId: number, onReplayed: () => void = () => undefined): Promise<void> {
    const round = (this.#rounds.get(chainId) ?? 0) + 1;
    this.#rounds.set(chainId, round);
    const isNewest = (): boolean => this.#rounds.get(chainId) === round;
    let missing = [...this.#kept.values()]
      .filter((kept) => kept.chainId === chainId && !this.#isOver(kept))
      .flatMap(({ answers }) => [...answers.values()]);
    let hasSaid = false;
    for (let tries = 0; !hasSaid || (tries < TRIES && missing.length > 0); tries += 1) {
      if (tries > 0) await this.sleep(Math.min(AGAIN_MS, FIRST_AGAIN_MS * 2 ** (tries - 1)));
      // It went back once more: what follows that says everything again.
      if (!isNewest()) return;
      const replayed = await this.#replayAll(missing, isNewest);
      missing = replayed.missing;
      if (hasSaid || replayed.hasFailed || !isNewest()) continue;
      hasSaid = true;
      onReplayed();
    }
  }

  /** @returns those that the ledger does not have, and whether some did not reach it. */
  async #replayAll(
    answers: readonly T[],
    isNewest: () => boolean,
  ): Promise<{ readonly missing: T[]; readonly hasFailed: boolean }> {
    const missing: T[] = [];
    let hasFailed = false;
    for (let from = 0; from < answers.length && isNewest(); from += TOGETHER) {
      await Promise.all(
        answers.slice(from, from + TOGETHER).map(async (answer) => {
          // Taken back meanwhile: repeated, it would be kept for a requester that had no answer.
          if (!this.#has(answer)) return;
          try {
            if (!(await this.say(answer)) && this.#has(answer)) missing.push(answer);
          } catch (error) {
            this.onTrouble(error);
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
