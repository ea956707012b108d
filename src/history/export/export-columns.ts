import { caip2Of } from '../../protocol/payment/network.js';
import type { Settlement } from '../../settlement/ledger/queries/settlement-queries.js';
import { statusOf } from '../../settlement/ledger/queries/settlement-status.js';

/** One settlement as a row of a table; `undefined` without a value. Amounts are decimal text. */
interface ExportRow {
  readonly settlementId: string;
  readonly network: string | undefined;
  readonly scheme: string | undefined;
  readonly state: string;
  readonly paid: boolean;
  readonly finality: string;
  readonly reason: string | undefined;
  readonly asset: string | undefined;
  readonly payer: string | undefined;
  readonly payTo: string | undefined;
  /** The signed amount. */
  readonly authorized: string | undefined;
  /** The paid amount. */
  readonly amount: string | undefined;
  readonly nonce: string | undefined;
  readonly transaction: string | undefined;
  readonly blockNumber: bigint | undefined;
  readonly blockHash: string | undefined;
  readonly logIndex: number | undefined;
  readonly claimedAt: Date | undefined;
  readonly includedAt: Date | undefined;
  readonly finishedAt: Date | undefined;
}

/** The type of a column in formats with types. */
type ColumnType = 'text' | 'flag' | 'small' | 'large' | 'time';

/** The columns in their order. New columns must be appended, because readers may count columns. */
const EXPORT_COLUMNS: Readonly<Record<keyof ExportRow, ColumnType>> = {
  settlementId: 'text',
  network: 'text',
  scheme: 'text',
  state: 'text',
  paid: 'flag',
  finality: 'text',
  reason: 'text',
  asset: 'text',
  payer: 'text',
  payTo: 'text',
  authorized: 'text',
  amount: 'text',
  nonce: 'text',
  transaction: 'text',
  blockNumber: 'large',
  blockHash: 'text',
  logIndex: 'small',
  claimedAt: 'time',
  includedAt: 'time',
  finishedAt: 'time',
};

export const COLUMN_NAMES = Object.keys(EXPORT_COLUMNS) as readonly (keyof ExportRow)[];

export function exportRowOf(settlement: Settlement): ExportRow {
  const { view, details } = settlement;
  const { finality } = statusOf(settlement);
  const paidAmount = view.settledAmount ?? details?.amount;
  return {
    settlementId: view.id,
    network: details && caip2Of(details.chainId),
    scheme: details?.scheme,
    state: view.state,
    paid: view.isPaid,
    finality,
    reason: view.reason,
    asset: details?.token,
    payer: details?.payer,
    payTo: details?.payTo,
    authorized: details?.amount.toString(),
    amount: view.isPaid ? paidAmount?.toString() : undefined,
    nonce: details?.authorizationNonce.toString(),
    transaction: view.transaction,
    blockNumber: view.blockNumber,
    blockHash: details?.blockHash,
    logIndex: view.logIndex,
    claimedAt: dateOf(details?.times.claimed),
    includedAt: dateOf(details?.times.included),
    finishedAt: dateOf(details?.times.finished),
  };
}

function dateOf(ms: number | undefined): Date | undefined {
  return ms === undefined ? undefined : new Date(ms);
}
