/** Pauses after failed tries, milliseconds. */
const PAUSES_MS = [250, 1000] as const;
/** Limit of failed tries. */
const MOST = 3;

interface Tried {
  count: number;
  /** By the steady clock. */
  notBefore: number;
  /** The newest block at the last try that was counted. */
  atBlock: bigint;
}

/**
 * Counts failed tries by key. A try counts when there is a newer block than at the previous one: while a chain stands
 * still or does not answer, the subject is not at fault.
 */
export class Tries {
  readonly #tried = new Map<string, Tried>();

  mayTry(key: string, now: number): boolean {
    return now >= (this.#tried.get(key)?.notBefore ?? 0);
  }

  /** @returns whether that was the last try. */
  failed(key: string, now: number, block: bigint): boolean {
    const tried = this.#tried.get(key) ?? { count: 0, notBefore: 0, atBlock: -1n };
    if (block > tried.atBlock) {
      tried.count += 1;
      tried.atBlock = block;
    }
    tried.notBefore = now + (PAUSES_MS[tried.count - 1] ?? PAUSES_MS[1]);
    this.#tried.set(key, tried);
    return tried.count >= MOST;
  }

  /** Nothing was tried; it can be tried from this time of the steady clock on. */
  wait(key: string, until: number): void {
    const tried = this.#tried.get(key) ?? { count: 0, notBefore: 0, atBlock: -1n };
    tried.notBefore = until;
    this.#tried.set(key, tried);
  }

  forget(key: string): void {
    this.#tried.delete(key);
  }

  clear(): void {
    this.#tried.clear();
  }
}
