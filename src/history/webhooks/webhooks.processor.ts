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
/** Names for `BullModule` and `@Processor`. */
export const WEBHOOKS_QUEUE = { name: QUEUE, configKey: DEPLOYMENT_TAG };
/** Time between two searches for due deliveries in the database. */
const SWEEP_MS = 1000;
const ENDPOINTS_MOST = 500;
/** Time between two deletions of expired events. */
const UPKEEP_MS = 3_600_000;
/** Endpoints that one process works on at once. */
const AT_ONCE = 32;
/** Longer than one attempt, so that a running attempt can end. */
const STOP_MS = 12_000;
/** Limit for adding jobs. After it, no more jobs are added until Redis answers. */
const TAKEN_MS = 1000;
/** Maximum delay of a job. Later attempts are found by the sweep. */
const DELAY_MAX_MS = 3_600_000;

interface WebhookJob {
  readonly endpointId: string;
}

/**
 * Starts deliveries for endpoints with due events. A job only names an endpoint. A lost job, also by the loss of its
 * Redis, is replaced from the database within a second.
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
  /** The present attempt to add jobs to Redis. */
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
    // BullMQ prints an `error` event without a listener itself, past the log and its filters.
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
    // A stop closes connections, which BullMQ reports as errors.
    if (this.#stopping === undefined) this.#fail(error);
  }

  /** Does nothing after a stop. */
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

  /** Running attempts take seconds, so they are stopped early, in parallel with other parts. */
  @AtShutdown('waits', 'webhooks')
  beginToStop(): void {
    void this.stop();
  }

  /** Ends running rounds; another process continues. Never fails, and does not wait for an unreachable Redis. */
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
   * Adds a job for each endpoint with due events and without a job. Never fails, and waits at most a second for the
   * Redis of the queue.
   */
  async sweep(): Promise<void> {
    try {
      const ids = await this.store.due(ENDPOINTS_MOST);
      const areTaken = ids.length === 0 || (await this.#bring(ids));
      if (areTaken) this.#recover();
      if (performance.now() - this.#upkeepAt < UPKEEP_MS) return;
      // Deletes in batches, until nothing is left.
      if (!(await this.store.forget())) this.#upkeepAt = performance.now();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** @returns whether Redis has taken the jobs. */
  async #bring(ids: readonly string[]): Promise<boolean> {
    if (this.#adding !== undefined) return false;
    const adding = this.queue.addBulk(ids.map((endpointId) => jobOf(endpointId, endpointId)));
    const clear = (): void => {
      this.#adding = undefined;
    };
    this.#adding = adding.then(clear, clear);
    try {
      const { inTime } = await withTimeout(TAKEN_MS, adding);
      if (!inTime) this.#fail(new Error(`Redis did not answer in ${TAKEN_MS} ms`));
      return inTime;
    } catch (error) {
      this.#fail(error);
      return false;
    }
  }

  /** A stop waits for the running round. */
  process(job: Job<WebhookJob>): Promise<void> {
    const round = this.#work(job).finally(() => this.#rounds.delete(round));
    this.#rounds.add(round);
    return round;
  }

  async #work({ data }: Job<WebhookJob>): Promise<void> {
    const { endpointId } = data;
    // A job that this service did not write: it is dropped.
    if (typeof endpointId !== 'string') return;
    // A paused worker may take one more job. The sweep of another process adds it again.
    if (this.#stopping !== undefined) return;
    try {
      const inMs = await this.deliverer.round(endpointId);
      if (inMs === undefined || inMs > DELAY_MAX_MS) return;
      const delay = Math.ceil(inMs);
      const at = Math.round((Date.now() + delay) / SWEEP_MS);
      // A new job id, because the running job still holds its own.
      const options = { ...optionsOf(`${endpointId}.${at}`), delay };
      const adding = this.queue.add(QUEUE, { endpointId }, options);
      await withTimeout(TAKEN_MS, adding);
    } catch (error) {
      // The sweep finds what was not delivered.
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    this.#isFailing = true;
    this.observer.failed(error);
  }

  /** If nothing is due, no command was sent to Redis, so the state of the connection decides. */
  #recover(): void {
    if (!this.#isFailing || this.#reader?.isConnected !== true) return;
    this.#isFailing = false;
    this.observer.recovered();
  }
}

/** BullMQ ignores a job with an existing id. */
const optionsOf = (jobId: string) => ({ jobId, removeOnComplete: true, removeOnFail: true });

const jobOf = (endpointId: string, jobId: string) => ({
  name: QUEUE,
  data: { endpointId },
  opts: optionsOf(jobId),
});
