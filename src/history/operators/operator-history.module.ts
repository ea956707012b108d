import { Inject, Module, type OnModuleDestroy } from '@nestjs/common';
import { systemClock } from '../../platform/concurrency/clock.js';
import { AppConfig } from '../../platform/config/app-config.js';
import { connectDatabase, type ConnectionUse, type Database } from '../postgres/database.js';
import { PostgresOperatorArchive } from '../postgres/postgres-operator-archive.js';
import type { OperatorArchive } from './operator-archive.js';
import { OperatorHistory } from './operator-history.js';
import { SettlementPasts } from './settlement-past.js';

interface Connected {
  readonly databases: readonly Database[];
  /** Missing without a history. */
  readonly archive?: OperatorArchive;
}

const CONNECTED = Symbol('OPERATOR_ARCHIVE');
const now = (): number => systemClock.now();

/** Connections of their own: whatever operators look for delays no seller and no settle. */
const LOOKING: ConnectionUse = {
  name: 'x402-operators',
  most: 4,
  connectMs: 1000,
  statementMs: 5000,
  isReadOnly: true,
};
const SUMMING: ConnectionUse = {
  name: 'x402-operators-sums',
  most: 1,
  connectMs: 1000,
  statementMs: 15_000,
  isReadOnly: true,
};

/** What the operator page shows of the history. */
@Module({
  providers: [
    {
      provide: CONNECTED,
      inject: [AppConfig],
      // Nothing is asked at the start: what settles must not depend on it.
      useFactory: ({ history }: AppConfig): Connected => {
        if (history === undefined) return { databases: [] };
        const quick = connectDatabase(history.databaseUrl, LOOKING);
        const patient = connectDatabase(history.databaseUrl, SUMMING);
        const archive = new PostgresOperatorArchive(quick, patient);
        return { databases: [quick, patient], archive };
      },
    },
    {
      provide: OperatorHistory,
      inject: [CONNECTED],
      useFactory: ({ archive }: Connected) => new OperatorHistory(archive, now),
    },
    {
      provide: SettlementPasts,
      inject: [CONNECTED],
      useFactory: ({ archive }: Connected) => new SettlementPasts(archive, now),
    },
  ],
  exports: [OperatorHistory, SettlementPasts],
})
export class OperatorHistoryModule implements OnModuleDestroy {
  constructor(@Inject(CONNECTED) private readonly connected: Connected) {}

  async onModuleDestroy(): Promise<void> {
    await Promise.all(this.connected.databases.map(({ db }) => db.destroy()));
  }
}
