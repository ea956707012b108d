import '../../../../src/platform/queue/queue.module.js';
import { BullModule, getQueueToken } from '@nestjs/bullmq';
import { type INestApplicationContext, Logger, Module, type Provider } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import type { Secret } from '../../../../src/platform/config/secret.js';
import { connectProducer } from '../../../../src/platform/redis/redis-connection.js';

/**
 * After a disconnect ioredis keeps a timer for this time, also for a stream that is closed already. By default it is two
 * seconds, which outlast a spec and hold up the end of its process.
 */
const DISCONNECT_MS = 100;

/** A queue, as `BullModule` registers it. */
interface NamedQueue {
  readonly name: string;
  readonly configKey: string;
}

/** What Nest makes of processors, on a Redis of a test. */
export class QueueWorld {
  private constructor(
    readonly app: INestApplicationContext,
    readonly producer: Redis,
  ) {}

  static async start(
    url: Secret<string>,
    queue: NamedQueue,
    providers: Provider[],
  ): Promise<QueueWorld> {
    const producer = connectProducer(url)
      .duplicate({ disconnectTimeout: DISCONNECT_MS })
      .on('error', () => undefined);
    Logger.overrideLogger(false);
    @Module({
      imports: [
        BullModule.forRoot(queue.configKey, { connection: producer }),
        BullModule.registerQueue(queue),
      ],
      providers,
    })
    class World {}
    const app = await NestFactory.createApplicationContext(World);
    app.get<Queue>(getQueueToken(queue.name), { strict: false }).on('error', () => undefined);
    return new QueueWorld(app, producer);
  }

  /** As at the end of a process. */
  async stop(): Promise<void> {
    this.producer.disconnect();
    await this.app.close();
  }
}
