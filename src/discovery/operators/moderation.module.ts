import { Module } from '@nestjs/common';
import { databaseOn } from '../../history/postgres/database.js';
import { AppConfig } from '../../platform/config/app-config.js';
import { DatabaseModule } from '../../platform/database/database.module.js';
import { DatabasePools } from '../../platform/database/database-pools.js';
import { CatalogueSettings } from '../catalogue-settings.js';
import { PostgresModeration } from '../postgres/postgres-moderation.js';
import { Moderation } from './moderation.js';
import { ModerationStore } from './moderation-store.js';

/** What operators see of the catalogue and do with it. */
@Module({
  imports: [DatabaseModule],
  providers: [
    CatalogueSettings,
    {
      provide: ModerationStore,
      inject: [AppConfig, DatabasePools],
      useFactory: ({ history }: AppConfig, pools: DatabasePools): ModerationStore | undefined =>
        history?.catalogue && new PostgresModeration(databaseOn(pools.of('operators')).db),
    },
    Moderation,
  ],
  exports: [Moderation],
})
export class ModerationModule {}
