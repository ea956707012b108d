import { Module } from '@nestjs/common';
import { databaseOn } from '../../history/postgres/database.js';
import { systemClock } from '../../platform/concurrency/clock.js';
import { AppConfig } from '../../platform/config/app-config.js';
import { DatabasePools } from '../../platform/database/database-pools.js';
import { PostgresModeration } from '../postgres/postgres-moderation.js';
import { Moderation } from './moderation.js';

/** What operators see of the catalogue and do with it. */
@Module({
  providers: [
    {
      provide: Moderation,
      inject: [AppConfig, DatabasePools],
      useFactory: ({ history }: AppConfig, pools: DatabasePools) =>
        new Moderation({
          store: history?.catalogue && new PostgresModeration(databaseOn(pools.of('operators')).db),
          expiryMs: history?.catalogue?.expiryMs ?? 0,
          now: () => systemClock.now(),
        }),
    },
  ],
  exports: [Moderation],
})
export class ModerationModule {}
