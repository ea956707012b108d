import { type Job, WaitingError, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { closing } from '../../platform/redis/bull-closing.js';
import { RedisUnavailableError } from '../../protocol/errors.js';
import type { LaneQueue } from '../ledger/lane-store.js';
import type { JobObserver } from './job-observer.js';
import { queueNameOf } from './settlement.queue.js';
import { OpenJobs, readJob, type SettlementJob } from './settlement-job.js';

/** How often jobs ask the ledger whether their settlement is finished, if nobody told them. */
const LOOK_INTERVAL_MS = 1000;
/** Readers of one queue in one process: one reader fetches jobs one after another. */
const READERS = 4;
/** Jobs a reader has open at once. A job is open as long as one of its settlements is worked on. */
const JOBS_PER_READER = 5000;
/** Of these together the ledger is asked at once. */
const LOOKED_AT_ONCE = 1000;
/** Jobs of a process that died are seen as that, and run elsewhere, after these two at most. */
const LOCK_MS = 15_000;
const STALLED_LOOK_MS = 5000;
/** A process may freeze any number of times; the ledger, not BullMQ, decides what that means. */
const STALLED_MAX = 1_000_000;
/** BullMQ closes when Redis has answered: one that is away is not waited for. */
const STOP_MS = 2000;
/** Each reader says at each attempt to connect that it failed, and for each job that is lost that it is. */
const TROUBLE_EVERY_MS = 60_000;

interface SettlementWorkerOptions {
  readonly chainId: number;
  readonly store: LaneQueue;
  /** Of the queue's keys; that of BullMQ where it is absent. */
  readonly prefix?: string;
  /** A connection of its own for each reader of the queue. */
  readonly connect: () => Redis;
  /** Told of trouble with jobs, and with the ledger beside them; once a minute while it lasts. */
  readonly onError: (error: Error) => void;
  readonly observer: Pick<JobObserver, 'finished'>;
}

/**
 * Takes the jobs of one chain: each marks its settlements as ready for the lanes and stays open until
 * they are finished, so that queue tools show what is being worked on. Nothing depends on it:
 * a settlement whose job is lost is found by a sweep.
 */
export class SettlementWorker {
  readonly #open = new OpenJobs();
  #arrived: string[] = [];
  #marking: Promise<void> | undefined;
  #workers: Worker<SettlementJob>[] = [];
  #connections: Redis[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isStopping = false;
  #isLooking = false;
  #troubleAt = -Infinity;

  constructor(private readonly options: SettlementWorkerOptions) {}

  start(): void {
    this.#isStopping = false;
    const { prefix } = this.options;
    this.#connections = Array.from({ length: READERS }, () => this.options.connect());
    this.#workers = this.#connections.map((connection) => {
      const worker = new Worker<SettlementJob>(
        queueNameOf(this.options.chainId),
        (job, token) => this.#work(job, token),
        {
          connection,
          concurrency: JOBS_PER_READER,
          maxStalledCount: STALLED_MAX,
          lockDuration: LOCK_MS,
          stalledInterval: STALLED_LOOK_MS,
          ...(prefix !== undefined && { prefix }),
        },
      );
      worker.on('error', (error) => {
        this.#fail(error);
      });
      return worker;
    });
    this.#timer = setInterval(() => void this.#closeFinished(), LOOK_INTERVAL_MS);
  }

  /**
   * Gives the open jobs up; they are run again elsewhere, and find their settlement as it then is. Where their Redis is
   * away that is left to the other processes, which see them stalled.
   */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    const [workers, connections] = [this.#workers, this.#connections];
    this.#workers = [];
    this.#connections = [];
    // A worker that is closing does not fetch what it gives up, but may have fetched one more just now.
    this.#isStopping = true;
    const ending = closing(workers, connections);
    this.#open.giveUp();
    await ending.within(STOP_MS);
  }

  /** A lane of this process has finished these. */
  finished(ids: readonly string[]): void {
    this.#open.finish(ids);
  }

  async #work(job: Job<SettlementJob>, token: string | undefined): Promise<void> {
    if (this.#isStopping) return await this.#giveUp(job, token);
    const order = readJob(job.data);
    // Nothing that we wrote: it leaves the queue.
    if (order === undefined) return;
    const { settlementIds, traceparent } = order;
    const ended = this.#open.open(settlementIds);
    await this.#markReady(settlementIds);
    if ((await ended) === 'given_up') await this.#giveUp(job, token);
    const [id] = settlementIds;
    if (traceparent === undefined || id === undefined) return;
    this.options.observer.finished(this.options.chainId, id, traceparent);
  }

  /** Back into the queue, where another process finds it. */
  async #giveUp(job: Job<SettlementJob>, token: string | undefined): Promise<never> {
    await job.moveToWait(token);
    throw new WaitingError();
  }

  /** Settlements that arrive in one turn of the event loop are marked together. */
  #markReady(settlementIds: readonly string[]): Promise<void> {
    this.#arrived.push(...settlementIds);
    this.#marking ??= Promise.resolve().then(async () => {
      const ids = this.#arrived;
      this.#arrived = [];
      this.#marking = undefined;
      await this.options.store.ready(this.options.chainId, ids);
    });
    return this.#marking;
  }

  async #closeFinished(): Promise<void> {
    // One look at a time: those of a slow Redis would pile up.
    if (this.#isLooking) return;
    this.#isLooking = true;
    const ids = this.#open.settlements;
    const { store, chainId } = this.options;
    try {
      for (let from = 0; from < ids.length; from += LOOKED_AT_ONCE) {
        this.finished(await store.finishedOf(chainId, ids.slice(from, from + LOOKED_AT_ONCE)));
      }
    } catch (error) {
      // Redis may be away: the next look tells.
      if (!(error instanceof RedisUnavailableError)) this.#fail(asError(error));
    } finally {
      this.#isLooking = false;
    }
  }

  #fail(error: Error): void {
    const now = performance.now();
    if (this.#isStopping || now - this.#troubleAt < TROUBLE_EVERY_MS) return;
    this.#troubleAt = now;
    this.options.onError(error);
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error('something else than an error was thrown');
}
