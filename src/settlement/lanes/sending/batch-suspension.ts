/** Reverted batches of an asset within this time stop its batching for as long. */
const PERIOD_MS = 10 * 60_000;
const REVERTS_MAX = 2;

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
