import type { ActionMethod } from '../protocol/evm/transfer-method.js';
import { type Reason, REASONS } from '../protocol/reasons.js';
import { isMethodName } from '../protocol/schemes/registry.js';
import type { ArchivedSettlement } from '../settlement/ledger/settlement-archive.js';
import type { RecordedSettlement } from '../settlement/model/recorded-settlement.js';
import type {
  SettlementDetails,
  SettlementState,
  SettlementView,
} from '../settlement/model/settlement.js';
import { STATE_OF } from '../settlement/model/settlement-machine.js';
import { hexOf } from './postgres/bytea.js';
import type { SettlementRow } from './settlement-row.js';

/** A row as PostgreSQL takes and returns it: large numbers are text. */
export type ArchivedRow = Omit<
  SettlementRow,
  'chain_id' | 'epoch' | 'version_ms' | 'version_sequence'
> & {
  readonly chain_id: number | string;
};

/** @throws TypeError for a row that no version of this program has written. */
export function settlementOfRow(row: ArchivedRow): ArchivedSettlement {
  return {
    chainId: Number(row.chain_id),
    view: viewOfRow(row, stateOf(row.state)),
    details: detailsOfRow(row, methodOf(row.method)),
    authorizationId: tagOf(row.authorization_id),
    isAcknowledged: row.is_told,
    isPinned: row.is_kept,
    blockHash: hexOf(row.block_hash),
    times: {
      claimed: row.claimed_at.getTime(),
      included: row.included_at?.getTime(),
      finished: row.finished_at?.getTime(),
      unclaimed: row.unclaimed_at?.getTime(),
    },
  };
}

/** @param state - the state as the caller reads it from the row. */
export function viewOfRow(row: ArchivedRow, state: SettlementState): SettlementView {
  return {
    id: tagOf(row.id),
    state,
    isPaid: row.is_paid,
    sale: {
      state: row.sale === 'sold' ? 'sold' : 'open',
      requester: row.sold_to ?? undefined,
      soldKeyTag: row.sold_key ?? undefined,
      boundKeyTag: row.bound_key ?? undefined,
    },
    termsTag: tagOf(row.terms_tag),
    signedTag: tagOf(row.signed_tag),
    transaction: hexOf(row.transaction),
    reason: reasonOf(row.reason),
    blockNumber: row.block_number === null ? undefined : BigInt(row.block_number),
    logIndex: row.log_index ?? undefined,
    batchSize: row.batch_size ?? undefined,
    isAsync: row.is_async,
    settledAmount: row.settled_amount === null ? undefined : BigInt(row.settled_amount),
  };
}

/**
 * `undefined` for a record that the ledger restored without its payment.
 *
 * @param method - the method as the caller reads it from the row.
 */
export function detailsOfRow(
  row: ArchivedRow,
  method: ActionMethod | undefined,
): SettlementDetails | undefined {
  const [token, payer, payTo] = [hexOf(row.asset), hexOf(row.payer), hexOf(row.pay_to)];
  if (row.scheme === null || method === undefined || !token || !payer || !payTo) return undefined;
  return {
    scheme: row.scheme,
    method,
    chainId: Number(row.chain_id),
    token,
    payer,
    payTo,
    amount: BigInt(row.amount ?? 0),
    authorizationNonce: BigInt(row.authorization_nonce ?? 0),
    deadline: BigInt(row.deadline ?? 0),
    hashes: (row.transactions ?? []).map((hash) => hexOf(hash)),
    blockHash: hexOf(row.block_hash),
    times: {
      arrived: row.arrived_at?.getTime(),
      claimed: row.claimed_at.getTime(),
      allocated: row.allocated_at?.getTime(),
      included: row.included_at?.getTime(),
      finished: row.finished_at?.getTime(),
    },
  };
}

function stateOf(text: string): SettlementState {
  const state = Object.values(STATE_OF).find((one) => one === text);
  if (state === undefined) throw new TypeError('an archived settlement has an unknown state');
  return state;
}

function methodOf(text: string | null): ActionMethod | undefined {
  if (text === null) return undefined;
  if (!isMethodName(text)) throw new TypeError('an archived settlement has an unknown method');
  return text;
}

/** A newer version may know reasons that this one does not. */
function reasonOf(text: string | null): Reason | undefined {
  return text !== null && Object.hasOwn(REASONS, text) ? (text as Reason) : undefined;
}

function tagOf(bytes: Buffer): string {
  return bytes.toString('base64url');
}

/**
 * Whether the archive has all facts of a record. Extra facts of the archive do not count, such as the payment of a
 * record that the ledger restored without it. The time of a restored claim does not count either.
 */
export function holdsAllOf(archived: RecordedSettlement, record: RecordedSettlement): boolean {
  return textOf(archived, record.details !== undefined) === textOf(record, true);
}

function textOf(settlement: RecordedSettlement, withDetails: boolean): string {
  const { view, details, authorizationId, isAcknowledged, isPinned, blockHash, times } = settlement;
  const { included, finished } = times;
  // Block and end are compared once, in the form of the record.
  const payment = withDetails
    ? details && { ...details, blockHash: undefined, times: undefined }
    : undefined;
  return JSON.stringify(
    { view, payment, authorizationId, isAcknowledged, isPinned, blockHash, included, finished },
    (_, value: unknown) => {
      if (typeof value === 'bigint') return value.toString();
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
      // Keys are sorted, so that equal objects give equal text.
      return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
    },
  );
}
