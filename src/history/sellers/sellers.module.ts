import { type DynamicModule, Module } from '@nestjs/common';
import { ChainModule } from '../../platform/chain/chain.module.js';
import type { AppConfig } from '../../platform/config/app-config.js';
import { DatabaseModule } from '../../platform/database/database.module.js';
import { DatabasePools, type PoolName } from '../../platform/database/database-pools.js';
import { LedgerModule } from '../../settlement/ledger/ledger.module.js';
import { SETTLEMENT_LISTING } from '../../settlement/ledger/queries/settlement-listing.js';
import { Exports } from '../export/exports.js';
import { databaseOn } from '../postgres/database.js';
import { PostgresSettlementReader } from '../postgres/postgres-settlement-reader.js';
import { ChainEvidence } from '../receipts/chain-evidence.js';
import { ReceiptKeysController } from '../receipts/receipt-keys.controller.js';
import { ReceiptSigner } from '../receipts/receipt-signer.js';
import { RECEIPT_SIGNER, Receipts } from '../receipts/receipts.js';
import { SellersV2Controller } from './sellers.v2.controller.js';
import { SettlementLists } from './settlement-lists.js';
import {
  ARCHIVE_READERS,
  type ArchiveReaders,
  type SettlementReader,
} from './settlement-reader.js';
import { TotalsOfSellers } from './settlement-totals.js';

/** What sellers see of the history, in processes that answer them. */
@Module({})
export class SellersModule {
  static forRoot({ history, receipts }: AppConfig): DynamicModule {
    return {
      module: SellersModule,
      imports: [DatabaseModule, LedgerModule, ChainModule],
      controllers: [SellersV2Controller, ReceiptKeysController],
      providers: [
        {
          provide: ARCHIVE_READERS,
          inject: [DatabasePools],
          useFactory: (pools: DatabasePools): ArchiveReaders =>
            history === undefined ? {} : readersOn(pools),
        },
        { provide: SETTLEMENT_LISTING, useClass: SettlementLists },
        TotalsOfSellers,
        Exports,
        {
          provide: RECEIPT_SIGNER,
          useFactory: () => receipts && ReceiptSigner.of(receipts),
        },
        ChainEvidence,
        Receipts,
      ],
      exports: [SETTLEMENT_LISTING],
    };
  }
}

function readersOn(pools: DatabasePools): ArchiveReaders {
  const readerOf = (name: PoolName): SettlementReader =>
    new PostgresSettlementReader(databaseOn(pools.of(name)));
  return { lists: readerOf('lists'), exports: readerOf('exports'), totals: readerOf('totals') };
}
