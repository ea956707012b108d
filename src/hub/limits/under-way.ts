/** What was under way when an upload began, and the end of that upload. */
export interface Begun {
  /** Uploads of all owners, their bytes, and those of the same owner. */
  readonly objects: number;
  readonly bytes: number;
  readonly ownBytes: number;
  /** To be called once. */
  readonly end: () => void;
}

/** Uploads that are not in the index yet. It holds no more than there are of them. */
export class UnderWay {
  readonly #byOwner = new Map<string, number>();
  #objects = 0;
  #bytes = 0;

  begin(owner: string, bytes: number): Begun {
    const ownBytes = this.#byOwner.get(owner) ?? 0;
    const before = { objects: this.#objects, bytes: this.#bytes, ownBytes };
    this.#objects += 1;
    this.#bytes += bytes;
    this.#byOwner.set(owner, ownBytes + bytes);
    return {
      ...before,
      end: () => {
        this.#end(owner, bytes);
      },
    };
  }

  #end(owner: string, bytes: number): void {
    this.#objects -= 1;
    this.#bytes -= bytes;
    const left = (this.#byOwner.get(owner) ?? 0) - bytes;
    if (left > 0) this.#byOwner.set(owner, left);
    else this.#byOwner.delete(owner);
  }
}
