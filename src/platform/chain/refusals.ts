/**
 * Kinds of requests that an endpoint may be unable to answer: receipts, blocks by their numbers,
 * accounts and calls at one block (`state`), calls at the newest block.
 */
export const ABILITIES = ['receipts', 'blocks', 'state', 'calls'] as const;
export type Ability = (typeof ABILITIES)[number];

/** Consecutive refusals over this time that count as proof. */
const REFUSALS = 5;
const PERIOD_MS = 4000;
/** Refusals further apart belong to different problems. */
const GAP_MOST_MS = 10_000;

interface Run {
  count: number;
  readonly since: number;
  lastAt: number;
  /** The newest block of the endpoint at the first of them. */
  readonly head: bigint;
}

/**
 * Abilities that an endpoint has proved to lack: it refused data that it must have, several times in a row and for some
 * seconds, while its head moved. A slow endpoint stays in use. Any answer ends it.
 */
export class Refusals {
  readonly #runs = new Map<Ability, Run>();
  /** Each missing ability, with the time of the last refusal (milliseconds of `performance.now`). */
  readonly #proved = new Map<Ability, number>();

  constructor(private readonly onChange: (ability: Ability, isAnswered: boolean) => void) {}

  get proved(): readonly Ability[] {
    return [...this.#proved.keys()];
  }

  has(ability: Ability): boolean {
    return this.#proved.has(ability);
  }

  /** The missing abilities without a question for this many milliseconds. */
  unaskedFor(ms: number): readonly Ability[] {
    const now = performance.now();
    return this.proved.filter((ability) => now - (this.#proved.get(ability) ?? now) >= ms);
  }

  /** @param head - the number of the newest block it has shown. */
  refused(ability: Ability, head: bigint): void {
    const now = performance.now();
    const known = this.#runs.get(ability);
    const isInARow = known !== undefined && now - known.lastAt <= GAP_MOST_MS;
    const run = isInARow ? known : { count: 0, since: now, lastAt: now, head };
    this.#runs.set(ability, run);
    run.count += 1;
    run.lastAt = now;
    const isKnown = this.#proved.has(ability);
    const isProof = run.count >= REFUSALS && now - run.since >= PERIOD_MS && head > run.head;
    if (!isProof && !isKnown) return;
    this.#proved.set(ability, now);
    if (!isKnown) this.onChange(ability, false);
  }

  answered(ability: Ability): void {
    this.#runs.delete(ability);
    if (this.#proved.delete(ability)) this.onChange(ability, true);
  }
}
