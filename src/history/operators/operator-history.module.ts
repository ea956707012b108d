import { type DynamicModule, Module } from '@nestjs/common';
import type { AppConfig } from '../../platform/config/app-config.js';
import { HistoryDatabase } from '../postgres/database.module.js';
import { PostgresOperatorArchive } from '../postgres/postgres-operator-archive.js';
import { OPERATOR_ARCHIVE } from './operator-archive.js';
import { OperatorHistory } from './operator-history.js';
import { SettlementPasts } from './settlement-past.js';

/** The history on the pages of the operators' console. */
@Module({
  providers: [OperatorHistory, SettlementPasts],
  exports: [OperatorHistory, SettlementPasts],
})
export class OperatorHistoryModule {
  static forRoot({ history }: AppConfig): DynamicModule {
    if (history === undefined) return { module: OperatorHistoryModule };
    return {
      module: OperatorHistoryModule,
      imports: [HistoryDatabase.on('operators', 'operatorTotals')],
      providers: [{ provide: OPERATOR_ARCHIVE, useClass: PostgresOperatorArchive }],
    };
  }
}
