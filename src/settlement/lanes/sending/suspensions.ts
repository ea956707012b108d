/** Faults of an asset within this time suspend it for as long. */
const PERIOD_MS = 10 * 60_000;
/** Successes without evidence. */
const SUCCESSES_MAX = 3;
/** Batches of it. */
const REVERTS_MAX = 2;
/** Anybody can make tokens, so the oldest entry is dropped. */
const ASSETS_MAX = 4096;

/**
 * Assets whose transactions succeeded without paying: they accept any call, or can tell a simulation from a
 * transaction. Each such transaction costs gas, and no payer is at fault.
 */
export class AssetSuspension {
  readonly #noted = new Map<string, readonly number[]>();

  /**
   * A transaction was final and successful, without evidence of this asset's payment.
   *
   * @param asset - `eip155:56/0x…`.
   */
  noteWithoutEvidence(asset: string): void {
    const recent = [...this.#recent(asset), Date.now()].slice(-SUCCESSES_MAX);
    this.#noted.delete(asset);
    const [oldest] = this.#noted.keys();
    if (oldest !== undefined && this.#noted.size >= ASSETS_MAX) this.#noted.delete(oldest);
    this.#noted.set(asset, recent);
  }

  isSuspended(asset: string): boolean {
    return this.#recent(asset).length >= SUCCESSES_MAX;
  }

  /** For the other processes, so that they refuse these assets early. */
  get suspended(): readonly string[] {
    return [...this.#noted.keys()].filter((asset) => this.isSuspended(asset));
  }

  #recent(asset: string): readonly number[] {
    const earliest = Date.now() - PERIOD_MS;
    return (this.#noted.get(asset) ?? []).filter((at) => at > earliest);
  }
}

/** Remembers assets that made batches fail recently: their payments are sent alone for a while. */
export class BatchSuspension {
  readonly #reverts = new Map<string, number[]>();

  noteRevert(asset: string): void {
    this.#reverts.set(asset, [...this.#recent(asset), Date.now()]);
  }

  isSuspended(asset: string): boolean {
    return this.#recent(asset).length >= REVERTS_MAX;
  }

  #recent(asset: string): number[] {
    const earliest = Date.now() - PERIOD_MS;
    return (this.#reverts.get(asset) ?? []).filter((at) => at > earliest);
  }
}
