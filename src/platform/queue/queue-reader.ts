import { type Processor, Worker, type WorkerOptions } from 'bullmq';
import type { Redis } from 'ioredis';
import { withTimeout } from '../concurrency/timing.js';
import { connectReader } from '../redis/redis-connection.js';

/** BullMQ closes only after an answer of Redis, so the wait for an unreachable Redis is limited. */
const CLOSE_MS = 2000;

/** How a reader finds the jobs of a dead process: another one runs them after at most both times together. */
export const STALLED_JOBS = {
  lockDuration: 15_000,
  stalledInterval: 5000,
  // A process may freeze any number of times. The ledger or the database decides about its jobs, not BullMQ.
  maxStalledCount: 1_000_000,
} as const;

/** A BullMQ worker with its own connection. It waits for jobs without a limit, but its end is limited in time. */
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

  /** Takes no further job. Never fails, and leaves no connection open. */
  override close(force = false): Promise<void> {
    this.#closed ??= this.#close(force);
    return this.#closed;
  }

  async #close(force: boolean): Promise<void> {
    // Running jobs cannot be returned to a Redis that is unreachable.
    const closed = Promise.allSettled([super.close(force || !this.isConnected)]);
    const { inTime } = await withTimeout(CLOSE_MS, closed);
    // Otherwise connections that BullMQ opened itself would reconnect for ever.
    if (!inTime) void Promise.allSettled([this.getBackend().close(true)]);
    this.#connection.disconnect();
  }
}
