import { Inject, Injectable } from '@nestjs/common';
import type { Address } from 'viem';
import { Clock } from '../../platform/concurrency/clock.js';
import { AppConfig } from '../../platform/config/app-config.js';
import { CodedError } from '../../platform/http/coded-error.js';
import { CHANNEL_SCHEME } from '../../protocol/schemes/registry.js';
import { onAnyChain } from '../../settlement/ledger/queries/any-chain.js';
import {
  type Settlement,
  SettlementQueries,
} from '../../settlement/ledger/queries/settlement-queries.js';
import type { SettlementDetails, SettlementView } from '../../settlement/model/settlement.js';
import { fromArchive, receiptsOff } from '../sellers/history-problems.js';
import { ARCHIVE_READERS, type SettlementReader } from '../sellers/settlement-reader.js';
import { ChainEvidence } from './chain-evidence.js';
import type { ReceiptKeys, SignedReceipt } from './dto/receipt.response.js';
import type { ReceiptSigner } from './receipt-signer.js';
import { paidAmountOf, type ReceiptEvidence, receiptOf } from './settlement-receipt.js';

/** A {@link ReceiptSigner}; `undefined` without `RECEIPT_KEY`. */
export const RECEIPT_SIGNER = Symbol('RECEIPT_SIGNER');

interface ReadArchive {
  readonly lists?: Pick<SettlementReader, 'byId'>;
}

/** Makes receipts for payments that are at least in a block. */
@Injectable()
export class Receipts {
  constructor(
    @Inject(RECEIPT_SIGNER) private readonly signer: ReceiptSigner | undefined,
    @Inject(SettlementQueries) private readonly queries: Pick<SettlementQueries, 'byId'>,
    @Inject(AppConfig) private readonly config: Pick<AppConfig, 'ledgerChainIds'>,
    @Inject(ARCHIVE_READERS) private readonly readers: ReadArchive,
    @Inject(ChainEvidence) private readonly evidence: Pick<ChainEvidence, 'find'>,
    @Inject(Clock) private readonly clock: Pick<Clock, 'now'>,
  ) {}

  /** The public keys of receipts; `undefined` without `RECEIPT_KEY`. */
  get keys(): ReceiptKeys | undefined {
    return this.signer?.keys;
  }

  /**
   * @param payees - payees whose settlements the caller may see.
   * @returns `undefined` for an unknown settlement, and for another payee.
   * @throws CodedError, RedisUnavailableError, ChainUnavailableError
   */
  async of(id: string, payees: ReadonlySet<Address>): Promise<SignedReceipt | undefined> {
    const { signer, clock } = this;
    if (signer === undefined) throw receiptsOff(501);
    const { view, details } = (await this.#find(id)) ?? {};
    if (view === undefined || details === undefined) return undefined;
    if (!payees.has(details.payTo)) return undefined;
    // A deposit is still money of its payer in escrow, so it does not pay the payee.
    if (!view.isPaid || details.scheme === CHANNEL_SCHEME) {
      throw new CodedError(
        409,
        'not_paid',
        'There is no receipt, because no block contains this payment.',
      );
    }
    const evidence = await this.#evidenceOf(view, details);
    if (evidence === undefined) {
      throw new CodedError(
        409,
        'no_evidence',
        'There is no receipt, because no single transfer on the chain proves this payment.',
      );
    }
    return signer.sign(receiptOf(view, details, evidence, clock.now()));
  }

  /** The ledger has the newest state; the archive has settlements that left the ledger. */
  async #find(id: string): Promise<Settlement | undefined> {
    const { queries, config, readers } = this;
    const reader = readers.lists;
    const [answer] = await onAnyChain(config.ledgerChainIds, (chainId) =>
      queries.byId(chainId, id),
    );
    const known = answer?.found;
    if (known?.details !== undefined || reader === undefined) return known;
    return (await fromArchive(reader.byId(id))) ?? known;
  }

  /** A settlement with amount 0 has no transaction. Of a foreign payment only the transaction is known. */
  async #evidenceOf(
    view: SettlementView,
    details: SettlementDetails,
  ): Promise<ReceiptEvidence | undefined> {
    const { transaction, blockNumber, logIndex } = view;
    const { blockHash, chainId, token: asset, payer, payTo } = details;
    if (transaction === undefined) return undefined;
    if (blockNumber !== undefined && logIndex !== undefined && blockHash !== undefined) {
      return { transaction, blockNumber, blockHash, logIndex };
    }
    const transfer = { asset, payer, payTo, amount: paidAmountOf(view, details) };
    return this.evidence.find(chainId, transaction, transfer);
  }
}
