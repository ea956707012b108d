/**
 * Complete uploads that are not in the index yet, and the reserved space of uploads, by owner. It holds only owners
 * with such uploads.
 */
export class UnderWay {
  readonly #byOwner = new Map<string, number>();
  #objects = 0;

  /** @returns the number of others. */
  addObject(): number {
    this.#objects += 1;
    return this.#objects - 1;
  }

  removeObject(): void {
    this.#objects -= 1;
  }

  /** @returns bytes of this owner, including these. */
  grant(owner: string, bytes: number): number {
    const granted = (this.#byOwner.get(owner) ?? 0) + bytes;
    this.#byOwner.set(owner, granted);
    return granted;
  }

  release(owner: string, bytes: number): void {
    const left = (this.#byOwner.get(owner) ?? 0) - bytes;
    if (left > 0) this.#byOwner.set(owner, left);
    else this.#byOwner.delete(owner);
  }
}
