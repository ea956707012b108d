import { InjectQueue } from '@nestjs/bullmq';
import { Inject, Injectable, type Type } from '@nestjs/common';
import { type JobsOptions, Queue } from 'bullmq';
import { PinoLogger } from 'nestjs-pino';
import { TickCoalescer } from '../../platform/concurrency/tick-coalescer.js';
import { withTimeout } from '../../platform/concurrency/timing.js';
import { JobObserver, NO_TRACES } from './job-observer.js';
import { type ClaimedSettlement, jobsFor, type SettlementJob } from './settlement-job.js';

/** One queue per chain. BullMQ allows no `:` in its name. */
export const queueNameOf = (chainId: number): string => `settle-${chainId}`;

/** One call when jobs cannot be added any more, and one when they can be again. */
export interface QueueLog {
  failed(error: unknown): void;
  recovered(): void;
}

/** A Redis that has not taken jobs by then gets no others until it has: they would pile up here. */
const TAKEN_MS = 1000;

/**
 * Brings claimed settlements to a process that holds a lane of their chain. Those of one turn of the event loop
 * travel in one job: what a job costs in Redis is paid once for all of them.
 *
 * No caller waits for it. A settlement without a job, as Redis was away or slow, is found by the sweep of the lanes.
 */
export class SettlementQueue {
  #waiting: ClaimedSettlement[] = [];
  readonly #turnEnd = new TickCoalescer(() => void this.#flush());
  #late = 0;
  #isFailing = false;

  constructor(
    private readonly queue: Pick<Queue<SettlementJob>, 'addBulk'>,
    private readonly log: QueueLog,
    private readonly observer: Pick<JobObserver, 'traceOfRequest'> = NO_TRACES,
  ) {}

  /** Never fails. */
  add(settlementId: string): void {
    const traceparent = this.observer.traceOfRequest();
    this.#waiting.push({ settlementId, ...(traceparent !== undefined && { traceparent }) });
    this.#turnEnd.schedule();
  }

  /** Told by BullMQ, whose connection fails also while nothing is added. */
  failed(error: unknown): void {
    this.#fail(error);
  }

  async #flush(): Promise<void> {
    const jobs = jobsFor(this.#waiting);
    this.#waiting = [];
    if (this.#late > 0) return;
    try {
      const adding = this.#addAll(jobs);
      if ((await withTimeout(TAKEN_MS, adding)).inTime) {
        this.#taken();
        return;
      }
      this.#fail(new Error(`Redis did not answer in ${TAKEN_MS} ms`));
      this.#late += 1;
      await adding.finally(() => (this.#late -= 1));
      this.#taken();
    } catch (error) {
      this.#fail(error);
    }
  }

  async #addAll(jobs: readonly SettlementJob[]): Promise<void> {
    await this.queue.addBulk(
      jobs.map((data) => ({
        name: 'settle',
        data,
        opts: { ...idOf(data), removeOnComplete: true, removeOnFail: true },
      })),
    );
  }

  #taken(): void {
    // Others that were sent before may still be on their way: then it is not over.
    if (!this.#isFailing || this.#late > 0) return;
    this.#isFailing = false;
    this.log.recovered();
  }

  #fail(error: unknown): void {
    if (this.#isFailing) return;
    this.#isFailing = true;
    this.log.failed(error);
  }
}

/** The queue of each chain, by its id. */
@Injectable()
export class SettlementQueues extends Map<number, Pick<SettlementQueue, 'add'>> {}

/** The queue of one chain, made by Nest. */
export function settlementQueueFor(chainId: number): Type<SettlementQueue> {
  @Injectable()
  class ChainQueue extends SettlementQueue {
    constructor(
      @InjectQueue(queueNameOf(chainId)) queue: Queue<SettlementJob>,
      @Inject(JobObserver) observer: JobObserver,
      logger: PinoLogger,
      queues: SettlementQueues,
    ) {
      super(queue, queueLog(logger, chainId), observer);
      // BullMQ prints an event without a listener itself, past the log and its filters.
      queue.on('error', (error) => {
        this.failed(error);
      });
      queues.set(chainId, this);
    }
  }
  return ChainQueue;
}

function queueLog(logger: PinoLogger, chainId: number): QueueLog {
  return {
    failed: (error) => {
      logger.warn({ chainId, err: error }, 'cannot add jobs to the settlement queue');
    },
    recovered: () => {
      logger.info({ chainId }, 'jobs can be added to the settlement queue again');
    },
  };
}

/**
 * A job of one has the name of what it carries: asked twice for it, the queue holds it once. Others have numbers, for
 * BullMQ drops a job of a name that it holds already, and with it everything else that this one carries.
 */
function idOf({ settlementIds }: SettlementJob): Pick<JobsOptions, 'jobId'> {
  const [id] = settlementIds;
  return settlementIds.length === 1 && id !== undefined ? { jobId: id } : {};
}
