import { caip2Of } from '../../../protocol/payment/network.js';
import type { SaleState, SettlementDetails, SettlementState } from '../../model/settlement.js';
import type { Settlement } from './settlement-queries.js';

/** A settlement as anyone may see it: whether it landed, not whether it is yours to sell. */
export interface SettlementStatus {
  readonly settlementId: string;
  /**
   * `archive`: as it was last archived; the ledger does not hold it any more. `simulation`: it was played for a
   * seller's test, and nothing of it happened.
   */
  readonly source: 'ledger' | 'archive' | 'simulation';
  readonly state: SettlementState;
  /** Whether the payee has been paid by it, at the certainty of `finality`. */
  readonly paid: boolean;
  readonly finality: 'none' | 'included' | 'finalized';
  readonly sale: SaleState;
  readonly reason?: string;
  readonly transaction?: string;
  readonly transactions?: readonly string[];
  readonly block?: { readonly number: string; readonly hash?: string };
  readonly logIndex?: number;
  readonly batchSize?: number;
  /** `amount` was signed; `settledAmount` is there where the scheme lets it be less. Both in the token's smallest unit. */
  readonly payment?: Readonly<Record<string, string>>;
  /** ISO 8601. */
  readonly times?: Readonly<Record<string, string>>;
}

export function statusOf(settlement: Settlement): SettlementStatus {
  const { view, details } = settlement;
  const { id, blockNumber, logIndex, batchSize, reason, transaction } = view;
  const isFinal = view.state !== 'included' && view.isPaid;
  return {
    settlementId: id,
    source: 'isArchived' in settlement ? 'archive' : 'ledger',
    state: view.state,
    paid: view.isPaid,
    finality: view.isPaid ? (isFinal ? 'finalized' : 'included') : 'none',
    sale: view.sale.state,
    ...(reason !== undefined && { reason }),
    ...(transaction !== undefined && { transaction }),
    ...(details !== undefined && { transactions: details.hashes }),
    ...(blockNumber !== undefined && {
      block: {
        number: blockNumber.toString(),
        ...(details?.blockHash !== undefined && { hash: details.blockHash }),
      },
    }),
    ...(logIndex !== undefined && { logIndex }),
    ...(batchSize !== undefined && { batchSize }),
    ...(details !== undefined && {
      payment: paymentOf(details, view.settledAmount),
      times: timesOf(details),
    }),
  };
}

function paymentOf(
  details: SettlementDetails,
  settledAmount: bigint | undefined,
): Readonly<Record<string, string>> {
  return {
    network: caip2Of(details.chainId),
    scheme: details.scheme,
    method: details.method,
    asset: details.token,
    payer: details.payer,
    payTo: details.payTo,
    amount: details.amount.toString(),
    ...(settledAmount !== undefined && { settledAmount: settledAmount.toString() }),
    nonce: details.authorizationNonce.toString(),
    deadline: details.deadline.toString(),
  };
}

function timesOf({ times }: SettlementDetails): Readonly<Record<string, string>> {
  const known = Object.entries(times).filter(
    (entry): entry is [string, number] => typeof entry[1] === 'number',
  );
  return Object.fromEntries(known.map(([name, ms]) => [name, new Date(ms).toISOString()]));
}
