import type { JobsOptions, Queue } from 'bullmq';
import { type JobObserver, NO_TRACES } from './job-observer.js';

/** A job says which settlement to work on; everything else is in the ledger. */
export interface SettlementJob {
  readonly settlementId: string;
  /** Span of the request that made it; see {@link JobObserver}. */
  readonly traceparent?: string;
}

/** One queue per chain. BullMQ allows no `:` in its name. */
export const queueNameOf = (chainId: number): string => `settle-${chainId}`;

/**
 * Brings claimed settlements to a process that holds a lane of their chain. Jobs added in one turn of
 * the event loop are added together.
 */
export class SettlementQueue {
  #waiting: SettlementJob[] = [];
  #added: Promise<void> | undefined;

  constructor(
    private readonly queue: Pick<Queue<SettlementJob>, 'addBulk'>,
    private readonly observer: Pick<JobObserver, 'traceOfRequest'> = NO_TRACES,
  ) {}

  /** @param settlementId - names one claim, so that a job id is used once. */
  add(settlementId: string): Promise<void> {
    const traceparent = this.observer.traceOfRequest();
    this.#waiting.push({ settlementId, ...(traceparent !== undefined && { traceparent }) });
    this.#added ??= Promise.resolve().then(() => this.#flush());
    return this.#added;
  }

  async #flush(): Promise<void> {
    const jobs = this.#waiting;
    this.#waiting = [];
    this.#added = undefined;
    await this.queue.addBulk(
      jobs.map((data) => ({
        name: 'settle',
        data,
        opts: {
          jobId: data.settlementId,
          removeOnComplete: true,
          removeOnFail: true,
          ...traceOf(data),
        },
      })),
    );
  }
}

/** What BullMQ's own spans of a job belong to. Those that are added together come from many requests. */
function traceOf({ traceparent }: SettlementJob): Pick<JobsOptions, 'telemetry'> {
  return traceparent === undefined
    ? {}
    : { telemetry: { metadata: JSON.stringify({ traceparent }) } };
}
