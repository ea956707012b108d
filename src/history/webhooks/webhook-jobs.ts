import { type Job, Queue, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { within } from '../../platform/concurrency/timing.js';
import { AtShutdown } from '../../platform/lifecycle/at-shutdown.js';
import { closing } from '../../platform/redis/bull-closing.js';
import type { Deliverer } from './deliverer.js';
import type { DeliveryStore } from './delivery-store.js';
import type { WebhookObserver } from './webhook-observer.js';

const QUEUE = 'webhooks';
/** How often what is due is looked for in the database. */
const SWEEP_MS = 1000;
const ENDPOINTS_MOST = 500;
/** How often what is too old is dropped. */
const UPKEEP_MS = 3_600_000;
/** Endpoints that one process tells at once. */
const AT_ONCE = 32;
/** A job of a process that died is run elsewhere after these two at most. */
const LOCK_MS = 15_000;
const STALLED_LOOK_MS = 5000;
const STALLED_MAX = 1_000_000;
/** An attempt that is under way ends in its time. */
const STOP_MS = 12_000;
/** BullMQ closes when Redis has answered: one that is away is not waited for. */
const CLOSE_MS = 2000;
/** A Redis that has not taken jobs by then gets no others until it has. */
const TAKEN_MS = 1000;
/** Later attempts are found by the sweep: a queue need not remember them for days. */
const DELAY_MAX_MS = 3_600_000;

interface WebhookJob {
  readonly endpointId: string;
}

interface WebhookJobsParts {
  readonly deliverer: Pick<Deliverer, 'round' | 'stop'>;
  readonly store: Pick<DeliveryStore, 'due' | 'forget'>;
  /** Of the queue's keys; that of BullMQ where it is absent. */
  readonly prefix?: string;
  /** A connection of its own for each. */
  readonly connect: () => Redis;
  readonly observer: WebhookObserver;
}

/**
 * Brings processes to the endpoints for which something is due. A job says where to look and nothing else;
 * one that is lost, with its Redis too, is made again from the database within a second.
 */
export class WebhookJobs {
  #queue: Queue<WebhookJob> | undefined;
  #worker: Worker<WebhookJob> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #sweeping: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;
  /** Jobs that Redis has not taken yet. */
  #adding: Promise<void> | undefined;
  readonly #rounds = new Set<Promise<void>>();
  #isTroubled = false;
  #upkeepAt = -Infinity;
  readonly #connections: Redis[] = [];

  constructor(private readonly parts: WebhookJobsParts) {}

  /** Does nothing where it was stopped before. */
  start(): void {
    if (this.#stopping !== undefined) return;
    const { prefix } = this.parts;
    const place = prefix === undefined ? {} : { prefix };
    this.#queue = new Queue<WebhookJob>(QUEUE, { ...place, connection: this.#connect() });
    this.#worker = new Worker<WebhookJob>(QUEUE, (job) => this.#tracked(job), {
      ...place,
      connection: this.#connect(),
      concurrency: AT_ONCE,
      maxStalledCount: STALLED_MAX,
      lockDuration: LOCK_MS,
      stalledInterval: STALLED_LOOK_MS,
    });
    // BullMQ prints what nobody listens to, past the log and what it leaves out.
    const fail = (error: Error): void => {
      // Connections that are ended at a stop say so as an error.
      if (this.#stopping === undefined) this.#fail(error);
    };
    this.#queue.on('error', fail);
    this.#worker.on('error', fail);
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
    this.parts.deliverer.stop();
    const parts = [this.#worker, this.#queue].filter((part) => part !== undefined);
    const ending = closing(parts, this.#connections);
    await within(STOP_MS, Promise.allSettled([...this.#rounds, Promise.resolve(this.#sweeping)]));
    await ending.within(CLOSE_MS);
  }

  /**
   * Makes a job for each endpoint that something is due for and that has none. Never fails, and waits a second for the
   * Redis of the queue, no longer.
   */
  async sweep(): Promise<void> {
    try {
      const ids = await this.parts.store.due(ENDPOINTS_MOST);
      const areTaken = ids.length === 0 || (await this.#bring(ids));
      if (areTaken) this.#recover();
      if (performance.now() - this.#upkeepAt < UPKEEP_MS) return;
      // Some of them at a time, until none is left.
      if (!(await this.parts.store.forget())) this.#upkeepAt = performance.now();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** @returns whether Redis has taken them. */
  async #bring(ids: readonly string[]): Promise<boolean> {
    if (this.#adding !== undefined || this.#queue === undefined) return false;
    const adding = this.#queue.addBulk(ids.map((endpointId) => jobOf(endpointId, endpointId)));
    const clear = (): void => {
      this.#adding = undefined;
    };
    this.#adding = adding.then(clear, clear);
    try {
      const { inTime } = await within(TAKEN_MS, adding);
      if (!inTime) this.#fail(new Error(`no answer in ${TAKEN_MS} ms`));
      return inTime;
    } catch (error) {
      this.#fail(error);
      return false;
    }
  }

  /** One that is waited for at a stop. */
  #tracked(job: Job<WebhookJob>): Promise<void> {
    const round = this.#work(job).finally(() => this.#rounds.delete(round));
    this.#rounds.add(round);
    return round;
  }

  async #work({ data }: Job<WebhookJob>): Promise<void> {
    const { endpointId } = data;
    // Nothing that we wrote: it leaves the queue.
    if (typeof endpointId !== 'string') return;
    try {
      const inMs = await this.parts.deliverer.round(endpointId);
      if (inMs === undefined || inMs > DELAY_MAX_MS) return;
      const delay = Math.ceil(inMs);
      const at = Math.round((Date.now() + delay) / SWEEP_MS);
      // Its own name: the job that is ending still has the other one.
      const options = { ...optionsOf(`${endpointId}.${at}`), delay };
      const adding = this.#queue?.add(QUEUE, { endpointId }, options);
      await within(TAKEN_MS, Promise.resolve(adding));
    } catch (error) {
      // The sweep finds what was not done.
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    this.#isTroubled = true;
    this.parts.observer.troubled(error);
  }

  /** Where nothing is due, nothing was asked of Redis: then its connections tell. */
  #recover(): void {
    if (!this.#isTroubled || this.#connections.some(({ status }) => status !== 'ready')) return;
    this.#isTroubled = false;
    this.parts.observer.recovered();
  }

  #connect(): Redis {
    const connection = this.parts.connect();
    this.#connections.push(connection);
    return connection;
  }
}

/** A job of a name that is there already is not added. */
const optionsOf = (jobId: string) => ({ jobId, removeOnComplete: true, removeOnFail: true });

const jobOf = (endpointId: string, jobId: string) => ({
  name: QUEUE,
  data: { endpointId },
  opts: optionsOf(jobId),
});
