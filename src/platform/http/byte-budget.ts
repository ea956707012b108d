/** Size up to which a body does not use the shared budget; nearly all bodies are shorter. */
export const FREE_BODY_BYTES = 65_536;

/**
 * Limits the memory of all long bodies in this process together. The size of a body is limited separately, and short
 * bodies must not suffer from many long ones.
 */
export class ByteBudget {
  #left: number;

  constructor(maxBytes: number) {
    this.#left = maxBytes;
  }

  get left(): number {
    return this.#left;
  }

  /** @returns `false` without any change if not enough bytes are left. */
  take(bytes: number): boolean {
    if (bytes > this.#left) return false;
    this.#left -= bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#left += bytes;
  }
}

/** The budget of all servers of this process, until the requests are answered. */
export const LONG_BODIES = new ByteBudget(67_108_864);

/** The share of one arriving body in a budget. */
export class BodyShare {
  #size = 0;
  #taken = 0;
  #isOver = false;

  constructor(
    private readonly budget: ByteBudget,
    private readonly freeBytes = FREE_BODY_BYTES,
  ) {}

  /** @returns whether there is room for another piece; never after a release. */
  add(bytes: number): boolean {
    if (this.#isOver) return false;
    this.#size += bytes;
    const more = Math.max(0, this.#size - this.freeBytes) - this.#taken;
    if (more <= 0) return true;
    if (!this.budget.take(more)) return false;
    this.#taken += more;
    return true;
  }

  /** The received bytes have left memory; more may arrive. */
  empty(): void {
    this.budget.giveBack(this.#taken);
    this.#taken = 0;
    this.#size = 0;
  }

  /** Call this when the body and everything made from it is out of use. */
  release(): void {
    this.#isOver = true;
    this.empty();
  }
}
