import { InjectQueue, OnWorkerEvent, Processor, WorkerHost } from '@nestjs/bullmq';
import { Inject, type OnApplicationBootstrap } from '@nestjs/common';
import { type Job, Queue } from 'bullmq';
import { withTimeout } from '../../platform/concurrency/timing.js';
import { AtShutdown } from '../../platform/lifecycle/at-shutdown.js';
import { QueueReader, STALLED_JOBS } from '../../platform/queue/queue-reader.js';
import { DEPLOYMENT_TAG } from '../../platform/redis/hash-slot.js';
import { HistoryTables } from '../history-tables.js';
import { Deliverer } from './deliverer.js';
import { DELIVERY_STORE, type DeliveryStore } from './delivery-store.js';
import { LOGGED_WEBHOOKS, type WebhookObserver } from './webhook-observer.js';

const QUEUE = 'webhooks';
/** For `BullModule` and `@Processor`. */
export const WEBHOOKS_QUEUE = { name: QUEUE, configKey: DEPLOYMENT_TAG };
/** How often what is due is looked for in the database. */
const SWEEP_MS = 1000;
const ENDPOINTS_MOST = 500;
/** How often what is too old is dropped. */
const UPKEEP_MS = 3_600_000;
/** Endpoints that one process tells at once. */
const AT_ONCE = 32;
/** An attempt that is under way ends in its time. */
const STOP_MS = 12_000;
/** A Redis that has not taken jobs by then gets no others until it has. */
const TAKEN_MS = 1000;
/** Later attempts are found by the sweep: a queue need not remember them for days. */
const DELAY_MAX_MS = 3_600_000;

interface WebhookJob {
  readonly endpointId: string;
}

/**
 * Brings processes to the endpoints for which something is due. A job says where to look and nothing else;
 * one that is lost, with its Redis too, is made again from the database within a second.
 */
@Processor(WEBHOOKS_QUEUE, {
  autorun: false,
  concurrency: AT_ONCE,
  ...STALLED_JOBS,
})
export class WebhooksProcessor
  extends WorkerHost<QueueReader<WebhookJob>>
  implements OnApplicationBootstrap
{
  #reader: QueueReader<WebhookJob> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #sweeping: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;
  /** Jobs that Redis has not taken yet. */
  #adding: Promise<void> | undefined;
  readonly #rounds = new Set<Promise<void>>();
  #isFailing = false;
  #upkeepAt = -Infinity;

  constructor(
    @InjectQueue(QUEUE) private readonly queue: Queue<WebhookJob>,
    @Inject(Deliverer) private readonly deliverer: Pick<Deliverer, 'round' | 'stop'>,
    @Inject(DELIVERY_STORE) private readonly store: Pick<DeliveryStore, 'due' | 'forget'>,
    @Inject(LOGGED_WEBHOOKS) private readonly observer: WebhookObserver,
    @Inject(HistoryTables) private readonly tables: Pick<HistoryTables, 'whenThere'>,
  ) {
    super();
    // BullMQ prints an event without a listener itself, past the log and its filters.
    queue.on('error', (error) => {
      this.onError(error);
    });
  }

  onApplicationBootstrap(): void {
    const reader = this.worker;
    this.#reader = reader;
    this.tables.whenThere(() => {
      this.#start(reader);
    });
  }

  @OnWorkerEvent('error')
  onError(error: Error): void {
    // Connections that are ended at a stop say so as an error.
    if (this.#stopping === undefined) this.#fail(error);
  }

  /** Does nothing where it was stopped before. */
  #start(reader: QueueReader<WebhookJob>): void {
    if (this.#stopping !== undefined) return;
    reader.run().catch((error: unknown) => {
      this.#fail(error);
    });
    this.#timer = setInterval(() => {
      this.#sweeping ??= this.sweep().finally(() => {
        this.#sweeping = undefined;
      });
    }, SWEEP_MS);
  }

  /** Attempts take seconds, beside what else there is to end. */
  @AtShutdown('waits', 'webhooks')
  beginToStop(): void {
    void this.stop();
  }

  /** Ends what is under way; another process goes on. Never fails, and does not wait for a Redis that is away. */
  @AtShutdown('webhooks', 'webhooks')
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    clearInterval(this.#timer);
    this.deliverer.stop();
    const paused = this.#reader?.pause(true);
    await withTimeout(STOP_MS, Promise.allSettled([paused, ...this.#rounds, this.#sweeping]));
    await this.#reader?.close();
  }

  /**
   * Makes a job for each endpoint that something is due for and that has none. Never fails, and waits a second for the
   * Redis of the queue, no longer.
   */
  async sweep(): Promise<void> {
    try {
      const ids = await this.store.due(ENDPOINTS_MOST);
      const areTaken = ids.length === 0 || (await this.#bring(ids));
      if (areTaken) this.#recover();
      if (performance.now() - this.#upkeepAt < UPKEEP_MS) return;
      // Some of them at a time, until none is left.
      if (!(await this.store.forget())) this.#upkeepAt = performance.now();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** @returns whether Redis has taken them. */
  async #bring(ids: readonly string[]): Promise<boolean> {
    if (this.#adding !== undefined) return false;
    const adding = this.queue.addBulk(ids.map((endpointId) => jobOf(endpointId, endpointId)));
    const clear = (): void => {
      this.#adding = undefined;
    };
    this.#adding = adding.then(clear, clear);
    try {
      const { inTime } = await withTimeout(TAKEN_MS, adding);
      if (!inTime) this.#fail(new Error(`no answer in ${TAKEN_MS} ms`));
      return inTime;
    } catch (error) {
      this.#fail(error);
      return false;
    }
  }

  /** A round is waited for at a stop. */
  process(job: Job<WebhookJob>): Promise<void> {
    const round = this.#work(job).finally(() => this.#rounds.delete(round));
    this.#rounds.add(round);
    return round;
  }

  async #work({ data }: Job<WebhookJob>): Promise<void> {
    const { endpointId } = data;
    // Nothing that we wrote: it leaves the queue.
    if (typeof endpointId !== 'string') return;
    // A paused worker may take one more job. The sweep of another process makes it again.
    if (this.#stopping !== undefined) return;
    try {
      const inMs = await this.deliverer.round(endpointId);
      if (inMs === undefined || inMs > DELAY_MAX_MS) return;
      const delay = Math.ceil(inMs);
      const at = Math.round((Date.now() + delay) / SWEEP_MS);
      // Its own name: the job that is ending still has the other one.
      const options = { ...optionsOf(`${endpointId}.${at}`), delay };
      const adding = this.queue.add(QUEUE, { endpointId }, options);
      await withTimeout(TAKEN_MS, adding);
    } catch (error) {
      // The sweep finds what was not done.
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    this.#isFailing = true;
    this.observer.troubled(error);
  }

  /** Where nothing is due, nothing was asked of Redis: then the connection tells. */
  #recover(): void {
    if (!this.#isFailing || this.#reader?.isConnected !== true) return;
    this.#isFailing = false;
    this.observer.recovered();
  }
}

/** A job of a name that is there already is not added. */
const optionsOf = (jobId: string) => ({ jobId, removeOnComplete: true, removeOnFail: true });

const jobOf = (endpointId: string, jobId: string) => ({
  name: QUEUE,
  data: { endpointId },
  opts: optionsOf(jobId),
});
