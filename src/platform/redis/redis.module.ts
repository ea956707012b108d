import { Global, Inject, Module, type OnModuleDestroy } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { PinoLogger } from 'nestjs-pino';
import { AppConfig } from '../config/app-config.js';
import { LedgerConnections, type SharedRedis } from './ledger-connections.js';
import { openFor, openLedgers, openShared, openSubscriber } from './open-redis.js';
import { QueueConnections } from './queue-connections.js';
import { RedisWatch } from './redis-watch.js';

/**
 * The Redis of the ledger, for commands with one key that belongs to no chain. For keys of a chain use {@link
 * LedgerConnections}.
 */
export const LEDGER_REDIS = Symbol('LEDGER_REDIS');
/** The Redis of hub and wallet; the connection of the ledger if they share its Redis. */
export const HUB_REDIS = Symbol('HUB_REDIS');
export const WALLET_REDIS = Symbol('WALLET_REDIS');
/** The connection for subscriptions. */
export const SUBSCRIBER_REDIS = Symbol('SUBSCRIBER_REDIS');

@Global()
@Module({
  providers: [
    { provide: LEDGER_REDIS, inject: [AppConfig, PinoLogger], useFactory: openShared },
    {
      provide: LedgerConnections,
      inject: [AppConfig, LEDGER_REDIS, PinoLogger],
      useFactory: openLedgers,
    },
    { provide: SUBSCRIBER_REDIS, inject: [AppConfig, PinoLogger], useFactory: openSubscriber },
    QueueConnections,
    {
      provide: HUB_REDIS,
      inject: [AppConfig, LEDGER_REDIS, PinoLogger],
      useFactory: openFor('hub', 'HUB_REDIS_URL'),
    },
    {
      provide: WALLET_REDIS,
      inject: [AppConfig, LEDGER_REDIS, PinoLogger],
      useFactory: openFor('wallet', 'WALLET_REDIS_URL'),
    },
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
