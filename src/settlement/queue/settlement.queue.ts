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
  #waiting: string[] = [];
  #added: Promise<void> | undefined;

  constructor(private readonly queue: Pick<Queue<SettlementJob>, 'addBulk'>) {}

  /** @param settlementId - names one claim, so that a job id is used once. */
  add(settlementId: string): Promise<void> {
    this.#waiting.push(settlementId);
    this.#added ??= Promise.resolve().then(() => this.#flush());
    return this.#added;
  }

  async #flush(): Promise<void> {
    const ids = this.#waiting;
    this.#waiting = [];
    this.#added = undefined;
    await this.queue.addBulk(
      ids.map((settlementId) => ({
        name: 'settle',
        data: { settlementId },
        opts: { jobId: settlementId, removeOnComplete: true, removeOnFail: true },
      })),
    );
  }
}
