import type { Queue } from 'bullmq';

/** A job says which settlement to work on; everything else is in the ledger. */
export interface SettlementJob {
  readonly settlementId: string;
}

/** One queue per chain. BullMQ allows no `:` in its name. */
export const queueNameOf = (chainId: number): string => `settle-${chainId}`;

/**
 * Brings claimed settlements to a process that holds a lane of their chain. Jobs added in one turn of
 * the event loop are added together.
 */
export class SettlementQueue {
  #waiting: { readonly settlementId: string; readonly generation: string }[] = [];
  #added: Promise<void> | undefined;

  constructor(private readonly queue: Queue<SettlementJob>) {}

  /** @param generation - tells two claims of one settlement apart: a job id is used once. */
  add(settlementId: string, generation: string): Promise<void> {
    this.#waiting.push({ settlementId, generation });
    this.#added ??= Promise.resolve().then(() => this.#flush());
    return this.#added;
  }

  async #flush(): Promise<void> {
    const claims = this.#waiting;
    this.#waiting = [];
    this.#added = undefined;
    await this.queue.addBulk(
      claims.map(({ settlementId, generation }) => ({
        name: 'settle',
        data: { settlementId },
        opts: {
          jobId: `${settlementId}~${generation}`,
          removeOnComplete: true,
          removeOnFail: true,
        },
      })),
    );
  }
}
