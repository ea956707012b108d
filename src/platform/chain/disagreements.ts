/** One endpoint's answer, which another endpoint contradicts. */
export interface EndpointStatement {
  readonly endpoint: string;
  /** Short, because it is logged. */
  readonly answer: string;
}

/** A subject without a contradiction for this long is settled. */
const QUIET_MS = 60_000;

/**
 * Subjects about which the endpoints of a chain disagree now. Each of them is logged once when it begins
 * and once when it ends.
 */
export class Disagreements {
  readonly #open = new Map<string, { last: number; times: number }>();

  /** @param now - milliseconds of a monotonic clock. */
  constructor(private readonly now: () => number = () => performance.now()) {}

  /** @returns whether the disagreement begins with this contradiction. */
  note(what: string): boolean {
    const open = this.#open.get(what);
    this.#open.set(what, { last: this.now(), times: (open?.times ?? 0) + 1 });
    return open === undefined;
  }

  /** @returns subjects whose disagreement has ended since the last call, with the number of contradictions. */
  takeEnded(): readonly { readonly what: string; readonly times: number }[] {
    const ended = [...this.#open].filter(([, { last }]) => this.now() - last >= QUIET_MS);
    for (const [what] of ended) this.#open.delete(what);
    return ended.map(([what, { times }]) => ({ what, times }));
  }
}
