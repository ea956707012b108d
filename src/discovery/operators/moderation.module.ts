import { type DynamicModule, Module } from '@nestjs/common';
import { HistoryDatabase } from '../../history/postgres/database.module.js';
import type { AppConfig } from '../../platform/config/app-config.js';
import { CatalogueSettings } from '../catalogue-settings.js';
import { PostgresModeration } from '../postgres/postgres-moderation.js';
import { Moderation } from './moderation.js';
import { ModerationStore } from './moderation-store.js';

/** The operator API of the catalogue. */
@Module({ providers: [CatalogueSettings, Moderation], exports: [Moderation] })
export class ModerationModule {
  static forRoot({ history }: AppConfig): DynamicModule {
    if (history?.catalogue === undefined) return { module: ModerationModule };
    return {
      module: ModerationModule,
      imports: [HistoryDatabase.on('operators')],
      providers: [{ provide: ModerationStore, useClass: PostgresModeration }],
    };
  }
}
