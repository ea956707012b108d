import { type DynamicModule, Global, Module } from '@nestjs/common';
import { ChainRegistry } from '../../platform/chain/chain-registry.js';
import { systemClock } from '../../platform/concurrency/clock.js';
import { AppConfig } from '../../platform/config/app-config.js';
import { DatabasePools, type PoolName } from '../../platform/database/database-pools.js';
import { provide } from '../../platform/nest/provide.js';
import { SETTLEMENT_QUERIES } from '../../settlement/ledger/ledger.module.js';
import { SETTLEMENT_LISTING } from '../../settlement/ledger/queries/settlement-listing.js';
import type { SettlementQueries } from '../../settlement/ledger/queries/settlement-queries.js';
import { Exports } from '../export/exports.js';
import { databaseOn } from '../postgres/database.js';
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

/** What sellers see of the history, in processes that answer them. */
@Global()
@Module({})
export class SellersModule {
  static forRoot({ history }: AppConfig): DynamicModule {
    return {
      module: SellersModule,
      controllers: [SellersV2Controller, ReceiptKeysController],
      providers: [
        {
          provide: READ_ARCHIVE,
          inject: [DatabasePools],
          useFactory: (pools: DatabasePools): ReadArchive => {
            if (history === undefined) return {};
            const readerOf = (name: PoolName): SettlementReader =>
              new PostgresSettlementReader(databaseOn(pools.of(name)));
            return {
              reader: readerOf('lists'),
              patientReader: readerOf('exports'),
              summingReader: readerOf('totals'),
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
