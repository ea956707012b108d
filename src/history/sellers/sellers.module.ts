import { type DynamicModule, Global, Inject, Module, type OnModuleDestroy } from '@nestjs/common';
import { ChainRegistry } from '../../platform/chain/chain-registry.js';
import { systemClock } from '../../platform/concurrency/clock.js';
import { AppConfig } from '../../platform/config/app-config.js';
import { provide } from '../../platform/nest/provide.js';
import { SETTLEMENT_QUERIES } from '../../settlement/ledger/ledger.module.js';
import { SETTLEMENT_LISTING } from '../../settlement/ledger/queries/settlement-listing.js';
import type { SettlementQueries } from '../../settlement/ledger/queries/settlement-queries.js';
import { Exports } from '../export/exports.js';
import { connectDatabase, type ConnectionUse, type Database } from '../postgres/database.js';
import { PostgresSettlementReader } from '../postgres/postgres-settlement-reader.js';
import { ChainEvidence } from '../receipts/chain-evidence.js';
import { ReceiptKeysController } from '../receipts/receipt-keys.controller.js';
import { ReceiptSigner } from '../receipts/receipt-signer.js';
import { Receipts } from '../receipts/receipts.js';
import { SellersV2Controller } from './sellers.v2.controller.js';
import { NO_LISTS, SettlementLists } from './settlement-lists.js';
import type { SettlementReader } from './settlement-reader.js';
import { TotalsOfSellers } from './settlement-totals.js';

/** The archive, for those who read it; neither is there without a history. */
interface ReadArchive {
  readonly databases: readonly Database[];
  readonly reader?: SettlementReader;
  /** For what reads much: it has connections of its own, so that it delays no list. */
  readonly patientReader?: SettlementReader;
  readonly summingReader?: SettlementReader;
}

interface ReceiptParts {
  readonly config: AppConfig;
  readonly archive: ReadArchive;
  readonly queries: SettlementQueries;
  readonly chains: ChainRegistry;
}

const READ_ARCHIVE = Symbol('READ_ARCHIVE');

/** Somebody waits for the answer: what takes longer is told as trouble. */
const READING: ConnectionUse = {
  name: 'x402-lists',
  most: 4,
  connectMs: 1000,
  statementMs: 3000,
  readsInOrder: true,
};
const READING_MUCH: ConnectionUse = {
  name: 'x402-exports',
  most: 2,
  connectMs: 1000,
  statementMs: 15_000,
  readsInOrder: true,
};
/** A sum has no order: the database reads as it likes. */
const SUMMING: ConnectionUse = {
  name: 'x402-totals',
  most: 2,
  connectMs: 1000,
  statementMs: 15_000,
};

/** What sellers see of the history, in processes that answer them. */
@Global()
@Module({})
export class SellersModule implements OnModuleDestroy {
  constructor(@Inject(READ_ARCHIVE) private readonly archive: ReadArchive) {}

  static forRoot({ history }: AppConfig): DynamicModule {
    return {
      module: SellersModule,
      controllers: [SellersV2Controller, ReceiptKeysController],
      providers: [
        {
          provide: READ_ARCHIVE,
          // Nothing is asked at the start: what settles must not depend on it.
          useFactory: (): ReadArchive => {
            if (history === undefined) return { databases: [] };
            const [quick, patient, summing] = [READING, READING_MUCH, SUMMING].map((use) =>
              connectDatabase(history.databaseUrl, use),
            ) as [Database, Database, Database];
            return {
              databases: [quick, patient, summing],
              reader: new PostgresSettlementReader(quick),
              patientReader: new PostgresSettlementReader(patient),
              summingReader: new PostgresSettlementReader(summing),
            };
          },
        },
        {
          provide: SETTLEMENT_LISTING,
          inject: [READ_ARCHIVE],
          useFactory: ({ reader }: ReadArchive) =>
            reader === undefined ? NO_LISTS : new SettlementLists(reader),
        },
        {
          provide: TotalsOfSellers,
          inject: [READ_ARCHIVE],
          useFactory: ({ summingReader }: ReadArchive) =>
            new TotalsOfSellers(summingReader, () => systemClock.now()),
        },
        {
          provide: Exports,
          inject: [READ_ARCHIVE],
          useFactory: ({ patientReader }: ReadArchive) => new Exports(patientReader),
        },
        provide(
          Receipts,
          {
            config: AppConfig,
            archive: READ_ARCHIVE,
            queries: SETTLEMENT_QUERIES,
            chains: ChainRegistry,
          },
          receiptsOf,
        ),
      ],
      exports: [SETTLEMENT_LISTING],
    };
  }

  async onModuleDestroy(): Promise<void> {
    await Promise.all(this.archive.databases.map(({ db }) => db.destroy()));
  }
}

async function receiptsOf({ config, archive, queries, chains }: ReceiptParts): Promise<Receipts> {
  return new Receipts({
    queries,
    chainIds: config.ledgerChainIds,
    reader: archive.reader,
    clock: systemClock,
    signer: config.receipts && (await ReceiptSigner.of(config.receipts)),
    evidence: new ChainEvidence(chains),
  });
}
