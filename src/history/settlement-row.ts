import type { Hex } from 'viem';
import type { Change } from '../settlement/ledger/outbox.js';

/** A row of `x402.settlements` to write. */
export interface SettlementRow {
  readonly id: Buffer;
  readonly claimed_at: Date;
  readonly chain_id: number;
  readonly epoch: number;
  readonly version_ms: number;
  readonly version_sequence: number;
  readonly state: string;
  readonly is_paid: boolean;
  readonly reason: string | null;
  readonly transaction: Buffer | null;
  readonly block_number: string | null;
  readonly block_hash: Buffer | null;
  readonly log_index: number | null;
  readonly batch_size: number | null;
  readonly sale: string;
  readonly sold_to: string | null;
  readonly sold_key: string | null;
  readonly bound_key: string | null;
  readonly is_told: boolean;
  readonly is_kept: boolean;
  readonly is_async: boolean;
  readonly authorization_id: Buffer;
  readonly terms_tag: Buffer;
  readonly signed_tag: Buffer;
  readonly scheme: string | null;
  readonly method: string | null;
  readonly asset: Buffer | null;
  readonly payer: Buffer | null;
  readonly pay_to: Buffer | null;
  readonly amount: string | null;
  readonly settled_amount: string | null;
  readonly authorization_nonce: string | null;
  readonly deadline: string | null;
  readonly transactions: Buffer[] | null;
  readonly arrived_at: Date | null;
  readonly allocated_at: Date | null;
  readonly included_at: Date | null;
  readonly finished_at: Date | null;
  readonly unclaimed_at: Date | null;
}

/** Columns that never change once they are known. A record that was restored without them does not erase them. */
export const LASTING_COLUMNS = [
  'scheme',
  'method',
  'asset',
  'payer',
  'pay_to',
  'amount',
  'authorization_nonce',
  'deadline',
  'transactions',
  'arrived_at',
  'allocated_at',
] as const satisfies readonly (keyof SettlementRow)[];

const WORD = 32;
const ADDRESS = 20;

/** @throws TypeError for a record with a value that no column can hold. */
export function rowOf(
  chainId: number,
  epoch: number,
  { id, version, settlement }: Extract<Change, { readonly kind: 'recorded' }>,
): SettlementRow {
  const { view, details, authorizationId, isAcknowledged, isPinned, blockHash, times } = settlement;
  const { sale } = view;
  return {
    id: wordOf(id),
    claimed_at: new Date(times.claimed),
    chain_id: chainId,
    epoch,
    version_ms: version.ms,
    version_sequence: version.sequence,
    state: view.state,
    is_paid: view.isPaid,
    reason: view.reason ?? null,
    transaction: bytesOf(view.transaction, WORD),
    block_number: view.blockNumber?.toString() ?? null,
    block_hash: bytesOf(blockHash, WORD),
    log_index: view.logIndex ?? null,
    batch_size: view.batchSize ?? null,
    sale: sale.state,
    sold_to: sale.requester ?? null,
    sold_key: sale.soldKeyTag ?? null,
    bound_key: sale.boundKeyTag ?? null,
    is_told: isAcknowledged,
    is_kept: isPinned,
    is_async: view.isAsync,
    authorization_id: wordOf(authorizationId),
    terms_tag: wordOf(view.termsTag),
    // Empty for a record that a lane restored, because a lane stores no signature.
    signed_tag: view.signedTag === '' ? Buffer.alloc(0) : wordOf(view.signedTag),
    scheme: details?.scheme ?? null,
    method: details?.method ?? null,
    asset: bytesOf(details?.token, ADDRESS),
    payer: bytesOf(details?.payer, ADDRESS),
    pay_to: bytesOf(details?.payTo, ADDRESS),
    amount: details?.amount.toString() ?? null,
    settled_amount: view.settledAmount?.toString() ?? null,
    authorization_nonce: details?.authorizationNonce.toString() ?? null,
    deadline: details?.deadline.toString() ?? null,
    transactions: details?.hashes.map((hash) => present(bytesOf(hash, WORD))) ?? null,
    arrived_at: dateOf(details?.times.arrived),
    allocated_at: dateOf(details?.times.allocated),
    included_at: dateOf(times.included),
    finished_at: dateOf(times.finished),
    unclaimed_at: dateOf(times.unclaimed),
  };
}

/** The 32 bytes of an id, which is a hash in base64url. */
function wordOf(tag: string): Buffer {
  const bytes = Buffer.from(tag, 'base64url');
  if (bytes.length === WORD && bytes.toString('base64url') === tag) return bytes;
  throw new TypeError('the id of a settlement is not a hash');
}

function bytesOf(hex: Hex | undefined, length: number): Buffer | null {
  if (hex === undefined) return null;
  const bytes = Buffer.from(hex.slice(2), 'hex');
  if (bytes.length === length && hex.length === 2 + 2 * length) return bytes;
  throw new TypeError('a hash or an address of a settlement has the wrong length');
}

function dateOf(ms: number | undefined): Date | null {
  return ms === undefined ? null : new Date(ms);
}

function present<T>(value: T | null): T {
  if (value === null) throw new TypeError('a settlement lacks a value that the archive requires');
  return value;
}

/** The newest change of each settlement, because one statement can write a row only once. */
export function newestOf(changes: readonly Change[]): readonly Change[] {
  const newest = new Map<string, Change>();
  for (const change of changes) {
    const known = newest.get(change.id);
    if (known === undefined || isOlder(known, change)) newest.set(change.id, change);
  }
  return [...newest.values()];
}

function isOlder({ version: a }: Change, { version: b }: Change): boolean {
  return a.ms < b.ms || (a.ms === b.ms && a.sequence < b.sequence);
}
