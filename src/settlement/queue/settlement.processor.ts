import { OnWorkerEvent, Processor, WorkerHost } from '@nestjs/bullmq';
import { Inject, Injectable, type OnApplicationBootstrap, type Type } from '@nestjs/common';
import { type Job, WaitingError } from 'bullmq';
import { QueueReader, STALLED_JOBS } from '../../platform/queue/queue-reader.js';
import { ledgerTag } from '../../platform/redis/hash-slot.js';
import { RedisUnavailableError } from '../../protocol/errors.js';
import type { LaneQueue } from '../ledger/lane-store.js';
import { LANE_QUEUE } from '../ledger/ledger.module.js';
import { JobObserver } from './job-observer.js';
import { queueNameOf } from './settlement.queue.js';
import { OpenJobs, readJob, type SettlementJob } from './settlement-job.js';

/** How often jobs poll the ledger for the end of their settlement, without an event. */
const LOOK_INTERVAL_MS = 1000;
/** Readers of one queue in one process: one reader fetches jobs one after another. */
const READERS = 4;
/** Jobs a reader has open at once. A job is open as long as one of its settlements is worked on. */
const JOBS_PER_READER = 5000;
/** Most settlements that one question to the ledger covers. */
const LOOKED_AT_ONCE = 1000;

/**
 * Takes the jobs of one chain: each marks its settlements as ready for the lanes and stays open until
 * they are finished, so that queue tools show what is being worked on. Nothing depends on it:
 * a settlement whose job is lost is found by a sweep.
 */
export class SettlementConsumer {
  readonly #open = new OpenJobs();
  readonly #readers: QueueReader[] = [];
  #arrived: string[] = [];
  #marking: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** While jobs are taken. */
  #onError: ((error: Error) => void) | undefined;
  #isLooking = false;
  /** From the first failure until a job arrives. Readers report each attempt to connect, and each lost job. */
  #isFailing = false;

  constructor(
    private readonly chainId: number,
    private readonly store: LaneQueue,
    private readonly observer: Pick<JobObserver, 'finished'>,
  ) {}

  /** @param onError - called for failures of jobs, and of the ledger beside them: once until a job arrives again. */
  start(onError: (error: Error) => void): void {
    this.#onError = onError;
    for (const reader of this.#readers) this.#read(reader);
    this.#timer = setInterval(() => void this.#closeFinished(), LOOK_INTERVAL_MS);
  }

  /** Gives the open jobs to the other processes, until it is started again. */
  async pause(): Promise<void> {
    clearInterval(this.#timer);
    // A reader that is pausing may fetch one more, which is given up as well.
    this.#onError = undefined;
    const pausing = this.#readers.map((reader) => reader.pause(true));
    this.#open.giveUp();
    await Promise.all(pausing);
  }

  /**
   * Gives the open jobs up; they are run again elsewhere, and find their settlement as it then is. Where their Redis is
   * away that is left to the other processes, which see them stalled.
   */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#onError = undefined;
    const closing = this.#readers.splice(0).map((reader) => reader.close());
    this.#open.giveUp();
    await Promise.all(closing);
  }

  /** A lane of this process has finished these. */
  finished(ids: readonly string[]): void {
    this.#open.finish(ids);
  }

  /** A reader that Nest has made. */
  readBy(reader: QueueReader): void {
    this.#readers.push(reader);
    if (this.#onError !== undefined) this.#read(reader);
  }

  #read(reader: QueueReader): void {
    const reading = reader.isPaused() ? reader.resume() : reader.run();
    reading.catch((error: unknown) => {
      this.failed(asError(error));
    });
  }

  async work(job: Job<SettlementJob>, token: string | undefined): Promise<void> {
    if (this.#onError === undefined) return await this.#giveUp(job, token);
    this.#isFailing = false;
    const order = readJob(job.data);
    // Nothing that we wrote: it leaves the queue.
    if (order === undefined) return;
    const { settlementIds, traceparent } = order;
    const ended = this.#open.open(settlementIds);
    await this.#markReady(settlementIds);
    if ((await ended) === 'given_up') await this.#giveUp(job, token);
    const [id] = settlementIds;
    if (traceparent === undefined || id === undefined) return;
    this.observer.finished(this.chainId, id, traceparent);
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
      await this.store.ready(this.chainId, ids);
    });
    return this.#marking;
  }

  async #closeFinished(): Promise<void> {
    // One look at a time: with a slow Redis several would pile up.
    if (this.#isLooking) return;
    this.#isLooking = true;
    const ids = this.#open.settlements;
    try {
      for (let from = 0; from < ids.length; from += LOOKED_AT_ONCE) {
        this.finished(
          await this.store.finishedOf(this.chainId, ids.slice(from, from + LOOKED_AT_ONCE)),
        );
      }
    } catch (error) {
      // Redis may be away: the next look tells.
      if (!(error instanceof RedisUnavailableError)) this.failed(asError(error));
    } finally {
      this.#isLooking = false;
    }
  }

  failed(error: Error): void {
    if (this.#onError === undefined || this.#isFailing) return;
    this.#isFailing = true;
    this.#onError(error);
  }
}

/** The consumer of each chain. */
@Injectable()
export class SettlementConsumers {
  readonly #byChain = new Map<number, SettlementConsumer>();

  constructor(
    @Inject(LANE_QUEUE) private readonly store: LaneQueue,
    @Inject(JobObserver) private readonly observer: JobObserver,
  ) {}

  of(chainId: number): SettlementConsumer {
    const consumer =
      this.#byChain.get(chainId) ?? new SettlementConsumer(chainId, this.store, this.observer);
    this.#byChain.set(chainId, consumer);
    return consumer;
  }
}

/** The readers of the queue of a chain, for Nest to make. They read while a lane of the chain is held. */
export function settlementProcessorsFor(chainId: number): readonly Type[] {
  return Array.from({ length: READERS }, () => processorFor(chainId));
}

function processorFor(chainId: number): Type {
  @Processor(
    { name: queueNameOf(chainId), configKey: ledgerTag(chainId) },
    {
      autorun: false,
      concurrency: JOBS_PER_READER,
      ...STALLED_JOBS,
    },
  )
  class SettlementProcessor extends WorkerHost<QueueReader> implements OnApplicationBootstrap {
    readonly #consumer: SettlementConsumer;

    constructor(consumers: SettlementConsumers) {
      super();
      this.#consumer = consumers.of(chainId);
    }

    process(job: Job<SettlementJob>, token?: string): Promise<void> {
      return this.#consumer.work(job, token);
    }

    @OnWorkerEvent('error')
    onError(error: Error): void {
      this.#consumer.failed(error);
    }

    onApplicationBootstrap(): void {
      this.#consumer.readBy(this.worker);
    }
  }
  return SettlementProcessor;
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error('a value that is not an Error was thrown');
}
