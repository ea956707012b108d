import type { JobsOptions, Queue } from 'bullmq';
import { type JobObserver, NO_TRACES } from './job-observer.js';
import { jobsFor, type SettlementJob } from './settlement-job.js';

/** One queue per chain. BullMQ allows no `:` in its name. */
export const queueNameOf = (chainId: number): string => `settle-${chainId}`;

interface Claimed {
  readonly settlementId: string;
  readonly traceparent?: string;
}

/**
 * Brings claimed settlements to a process that holds a lane of their chain. Those of one turn of the event loop
 * travel in one job: what a job costs in Redis is paid once for all of them.
 */
export class SettlementQueue {
  #waiting: Claimed[] = [];
  #added: Promise<void> | undefined;

  constructor(
    private readonly queue: Pick<Queue<SettlementJob>, 'addBulk'>,
    private readonly observer: Pick<JobObserver, 'traceOfRequest'> = NO_TRACES,
  ) {}

  /** Resolves when its job is in the queue. */
  add(settlementId: string): Promise<void> {
    const traceparent = this.observer.traceOfRequest();
    this.#waiting.push({ settlementId, ...(traceparent !== undefined && { traceparent }) });
    this.#added ??= new Promise((resolve) => setImmediate(resolve)).then(() => this.#flush());
    return this.#added;
  }

  async #flush(): Promise<void> {
    const jobs = jobsFor(this.#waiting);
    this.#waiting = [];
    this.#added = undefined;
    await this.queue.addBulk(
      jobs.map((data) => ({
        name: 'settle',
        data,
        opts: { ...idOf(data), removeOnComplete: true, removeOnFail: true, ...traceOf(data) },
      })),
    );
  }
}

/**
 * A job of one has the name of what it carries: asked twice for it, the queue holds it once. Others have numbers, for
 * BullMQ drops a job of a name that it holds already, and with it everything else that this one carries.
 */
function idOf({ settlementIds }: SettlementJob): Pick<JobsOptions, 'jobId'> {
  const [id] = settlementIds;
  return settlementIds.length === 1 && id !== undefined ? { jobId: id } : {};
}

/** What BullMQ's own spans of a job belong to. Those that are added together come from many requests. */
function traceOf({ traceparent }: SettlementJob): Pick<JobsOptions, 'telemetry'> {
  return traceparent === undefined
    ? {}
    : { telemetry: { metadata: JSON.stringify({ traceparent }) } };
}
