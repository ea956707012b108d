import { caip2Of } from '../../../protocol/payment/network.js';
import { channelActionOf } from '../../../protocol/schemes/registry.js';
import type { ChannelAction } from '../../../protocol/schemes/scheme.js';
import type { SaleState, SettlementDetails, SettlementState } from '../../model/settlement.js';
import type { Settlement } from './settlement-queries.js';

/** `amount` is the signed amount. `settledAmount` is present if the scheme may settle less. Both in atomic units. */
interface PaymentStatus {
  readonly network: string;
  readonly scheme: string;
  readonly method: string;
  /** The action on a channel. */
  readonly action?: ChannelAction;
  readonly asset: string;
  readonly payer: string;
  readonly payTo: string;
  readonly amount: string;
  readonly settledAmount?: string;
  readonly nonce: string;
  readonly deadline: string;
}

/** The public facts of a settlement: whether it was paid, not who may deliver for it. */
export interface SettlementStatus {
  readonly settlementId: string;
  /**
   * - `archive`: the last archived state, because the ledger no longer has it.
   * - `simulation`: simulated for a test of a seller; nothing was sent.
   */
  readonly source: 'ledger' | 'archive' | 'simulation';
  readonly state: SettlementState;
  /** Whether the settlement has paid the payee, at the certainty of `finality`. */
  readonly paid: boolean;
  readonly finality: 'none' | 'included' | 'finalized';
  readonly sale: SaleState;
  readonly reason?: string;
  readonly transaction?: string;
  readonly transactions?: readonly string[];
  readonly block?: { readonly number: string; readonly hash?: string };
  readonly logIndex?: number;
  readonly batchSize?: number;
  readonly payment?: PaymentStatus;
  /** ISO 8601. */
  readonly times?: Readonly<Partial<Record<keyof SettlementDetails['times'], string>>>;
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

function paymentOf(details: SettlementDetails, settledAmount: bigint | undefined): PaymentStatus {
  const action = channelActionOf(details);
  return {
    network: caip2Of(details.chainId),
    scheme: details.scheme,
    method: details.method,
    ...(action !== undefined && { action }),
    asset: details.token,
    payer: details.payer,
    payTo: details.payTo,
    amount: details.amount.toString(),
    ...(settledAmount !== undefined && { settledAmount: settledAmount.toString() }),
    nonce: details.authorizationNonce.toString(),
    deadline: details.deadline.toString(),
  };
}

function timesOf({ times }: SettlementDetails): NonNullable<SettlementStatus['times']> {
  const known = Object.entries(times).filter(
    (entry): entry is [string, number] => typeof entry[1] === 'number',
  );
  return Object.fromEntries(known.map(([name, ms]) => [name, new Date(ms).toISOString()]));
}
