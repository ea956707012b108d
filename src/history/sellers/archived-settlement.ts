import type { Hex } from 'viem';
import { type Reason, REASONS } from '../../protocol/reasons.js';
import { isMethodName } from '../../protocol/schemes/registry.js';
import type { Settlement } from '../../settlement/ledger/queries/settlement-queries.js';
import type { SaleState, SettlementState } from '../../settlement/model/settlement.js';
import type { SettlementRow } from '../settlement-row.js';

/** A row as PostgreSQL gives it: numbers of 64 bits and more are text. */
export type ReadRow = Omit<
  SettlementRow,
  'chain_id' | 'epoch' | 'version_ms' | 'version_sequence'
> & {
  readonly chain_id: string;
};

/** The settlement that a row was made of. */
export function settlementOf(row: ReadRow): Settlement {
  return {
    isLive: false,
    view: {
      id: row.id.toString('base64url'),
      // Only we write rows, and of states that we know.
      state: row.state as SettlementState,
      isPaid: row.is_paid,
      sale: {
        state: row.sale as SaleState,
        requester: row.sold_to ?? undefined,
        soldKeyTag: row.sold_key ?? undefined,
        boundKeyTag: row.bound_key ?? undefined,
      },
      termsTag: row.terms_tag.toString('base64url'),
      signedTag: row.signed_tag.toString('base64url'),
      transaction: hexOf(row.transaction),
      reason: reasonOf(row.reason),
      blockNumber: numberOf(row.block_number),
      logIndex: row.log_index ?? undefined,
      batchSize: row.batch_size ?? undefined,
      isAsync: row.is_async,
      settledAmount: numberOf(row.settled_amount),
    },
    details: detailsOf(row),
  };
}

function detailsOf(row: ReadRow): Settlement['details'] {
  const [token, payer, payTo] = [hexOf(row.asset), hexOf(row.payer), hexOf(row.pay_to)];
  const method = row.method ?? undefined;
  if (token === undefined || payer === undefined || payTo === undefined) return undefined;
  if (row.scheme === null || !isMethodName(method)) return undefined;
  return {
    ...{ scheme: row.scheme, method, chainId: Number(row.chain_id) },
    ...{ token, payer, payTo },
    amount: BigInt(row.amount ?? 0),
    authorizationNonce: BigInt(row.authorization_nonce ?? 0),
    deadline: BigInt(row.deadline ?? 0),
    hashes: (row.transactions ?? []).map((hash): Hex => `0x${hash.toString('hex')}`),
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

function hexOf(bytes: Buffer | null): Hex | undefined {
  return bytes === null ? undefined : `0x${bytes.toString('hex')}`;
}

function numberOf(digits: string | null): bigint | undefined {
  return digits === null ? undefined : BigInt(digits);
}

/** A newer version may know reasons that this one does not. */
function reasonOf(text: string | null): Reason | undefined {
  return text !== null && Object.hasOwn(REASONS, text) ? (text as Reason) : undefined;
}
