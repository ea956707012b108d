import { Global, Inject, Module, type OnModuleDestroy, type Provider } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { PinoLogger } from 'nestjs-pino';
import { StartError } from '../../protocol/errors.js';
import { AppConfig } from '../config/app-config.js';
import type { Secret } from '../config/secret.js';
import { ledgerTag } from './hash-slot.js';
import { LedgerConnections, type SharedRedis } from './ledger-connections.js';
import { opened } from './opening.js';
import { QueueConnections } from './queue-connections.js';
import { connectLedger, connectShared, connectSubscriber, isCluster } from './redis-connection.js';
import { readUnsafe, RedisWatch, setUpOf, type UnsafeSetUp } from './redis-watch.js';
import { whileStarting } from './while-starting.js';

/** Of the ledger's Redis, commands on one key that belongs to no chain; those of a chain: {@link LedgerConnections}. */
export const LEDGER_REDIS = Symbol('LEDGER_REDIS');
/** Commands of the hub, and of the wallet: the ledger's own connection where they share its Redis. */
export const HUB_REDIS = Symbol('HUB_REDIS');
export const WALLET_REDIS = Symbol('WALLET_REDIS');
/** Subscriptions. */
export const SUBSCRIBER_REDIS = Symbol('SUBSCRIBER_REDIS');

/**
 * A ledger that is lost or evicted breaks what the service promises; of a wallet, tokens that were ended would be good again
 * once what ends them is evicted. The start is refused, unless the operator allows it.
 *
 * @throws StartError
 */
async function checkSafe(
  redis: SharedRedis,
  { redis: urls }: AppConfig,
  setting: string,
  unsafe: readonly UnsafeSetUp[],
): Promise<void> {
  if (urls.mayBeUnsafe) return;
  const problem = readUnsafe(await whileStarting(setting, () => setUpOf(redis)), unsafe);
  if (problem === undefined) return;
  redis.disconnect();
  throw new StartError(
    `${setting}: this Redis may lose or evict data: ${problem}. To start anyway, for a trial, set REDIS_UNSAFE=true`,
  );
}

const UNSAFE_FOR_LEDGER = ['aof_off', 'may_evict'] as const;

/** One connection that is given, or one for each of these ledgers where they are in a Cluster. */
async function openedForEach(
  url: Secret<string>,
  shared: SharedRedis,
  { ledgerChainIds }: AppConfig,
  open: (tag: string) => Promise<Redis>,
): Promise<LedgerConnections> {
  if (!isCluster(url)) return new LedgerConnections(shared);
  const tags = ledgerChainIds.map(ledgerTag);
  const own = tags.map(async (tag) => [tag, await open(tag)] as const);
  return new LedgerConnections(shared, new Map(await Promise.all(own)));
}

/** A role's own Redis where it has one and the role is on. */
function ownOrLedgers(token: symbol, role: 'hub' | 'wallet', setting: string): Provider {
  return {
    provide: token,
    inject: [AppConfig, LEDGER_REDIS, PinoLogger],
    useFactory: async (
      config: AppConfig,
      ledger: SharedRedis,
      logger: PinoLogger,
    ): Promise<SharedRedis> => {
      if (!config.hasRole(role)) return ledger;
      const { redis } = config;
      const isShared = redis[role].reveal() === redis.ledger.reveal();
      const own = isShared
        ? ledger
        : await opened(connectLedger(redis[role]), redis[role], logger, setting);
      if (role === 'wallet') await checkSafe(own, config, setting, ['may_evict']);
      return own;
    },
  };
}

@Global()
@Module({
  providers: [
    {
      provide: LEDGER_REDIS,
      inject: [AppConfig, PinoLogger],
      useFactory: async (config: AppConfig, logger: PinoLogger): Promise<SharedRedis> => {
        const { ledger } = config.redis;
        const redis = await opened(connectShared(ledger), ledger, logger);
        // Of a Cluster, each chain's own connection is looked at.
        if (config.usesLedger && !isCluster(ledger)) {
          await checkSafe(redis, config, 'REDIS_URL', UNSAFE_FOR_LEDGER);
        }
        return redis;
      },
    },
    {
      provide: LedgerConnections,
      inject: [AppConfig, LEDGER_REDIS, PinoLogger],
      useFactory: (config: AppConfig, shared: SharedRedis, logger: PinoLogger) => {
        const { ledger } = config.redis;
        return openedForEach(ledger, shared, config, async (tag) => {
          const redis = await opened(connectLedger(ledger, tag), ledger, logger);
          await checkSafe(redis, config, 'REDIS_URL', UNSAFE_FOR_LEDGER);
          return redis;
        });
      },
    },
    {
      provide: SUBSCRIBER_REDIS,
      inject: [AppConfig, PinoLogger],
      useFactory: ({ redis }: AppConfig, logger: PinoLogger) =>
        opened(connectSubscriber(redis.ledger), redis.ledger, logger),
    },
    QueueConnections,
    ownOrLedgers(HUB_REDIS, 'hub', 'HUB_REDIS_URL'),
    ownOrLedgers(WALLET_REDIS, 'wallet', 'WALLET_REDIS_URL'),
    RedisWatch,
  ],
  exports: [
    LEDGER_REDIS,
    LedgerConnections,
    QueueConnections,
    HUB_REDIS,
    WALLET_REDIS,
    SUBSCRIBER_REDIS,
    RedisWatch,
  ],
})
export class RedisModule implements OnModuleDestroy {
  constructor(
    private readonly ledger: LedgerConnections,
    @Inject(HUB_REDIS) private readonly hub: SharedRedis,
    @Inject(WALLET_REDIS) private readonly wallet: SharedRedis,
    @Inject(SUBSCRIBER_REDIS) private readonly subscriber: Redis,
  ) {}

  onModuleDestroy(): void {
    const { ledger, hub, wallet, subscriber } = this;
    for (const redis of new Set([...ledger.all, hub, wallet, subscriber])) {
      redis.disconnect();
    }
  }
}
