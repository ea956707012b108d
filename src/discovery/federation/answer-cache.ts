interface Kept<T> {
  readonly value: T;
  readonly bytes: number;
  readonly at: number;
}

export interface AnswerCacheBounds {
  /** Milliseconds for which an answer serves. */
  readonly keptMs: number;
  /** As they came, of all together. */
  readonly maxBytes: number;
  readonly maxAnswers: number;
}

/** Answers for a short time, by what was asked; the oldest gives way. */
export class AnswerCache<T> {
  /** In the order in which they came, which is that of their age. */
  readonly #answers = new Map<string, Kept<T>>();
  #bytes = 0;

  constructor(
    private readonly bounds: AnswerCacheBounds,
    private readonly steady: () => number,
  ) {}

  get(name: string): T | undefined {
    const kept = this.#answers.get(name);
    if (kept === undefined) return undefined;
    if (this.steady() - kept.at < this.bounds.keptMs) return kept.value;
    this.#drop(name, kept);
    return undefined;
  }

  set(name: string, value: T, bytes: number): void {
    const before = this.#answers.get(name);
    if (before !== undefined) this.#drop(name, before);
    this.#answers.set(name, { value, bytes, at: this.steady() });
    this.#bytes += bytes;
    for (const [oldest, kept] of this.#answers) {
      const { maxAnswers, maxBytes } = this.bounds;
      if (this.#answers.size <= maxAnswers && this.#bytes <= maxBytes) return;
      this.#drop(oldest, kept);
    }
  }

  #drop(name: string, { bytes }: Kept<T>): void {
    this.#answers.delete(name);
    this.#bytes -= bytes;
  }
}
