import { type Processor, Worker, type WorkerOptions } from 'bullmq';
import type { Redis } from 'ioredis';
import { withTimeout } from '../concurrency/timing.js';
import { connectReader } from '../redis/redis-connection.js';

/** BullMQ closes when Redis has answered: one that is away is not waited for. */
const CLOSE_MS = 2000;

/** How a reader finds the jobs of a process that died: they are run elsewhere after the two times at most. */
export const STALLED_JOBS = {
  lockDuration: 15_000,
  stalledInterval: 5000,
  // A process may freeze any number of times; the ledger or the database, not BullMQ, decides what that means.
  maxStalledCount: 1_000_000,
} as const;

/** A worker of BullMQ on a connection of its own, which waits for jobs as long as it takes, and for no end of itself. */
export class QueueReader<T = unknown> extends Worker<T> {
  readonly #connection: Redis;
  #closed: Promise<void> | undefined;

  constructor(name: string, processor: Processor<T>, options: WorkerOptions) {
    const connection = connectReader(options.connection as Redis);
    super(name, processor, { ...options, connection });
    this.#connection = connection;
  }

  get isConnected(): boolean {
    return this.#connection.status === 'ready';
  }

  /** Takes nothing new from now on. Never fails, and leaves no connection. */
  override close(force = false): Promise<void> {
    this.#closed ??= this.#close(force);
    return this.#closed;
  }

  async #close(force: boolean): Promise<void> {
    // Jobs under way cannot be returned to a Redis that is known to be away.
    const closed = Promise.allSettled([super.close(force || !this.isConnected)]);
    const { inTime } = await withTimeout(CLOSE_MS, closed);
    // Those that BullMQ made besides would be tried for ever.
    if (!inTime) void Promise.allSettled([this.getBackend().close(true)]);
    this.#connection.disconnect();
  }
}
