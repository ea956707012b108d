import type { Address, Hex } from 'viem';
import { CHANNEL_ESCROW } from '../../evm/contracts.js';
import { canonical, isEcdsaSignature } from '../../evm/signature.js';
import { isSignedByContract } from '../checks-on-chain.js';
import {
  type GoodVerdict,
  type Refusal,
  refuse,
  refuseByState,
  type Verdict,
  type VerifyContext,
  type VerifyScope,
} from '../verdict.js';
import { channelsOf, claimBatchDigest, type ClaimRow, hasVoucherKey } from './channel.js';
import type { ClaimBatch } from './claim-batch.js';
import type { BatchClaim } from './claims.js';
import { claimedCall, claimedGas, readClaimed } from './escrow.js';
import { isVoucherSigned, missingContract, UNREAD } from './verify-channel.js';

const SIMULATION_FAILED = 'invalid_batch_settlement_evm_claim_simulation_failed';

/** Rows that would go through, in the form in which the contract takes them. */
interface GoodRows {
  readonly kind: 'good';
  readonly rows: readonly ClaimRow[];
  /** Of the authorizer over the rows. */
  readonly signature: Hex;
  /**
   * Atomic units of each token that were not claimed before, of each row that brings some. Empty: none does, and nothing is
   * to be sent; or only the terms were judged.
   */
  readonly fresh: ReadonlyMap<Address, readonly bigint[]>;
}

type RowsVerdict = GoodRows | { readonly kind: 'refused'; readonly refusal: Refusal };

/**
 * Judges a claim row by row: one bad row would hold up all others. The state of all channels is read in one
 * call, before a transaction is thought of: old claims are public, and sending one again costs gas.
 *
 * @throws ChainUnavailableError
 */
export async function verifyClaims(
  { scheme, method, from, rows, signature }: BatchClaim,
  context: VerifyContext,
  scope: VerifyScope,
): Promise<Verdict> {
  const rowsVerdict = await verifyRows(rows, signature, context, scope);
  if (rowsVerdict.kind === 'refused') return rowsVerdict.refusal;
  const { fresh, ...judged } = rowsVerdict;
  const authorization: ClaimBatch = {
    scheme,
    method,
    from,
    signature: judged.signature,
    chainId: context.chain.chainId,
    rows: judged.rows,
  };
  const good: GoodVerdict = { isValid: true, authorization, payerHasCode: false };
  return scope === 'terms' ? good : { ...good, isDone: fresh.size === 0, brings: fresh };
}

/**
 * The same of rows that a claim or a refund carries. They may be of several tokens and receivers: the contract wants
 * one authorizer, and no more. Their terms are what the authorizer signed: the state of the channels, and the vouchers,
 * do not count.
 *
 * @throws ChainUnavailableError
 */
export async function verifyRows(
  sent: readonly ClaimRow[],
  signed: Hex | undefined,
  context: VerifyContext,
  scope: VerifyScope,
): Promise<RowsVerdict> {
  const { chain } = context;
  const { chainId } = chain;
  if (signed === undefined) {
    return refused(refuse('invalid_batch_settlement_evm_authorizer_not_configured'));
  }
  const authorizers = new Set(sent.map(({ config }) => config.receiverAuthorizer));
  const [authorizer] = authorizers;
  if (authorizer === undefined) return refused(refuse(SIMULATION_FAILED));
  if (authorizers.size > 1) {
    return refused(refuse('invalid_batch_settlement_evm_authorizer_address_mismatch'));
  }
  const missing = await missingContract(chain, [CHANNEL_ESCROW]);
  if (missing !== undefined) return refused(missing);
  // Signatures of vouchers are not part of what the authorizer signs. Its own is looked at first: with it the rows are
  // known to be the seller's, and worth more work.
  const digest = claimBatchDigest(sent, chainId);
  const signature = await signatureOf(authorizer, digest, signed, context);
  if (signature === undefined) {
    return refused({
      ...refuse(SIMULATION_FAILED),
      cause: 'The receiver authorizer has not signed the rows of the claim.',
    });
  }
  if (scope === 'terms') return { kind: 'good', rows: sent, signature, fresh: new Map() };
  const ids = channelsOf(sent, chainId);
  const [ordered, outcome] = await Promise.all([
    Promise.all(sent.map((row) => inOrder(row, context))),
    chain.call(claimedCall(ids), claimedGas(ids.length)),
  ]);
  const states = readClaimed(outcome, ids.length);
  if (states === undefined) return refused(UNREAD);
  const rows: ClaimRow[] = [];
  const fresh = new Map<Address, bigint[]>();
  const faults: Promise<string | undefined>[] = [];
  // Vouchers of one wallet are checked one at a time, because the queue for calls of one wallet is short.
  const judged = new Map<Address, Promise<string | undefined>>();
  // A second row that brings something would cost gas for money that one row brings: the deposit bounds the amount, not
  // the number of rows.
  const claimed = new Map<Hex, bigint>();
  for (const [index, row] of ordered.entries()) {
    const id = ids[index] ?? '0x';
    const { balance, totalClaimed } = states[index] ?? { balance: 0n, totalClaimed: 0n };
    const before = claimed.get(id) ?? totalClaimed;
    // The contract skips it before it looks at its voucher.
    if (row.totalClaimed <= before) {
      rows.push(skipped(row));
      continue;
    }
    rows.push(row);
    const { token } = row.config;
    fresh.set(token, [...(fresh.get(token) ?? []), row.totalClaimed - before]);
    const isSecond = claimed.has(id);
    claimed.set(id, row.totalClaimed);
    const { payer } = row.config;
    const ofWallet = hasVoucherKey(row.config) ? undefined : judged.get(payer);
    const fault = (ofWallet ?? NO_FAULT).then(async (earlier) => {
      if (earlier !== undefined) return earlier;
      const why = isSecond ? SECOND_ROW : await faultOf(row, id, balance, context);
      return why && `claims[${index}] ${why}.`;
    });
    if (!hasVoucherKey(row.config)) judged.set(payer, fault);
    faults.push(fault);
  }
  const cause = (await Promise.all(faults)).find((one) => one !== undefined);
  if (cause !== undefined) return refused({ ...refuseByState(SIMULATION_FAILED), cause });
  return { kind: 'good', rows, signature, fresh };
}

function refused(refusal: Refusal): RowsVerdict {
  return { kind: 'refused', refusal };
}

/** Its signature is not checked: one of a key is kept for a block that may be replaced, one of any length is not stored. */
function skipped(row: ClaimRow): ClaimRow {
  return isEcdsaSignature(row.signature) ? row : { ...row, signature: '0x' };
}

/** A row with its signature as the contract takes it; a contract gives every byte of its own a meaning. */
async function inOrder(row: ClaimRow, { chain }: VerifyContext): Promise<ClaimRow> {
  const isByContract = !hasVoucherKey(row.config) && (await chain.hasCode(row.config.payer));
  return isByContract ? row : { ...row, signature: canonical(row.signature) };
}

/**
 * @returns the signature of an authorizer as the contract takes it; `undefined` where it is not the authorizer's.
 * @throws ChainUnavailableError
 */
export async function signatureOf(
  authorizer: Address,
  digest: Hex,
  sent: Hex,
  context: VerifyContext,
): Promise<Hex | undefined> {
  if (await context.chain.hasCode(authorizer)) {
    return (await isSignedByContract(context, authorizer, digest, sent)) ? sent : undefined;
  }
  const signature = canonical(sent);
  return (await context.recoverSigner(digest, signature)) === authorizer ? signature : undefined;
}

const NO_FAULT: Promise<string | undefined> = Promise.resolve(undefined);
const SECOND_ROW = 'is one more row of a channel';

/** Why the contract would refuse a row, in words. */
async function faultOf(
  { config, maxClaimable, totalClaimed, signature }: ClaimRow,
  channelId: Hex,
  balance: bigint,
  context: VerifyContext,
): Promise<string | undefined> {
  if (totalClaimed > maxClaimable) return 'claims more than its voucher allows';
  if (totalClaimed > balance) return 'claims more than its channel holds';
  const voucher = { channelId, maxClaimable, signature };
  return (await isVoucherSigned({ config, voucher }, context))
    ? undefined
    : 'has a voucher that its payer has not signed';
}
