import { type DynamicModule, Module } from '@nestjs/common';
import type { AppConfig } from '../platform/config/app-config.js';
import { LedgerModule } from '../settlement/ledger/ledger.module.js';
import { HistoryTablesModule } from './history-tables.module.js';
import { LedgerAndChain } from './lost/ledger-and-chain.js';
import { LostSettlements, LostSources } from './lost/lost-settlements.js';
import { ChangeFollower } from './postgres/change-follower.js';
import { HistoryDatabase } from './postgres/database.module.js';
import { PostgresArchive } from './postgres/postgres-archive.js';
import { PostgresSettlementHistory } from './postgres/postgres-settlement-history.js';
import { PostgresUnfinished } from './postgres/postgres-unfinished.js';
import { EventWriter } from './webhooks/event-writer.js';

/** Whether a process resolves lost settlements: an archiver with access to chains. */
export function endsLost(config: AppConfig): boolean {
  return config.hasRole('history') && config.networks.length > 0;
}

/** Resolves archived settlements that are unfinished because the ledger lost them. */
@Module({})
export class LostModule {
  static forRoot({ webhooks }: AppConfig): DynamicModule {
    return {
      module: LostModule,
      imports: [LedgerModule, HistoryTablesModule, HistoryDatabase.on('background')],
      providers: [
        ...(webhooks === undefined ? [] : [{ provide: ChangeFollower, useClass: EventWriter }]),
        PostgresArchive,
        PostgresSettlementHistory,
        PostgresUnfinished,
        { provide: LostSources, useClass: LedgerAndChain },
        LostSettlements,
      ],
    };
  }
}
