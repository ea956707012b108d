/** What every body may take by itself: nearly all that are sent are shorter. */
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

/** The part of a budget that one body takes as it arrives. */
export class BodyShare {
  #size = 0;
  #taken = 0;

  constructor(private readonly budget: ByteBudget) {}

  /** @returns whether there is room for a piece of the body. */
  add(bytes: number): boolean {
    this.#size += bytes;
    const more = Math.max(0, this.#size - FREE_BODY_BYTES) - this.#taken;
    if (more <= 0) return true;
    if (!this.budget.take(more)) return false;
    this.#taken += more;
    return true;
  }

  /** @returns whether there is room for a body of so many bytes in all. */
  grow(bytes: number): boolean {
    return bytes <= this.#size || this.add(bytes - this.#size);
  }

  /** To be called when the body, and what was made of it, is out of use. */
  release(): void {
    this.budget.giveBack(this.#taken);
    this.#taken = 0;
  }
}
