import { Module } from '@nestjs/common';
import { systemClock } from '../../platform/concurrency/clock.js';
import { AppConfig } from '../../platform/config/app-config.js';
import { DatabaseModule } from '../../platform/database/database.module.js';
import { DatabasePools } from '../../platform/database/database-pools.js';
import { databaseOn } from '../postgres/database.js';
import { readPaymentSums } from '../postgres/payment-sums.js';
import { KnownTokens } from './known-tokens.js';
import { PublicStats, type StatsSources } from './public-stats.js';
import { StatsController } from './stats.controller.js';

/** Imported unless `PUBLIC_STATS` is false, with {@link KnownTokens}. */
@Module({
  imports: [DatabaseModule],
  controllers: [StatsController],
  providers: [
    {
      provide: PublicStats,
      inject: [AppConfig, DatabasePools, KnownTokens],
      useFactory: ({ history }: AppConfig, pools: DatabasePools, tokens: KnownTokens) =>
        new PublicStats({
          read: history && readerOn(pools),
          tokens: () => tokens.list(),
          clock: systemClock,
        }),
    },
  ],
})
export class StatsModule {}

function readerOn(pools: DatabasePools): StatsSources['read'] {
  const database = databaseOn(pools.of('totals'));
  return (moments, most) => readPaymentSums(database, moments, most);
}
