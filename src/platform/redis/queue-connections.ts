import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import type { QueueOptions } from 'bullmq';
import type { Redis } from 'ioredis';
import { PinoLogger } from 'nestjs-pino';
import { AppConfig } from '../config/app-config.js';
import { DEPLOYMENT_TAG } from './hash-slot.js';
import { connecting, opened } from './opening.js';
import { connectProducer, isCluster, queuePrefix } from './redis-connection.js';

/** The Redis of the queues, in the form that BullMQ needs: one connection, or one per hash tag in a Cluster. */
@Injectable()
export class QueueConnections implements OnModuleDestroy {
  readonly #byTag = new Map<string, Promise<Redis>>();

  constructor(
    private readonly config: AppConfig,
    private readonly logger: PinoLogger,
  ) {}

  /** @param tag - the hash tag of a queue. */
  async optionsOf(tag: string): Promise<QueueOptions> {
    const { queue } = this.config.redis;
    const slot = isCluster(queue) ? tag : DEPLOYMENT_TAG;
    const connection = this.#byTag.get(slot) ?? this.#connect(slot);
    this.#byTag.set(slot, connection);
    return { connection: await connection, ...queuePrefix(queue, tag) };
  }

  async onModuleDestroy(): Promise<void> {
    for (const connection of this.#byTag.values()) (await connection).disconnect();
  }

  /** A separate Redis of the queues may be unreachable, at the start and later. */
  async #connect(tag: string): Promise<Redis> {
    const { queue, ledger } = this.config.redis;
    const redis = connectProducer(queue, tag);
    return queue.reveal() === ledger.reveal()
      ? await opened(redis, ledger, this.logger)
      : connecting(redis, 'QUEUE_REDIS_URL', this.logger);
  }
}
