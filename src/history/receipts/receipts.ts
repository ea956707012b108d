import type { Address } from 'viem';
import type { Clock } from '../../platform/concurrency/clock.js';
import { CodedError } from '../../platform/http/coded-error.js';
import { onAnyChain } from '../../settlement/ledger/queries/any-chain.js';
import type {
  Settlement,
  SettlementQueries,
} from '../../settlement/ledger/queries/settlement-queries.js';
import type { SettlementDetails, SettlementView } from '../../settlement/model/settlement.js';
import { fromArchive, receiptsOff } from '../sellers/history-problems.js';
import type { SettlementReader } from '../sellers/settlement-reader.js';
import type { EvidenceFinder } from './chain-evidence.js';
import type { ReceiptKeys, ReceiptSigner, SignedReceipt } from './receipt-signer.js';
import { paidAmountOf, type ReceiptEvidence, receiptOf } from './settlement-receipt.js';

export interface ReceiptsParts {
  /** `undefined` without `RECEIPT_KEY`. */
  readonly signer: ReceiptSigner | undefined;
  readonly queries: Pick<SettlementQueries, 'byId'>;
  readonly chainIds: readonly number[];
  /** `undefined` without a history. */
  readonly reader: Pick<SettlementReader, 'byId'> | undefined;
  readonly evidence: EvidenceFinder;
  readonly clock: Pick<Clock, 'now'>;
}

/** Receipts of what is at least in a block. */
export class Receipts {
  constructor(private readonly parts: ReceiptsParts) {}

  /** By which they are verified; `undefined` where none are signed. */
  get keys(): ReceiptKeys | undefined {
    return this.parts.signer?.keys;
  }

  /**
   * @param payees - whose settlements the caller may see.
   * @returns `undefined` for what is not known, and for what was paid to others.
   * @throws CodedError, RedisUnavailableError, ChainUnavailableError
   */
  async of(id: string, payees: ReadonlySet<Address>): Promise<SignedReceipt | undefined> {
    const { signer, clock } = this.parts;
    if (signer === undefined) throw receiptsOff(501);
    const { view, details } = (await this.#find(id)) ?? {};
    if (view === undefined || details === undefined) return undefined;
    if (!payees.has(details.payTo)) return undefined;
    if (!view.isPaid) {
      throw new CodedError(
        409,
        'not_paid',
        'No block shows this payment; there is no receipt of it.',
      );
    }
    const evidence = await this.#evidenceOf(view, details);
    if (evidence === undefined) {
      throw new CodedError(
        409,
        'no_evidence',
        'No single transfer on the chain shows this payment; there is no receipt of it.',
      );
    }
    return signer.sign(receiptOf(view, details, evidence, clock.now()));
  }

  /** The ledger knows the newest; what it has let go of is in the archive. */
  async #find(id: string): Promise<Settlement | undefined> {
    const { queries, chainIds, reader } = this.parts;
    const [answer] = await onAnyChain(chainIds, (chainId) => queries.byId(chainId, id));
    const known = answer?.found;
    if (known?.details !== undefined || reader === undefined) return known;
    return (await fromArchive(reader.byId(id))) ?? known;
  }

  /** What is settled at zero has no transaction; what others sent is known by its transaction alone. */
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
    return this.parts.evidence.find(chainId, transaction, transfer);
  }
}
