import { type DynamicModule, Global, Inject, Module, type OnModuleDestroy } from '@nestjs/common';
import type { AppConfig } from '../../platform/config/app-config.js';
import { SETTLEMENT_LISTING } from '../../settlement/ledger/queries/settlement-listing.js';
import { connectDatabase, type ConnectionUse, type Database } from '../postgres/database.js';
import { PostgresSettlementReader } from '../postgres/postgres-settlement-reader.js';
import { NO_LISTS, SettlementLists } from './settlement-lists.js';
import type { SettlementReader } from './settlement-reader.js';

/** The archive, for those who read it; neither is there without a history. */
interface ReadArchive {
  readonly database?: Database;
  readonly reader?: SettlementReader;
}

const READ_ARCHIVE = Symbol('READ_ARCHIVE');

/** Somebody waits for the answer: what takes longer is told as trouble. */
const READING: ConnectionUse = {
  ...{ name: 'x402-lists', most: 4, connectMs: 1000, statementMs: 3000 },
};

/** What sellers see of the history, in processes that answer them. */
@Global()
@Module({})
export class SellersModule implements OnModuleDestroy {
  constructor(@Inject(READ_ARCHIVE) private readonly archive: ReadArchive) {}

  static forRoot({ history }: AppConfig): DynamicModule {
    return {
      module: SellersModule,
      providers: [
        {
          provide: READ_ARCHIVE,
          // Nothing is asked at the start: what settles must not depend on it.
          useFactory: (): ReadArchive => {
            if (history === undefined) return {};
            const database = connectDatabase(history.databaseUrl, READING);
            return { database, reader: new PostgresSettlementReader(database) };
          },
        },
        {
          provide: SETTLEMENT_LISTING,
          inject: [READ_ARCHIVE],
          useFactory: ({ reader }: ReadArchive) =>
            reader === undefined ? NO_LISTS : new SettlementLists(reader),
        },
      ],
      exports: [SETTLEMENT_LISTING],
    };
  }

  async onModuleDestroy(): Promise<void> {
    await this.archive.database?.db.destroy();
  }
}
