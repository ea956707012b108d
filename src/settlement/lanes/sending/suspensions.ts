/** Faults of an asset within this time suspend it for as long. */
const PERIOD_MS = 10 * 60_000;
/** Successes without evidence. */
const SUCCESSES_MAX = 3;
/** Batches of it. */
const REVERTS_MAX = 2;
/** Anybody can make tokens: what was noted first is forgotten. */
const ASSETS_MAX = 4096;

/**
 * Assets whose transactions succeeded without paying: they take any call, or can distinguish a simulation from a
 * transaction. Each such transaction costs gas, and no payer can be blamed for it.
 */
export class AssetSuspension {
  readonly #noted = new Map<string, readonly number[]>();

  /**
   * A transaction was final and successful, and left no evidence of this asset's payment.
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

  /** For the other processes: what is refused here is refused before it comes here. */
  get suspended(): readonly string[] {
    return [...this.#noted.keys()].filter((asset) => this.isSuspended(asset));
  }

  #recent(asset: string): readonly number[] {
    const earliest = Date.now() - PERIOD_MS;
    return (this.#noted.get(asset) ?? []).filter((at) => at > earliest);
  }
}

/** Remembers which assets spoiled batches lately: their payments go alone for a while. */
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
