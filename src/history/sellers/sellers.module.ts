import { type DynamicModule, Module } from '@nestjs/common';
import { ChainModule } from '../../platform/chain/chain.module.js';
import type { AppConfig } from '../../platform/config/app-config.js';
import { DatabaseModule } from '../../platform/database/database.module.js';
import { LedgerModule } from '../../settlement/ledger/ledger.module.js';
import { SETTLEMENT_LISTING } from '../../settlement/ledger/queries/settlement-listing.js';
import { Exports } from '../export/exports.js';
import { PostgresReaders } from '../postgres/postgres-readers.js';
import { ChainEvidence } from '../receipts/chain-evidence.js';
import { ReceiptKeysController } from '../receipts/receipt-keys.controller.js';
import { ReceiptSigner } from '../receipts/receipt-signer.js';
import { RECEIPT_SIGNER, Receipts } from '../receipts/receipts.js';
import { SellersV2Controller } from './sellers.v2.controller.js';
import { SettlementLists } from './settlement-lists.js';
import { ARCHIVE_READERS } from './settlement-reader.js';
import { TotalsOfSellers } from './settlement-totals.js';

/** The history for sellers, in processes with the role api. */
@Module({})
export class SellersModule {
  static forRoot({ history, receipts }: AppConfig): DynamicModule {
    return {
      module: SellersModule,
      imports: [DatabaseModule, LedgerModule, ChainModule],
      controllers: [SellersV2Controller, ReceiptKeysController],
      providers: [
        history === undefined
          ? { provide: ARCHIVE_READERS, useValue: {} }
          : { provide: ARCHIVE_READERS, useClass: PostgresReaders },
        { provide: SETTLEMENT_LISTING, useClass: SettlementLists },
        TotalsOfSellers,
        Exports,
        { provide: RECEIPT_SIGNER, useValue: receipts && ReceiptSigner.of(receipts) },
        ChainEvidence,
        Receipts,
      ],
      exports: [SETTLEMENT_LISTING],
    };
  }
}
