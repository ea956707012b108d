/** Counts of one operation since the process began. */
interface OperationStats {
  readonly count: number;
  /** Bytes of payloads. */
  readonly bytes: number;
}

export type HubOperation = 'upload' | 'download' | 'remove';

/**
 * The result of a request for a priced file: a 402; a payment that was settled, or never will be; or one in progress. A
 * repeat of an earlier sale is not counted.
 */
export type SaleStep = 'offered' | 'sold' | 'failed' | 'pending';

/** Counters, read by health and metrics. */
export class HubStats {
  readonly #operations = new Map<HubOperation, { count: number; bytes: number }>();
  readonly #sales = new Map<SaleStep, number>();
  #damaged = 0;
  #freedBytes = 0;

  note(operation: HubOperation, bytes = 0): void {
    const stats = this.#operations.get(operation) ?? { count: 0, bytes: 0 };
    this.#operations.set(operation, stats);
    stats.count += 1;
    stats.bytes += bytes;
  }

  noteSale(step: SaleStep): void {
    this.#sales.set(step, this.sales(step) + 1);
  }

  sales(step: SaleStep): number {
    return this.#sales.get(step) ?? 0;
  }

  noteFreed(bytes: number): void {
    this.#freedBytes += bytes;
  }

  /** Bytes of unreferenced payloads that this process has freed. */
  get freedBytes(): number {
    return this.#freedBytes;
  }

  noteDamaged(): void {
    this.#damaged += 1;
  }

  of(operation: HubOperation): OperationStats {
    return { count: 0, bytes: 0, ...this.#operations.get(operation) };
  }

  /** Payloads whose bytes did not match their hash when read. */
  get damaged(): number {
    return this.#damaged;
  }
}
