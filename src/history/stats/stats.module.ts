import { type DynamicModule, Module } from '@nestjs/common';
import type { AppConfig } from '../../platform/config/app-config.js';
import { HistoryDatabase } from '../postgres/database.module.js';
import { PaymentSums } from '../postgres/payment-sums.js';
import { PublicStats } from './public-stats.js';
import { StatsController } from './stats.controller.js';

/** Imported unless `PUBLIC_STATS` is false. */
@Module({ controllers: [StatsController], providers: [PublicStats] })
export class StatsModule {
  static forRoot({ history }: AppConfig): DynamicModule {
    if (history === undefined) return { module: StatsModule };
    return {
      module: StatsModule,
      imports: [HistoryDatabase.on('totals')],
      providers: [PaymentSums],
    };
  }
}
