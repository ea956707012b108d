import { Global, Inject, Module, type OnModuleDestroy } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { delay } from '../concurrency/timing.js';
import { AppConfig } from '../config/app-config.js';
import { PinoLogger } from 'nestjs-pino';
import { connectLedger, connectSubscriber } from './redis-connection.js';
import { RedisWatch } from './redis-watch.js';

/** Commands of the ledger. */
export const LEDGER_REDIS = Symbol('LEDGER_REDIS');
/** Subscriptions. */
export const SUBSCRIBER_REDIS = Symbol('SUBSCRIBER_REDIS');

const BOOT_PATIENCE_MS = 15_000;

/**
 * A process needs Redis to start. Afterwards it may come and go.
 *
 * @throws Error when Redis does not answer in time.
 */
async function opened(redis: Redis, logger: PinoLogger): Promise<Redis> {
  let lastError: unknown;
  let isLogged = false;
  redis.on('error', (error: Error) => {
    lastError = error;
    // One line for an outage, not one for each attempt to reconnect.
    if (!isLogged) logger.warn({ reason: error.message }, 'Redis is not reachable');
    isLogged = true;
  });
  redis.on('ready', () => {
    if (isLogged) logger.info('Redis is reachable again');
    isLogged = false;
  });
  redis.connect().catch(() => undefined);
  const deadline = Date.now() + BOOT_PATIENCE_MS;
  while (redis.status !== 'ready') {
    if (Date.now() > deadline) {
      redis.disconnect();
      const reason = lastError instanceof Error ? lastError.message : 'no answer';
      throw new Error(`REDIS_URL: Redis did not become reachable in 15 s (${reason})`);
    }
    await delay(50);
  }
  return redis;
}

function watched(redis: Redis, logger: PinoLogger): RedisWatch {
  const watch = new RedisWatch(redis, (warnings) => {
    if (warnings.length === 0) logger.info('Redis is set up as the ledger needs it again');
    else logger.warn({ warnings }, 'Redis is set up so that the ledger may lose what it holds');
  });
  // The first look is for its warning. Should Redis be gone again, the next report looks.
  watch.setUp().catch(() => undefined);
  return watch;
}

@Global()
@Module({
  providers: [
    {
      provide: LEDGER_REDIS,
      inject: [AppConfig, PinoLogger],
      useFactory: ({ redisUrl }: AppConfig, logger: PinoLogger) =>
        opened(connectLedger(redisUrl), logger),
    },
    {
      provide: SUBSCRIBER_REDIS,
      inject: [AppConfig, PinoLogger],
      useFactory: ({ redisUrl }: AppConfig, logger: PinoLogger) =>
        opened(connectSubscriber(redisUrl), logger),
    },
    {
      provide: RedisWatch,
      inject: [LEDGER_REDIS, PinoLogger],
      useFactory: (redis: Redis, logger: PinoLogger) => watched(redis, logger),
    },
  ],
  exports: [LEDGER_REDIS, SUBSCRIBER_REDIS, RedisWatch],
})
export class RedisModule implements OnModuleDestroy {
  constructor(
    @Inject(LEDGER_REDIS) private readonly ledger: Redis,
    @Inject(SUBSCRIBER_REDIS) private readonly subscriber: Redis,
  ) {}

  onModuleDestroy(): void {
    this.ledger.disconnect();
    this.subscriber.disconnect();
  }
}
