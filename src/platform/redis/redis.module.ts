import { Global, Inject, Module, type OnModuleDestroy, type Provider } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { PinoLogger } from 'nestjs-pino';
import { StartError } from '../../protocol/errors.js';
import { delay } from '../concurrency/timing.js';
import { AppConfig } from '../config/app-config.js';
import { connectLedger, connectProducer, connectSubscriber } from './redis-connection.js';
import { RedisWatch, unusableRedis } from './redis-watch.js';
import { BOOT_PATIENCE_MS, whileStarting } from './while-starting.js';

/** Commands of the ledger. */
export const LEDGER_REDIS = Symbol('LEDGER_REDIS');
/** Commands of the hub, and of the wallet: the ledger's own connection where they share its Redis. */
export const HUB_REDIS = Symbol('HUB_REDIS');
export const WALLET_REDIS = Symbol('WALLET_REDIS');
/** Adds jobs to the queues of settlements: the ledger's own connection in a process that settles nothing. */
export const QUEUE_REDIS = Symbol('QUEUE_REDIS');
/** Subscriptions. */
export const SUBSCRIBER_REDIS = Symbol('SUBSCRIBER_REDIS');

const DURABILITY_UNKNOWN =
  'Redis does not tell whether it writes to disk before it answers; see docs/runbook.md, "Redis loss"';

/**
 * A process needs Redis to start. Afterwards it may come and go.
 *
 * @throws Error when Redis does not answer in time.
 */
async function opened(redis: Redis, logger: PinoLogger, setting = 'REDIS_URL'): Promise<Redis> {
  let lastError: unknown;
  let isLogged = false;
  redis.on('error', (error: Error) => {
    lastError = error;
    // One line for an outage, not one for each attempt to reconnect.
    if (!isLogged) logger.warn({ setting, reason: error.message }, 'Redis is not reachable');
    isLogged = true;
  });
  redis.on('ready', () => {
    if (isLogged) logger.info({ setting }, 'Redis is reachable again');
    isLogged = false;
  });
  redis.connect().catch(() => undefined);
  const deadline = Date.now() + BOOT_PATIENCE_MS;
  while (redis.status !== 'ready') {
    if (Date.now() > deadline) {
      redis.disconnect();
      const reason = lastError instanceof Error ? lastError.message : 'no answer';
      throw new StartError(`${setting}: Redis did not become reachable in 15 s (${reason})`);
    }
    await delay(50);
  }
  const problem = await whileStarting(setting, () => unusableRedis(redis));
  if (problem !== undefined) {
    redis.disconnect();
    throw new StartError(`${setting}: ${problem}`);
  }
  return redis;
}

function watched(redis: Redis, logger: PinoLogger): RedisWatch {
  const watch = new RedisWatch(redis, (warnings) => {
    if (warnings.length === 0) logger.info('Redis is set up as the ledger needs it again');
    else logger.warn({ warnings }, 'Redis is set up so that the ledger may lose what it holds');
  });
  // The first look is for its warning. Should Redis be gone again, the next report looks.
  watch.setUp().then(
    ({ aof }) => {
      if (aof === undefined) logger.warn(DURABILITY_UNKNOWN);
    },
    () => undefined,
  );
  return watch;
}

/** A role's own Redis where it has one and the role is on. */
function ownOrLedgers(token: symbol, role: 'hub' | 'wallet', setting: string): Provider {
  return {
    provide: token,
    inject: [AppConfig, LEDGER_REDIS, PinoLogger],
    useFactory: (config: AppConfig, ledger: Redis, logger: PinoLogger): Redis | Promise<Redis> => {
      const { redis } = config;
      const isShared = redis[role].reveal() === redis.ledger.reveal();
      return isShared || !config.hasRole(role)
        ? ledger
        : opened(connectLedger(redis[role]), logger, setting);
    },
  };
}

@Global()
@Module({
  providers: [
    {
      provide: LEDGER_REDIS,
      inject: [AppConfig, PinoLogger],
      useFactory: ({ redis }: AppConfig, logger: PinoLogger) =>
        opened(connectLedger(redis.ledger), logger),
    },
    {
      provide: SUBSCRIBER_REDIS,
      inject: [AppConfig, PinoLogger],
      useFactory: ({ redis }: AppConfig, logger: PinoLogger) =>
        opened(connectSubscriber(redis.ledger), logger),
    },
    {
      provide: QUEUE_REDIS,
      inject: [AppConfig, LEDGER_REDIS, PinoLogger],
      useFactory: ({ redis, settles }: AppConfig, ledger: Redis, logger: PinoLogger) =>
        settles ? opened(connectProducer(redis.ledger), logger) : ledger,
    },
    ownOrLedgers(HUB_REDIS, 'hub', 'HUB_REDIS_URL'),
    ownOrLedgers(WALLET_REDIS, 'wallet', 'WALLET_REDIS_URL'),
    {
      provide: RedisWatch,
      inject: [LEDGER_REDIS, PinoLogger],
      useFactory: (redis: Redis, logger: PinoLogger) => watched(redis, logger),
    },
  ],
  exports: [LEDGER_REDIS, QUEUE_REDIS, HUB_REDIS, WALLET_REDIS, SUBSCRIBER_REDIS, RedisWatch],
})
export class RedisModule implements OnModuleDestroy {
  constructor(
    @Inject(LEDGER_REDIS) private readonly ledger: Redis,
    @Inject(QUEUE_REDIS) private readonly queue: Redis,
    @Inject(HUB_REDIS) private readonly hub: Redis,
    @Inject(WALLET_REDIS) private readonly wallet: Redis,
    @Inject(SUBSCRIBER_REDIS) private readonly subscriber: Redis,
  ) {}

  onModuleDestroy(): void {
    const { ledger, queue, hub, wallet, subscriber } = this;
    for (const redis of new Set([ledger, queue, hub, wallet, subscriber])) {
      redis.disconnect();
    }
  }
}
