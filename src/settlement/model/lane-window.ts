/** Attempts in flight that a lane starts with: enough for a busy start, few enough to repair by hand. */
const WINDOW_START = 16;

/**
 * How many attempts a lane may have in flight: more while the chain takes them smoothly, half when it
 * stalls. A signer with code (EIP-7702) has one, for nodes keep no more of such an account.
 */
export class LaneWindow {
  #size: number;

  constructor(
    private readonly max: number,
    private readonly isSignerWithCode: boolean,
  ) {
    this.#size = isSignerWithCode ? 1 : Math.min(WINDOW_START, max);
  }

  get size(): number {
    return this.#size;
  }

  /** @param count - attempts that a block has just included within a block or two of being sent. */
  grow(count: number): void {
    if (!this.isSignerWithCode) this.#size = Math.min(this.max, this.#size + count);
  }

  shrink(): void {
    this.#size = Math.max(1, Math.floor(this.#size / 2));
  }
}
