/** The size that every body may have outside the shared budget: nearly all are shorter. */
export const FREE_BODY_BYTES = 65_536;

/**
 * Bytes that long bodies may take of this process's memory together. Each is bounded by itself; that many
 * of them come at once is not, and short ones must not suffer from it.
 */
export class ByteBudget {
  #left: number;

  constructor(maxBytes: number) {
    this.#left = maxBytes;
  }

  get left(): number {
    return this.#left;
  }

  /** @returns `false`, and takes nothing, where there are not that many left. */
  take(bytes: number): boolean {
    if (bytes > this.#left) return false;
    this.#left -= bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#left += bytes;
  }
}

/** Of all doors of this process together, until the requests are answered. */
export const LONG_BODIES = new ByteBudget(67_108_864);

/** The part of a budget that one body takes as it arrives. */
export class BodyShare {
  #size = 0;
  #taken = 0;
  #isOver = false;

  constructor(
    private readonly budget: ByteBudget,
    private readonly freeBytes = FREE_BODY_BYTES,
  ) {}

  /** @returns whether there is room for a piece of the body; never once it was released. */
  add(bytes: number): boolean {
    if (this.#isOver) return false;
    this.#size += bytes;
    const more = Math.max(0, this.#size - this.freeBytes) - this.#taken;
    if (more <= 0) return true;
    if (!this.budget.take(more)) return false;
    this.#taken += more;
    return true;
  }

  /** The bytes so far are out of memory; more may come. */
  empty(): void {
    this.budget.giveBack(this.#taken);
    this.#taken = 0;
    this.#size = 0;
  }

  /** To be called when the body, and what was made of it, is out of use. */
  release(): void {
    this.#isOver = true;
    this.empty();
  }
}
