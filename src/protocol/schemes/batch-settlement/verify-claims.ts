import type { Hex } from 'viem';
import { CHANNEL_ESCROW } from '../../evm/contracts.js';
import type { Payment } from '../../payment/payment.js';
import type { Reason } from '../../reasons.js';
import { isSignedByContract } from '../checks-on-chain.js';
import { type Refusal, refuse, refuseByState, type VerifyContext } from '../verdict.js';
import { channelIdOf, claimBatchDigest, type ClaimRow, hasVoucherKey } from './channel.js';
import { canonical, type ClaimBatch } from './claim-batch.js';
import type { BatchClaim } from './claims.js';
import { claimedCall, claimedGas, readClaimed } from './escrow.js';
import { isVoucherSigned, missingContract, UNREAD } from './verify-channel.js';

const SIMULATION_FAILED = 'invalid_batch_settlement_evm_claim_simulation_failed';

export type ClaimVerdict =
  /** It brings `fresh` atomic units that were not claimed before. */
  | { readonly kind: 'good'; readonly batch: ClaimBatch; readonly fresh: bigint }
  /** Every row of it was claimed before: there is nothing to send. */
  | { readonly kind: 'done'; readonly batch: ClaimBatch }
  | { readonly kind: 'refused'; readonly refusal: Refusal };

/**
 * Judges a claim row by row: one bad row would hold up all others. The state of all channels is read in one
 * call, before a transaction is thought of: old claims are public, and sending one again costs gas.
 *
 * @throws ChainUnavailableError
 */
export async function verifyClaims(
  payment: Payment,
  claim: BatchClaim,
  context: VerifyContext,
): Promise<ClaimVerdict> {
  const { chain } = context;
  const { chainId } = chain;
  const broken = wrongClaim(payment, claim);
  if (broken !== undefined) return refused(refuse(broken));
  const missing = await missingContract(chain, [CHANNEL_ESCROW]);
  if (missing !== undefined) return refused(missing);
  const ids = claim.rows.map(({ config }) => channelIdOf(config, chainId));
  const outcome = await chain.call(claimedCall(ids), claimedGas(ids.length));
  const states = readClaimed(outcome, ids.length);
  if (states === undefined) return refused(UNREAD);

  const { signature: signed = '0x', scheme, method, from } = claim;
  // Signatures are not part of what the authorizer signs: they may be put in order.
  const rows = await Promise.all(claim.rows.map((row) => inOrder(row, context)));
  const digest = claimBatchDigest(rows, chainId);
  const signature = await authorizerSignature(claim, digest, signed, context);
  if (signature === undefined) {
    return refused(refuse('invalid_batch_settlement_evm_authorizer_address_mismatch'));
  }
  const batch: ClaimBatch = { scheme, method, from, signature, chainId, rows };
  let fresh = 0n;
  // A channel may have several rows: each is held against the one before.
  const claimed = new Map<Hex, bigint>();
  for (const [index, row] of rows.entries()) {
    const id = ids[index] ?? '0x';
    const { balance, totalClaimed } = states[index] ?? { balance: 0n, totalClaimed: 0n };
    const before = claimed.get(id) ?? totalClaimed;
    if (row.totalClaimed <= before) continue;
    const fault = await faultOf(row, id, balance, context);
    if (fault !== undefined) {
      const cause = `claims[${index}] ${fault}.`;
      return refused({ ...refuseByState(SIMULATION_FAILED), cause });
    }
    fresh += row.totalClaimed - before;
    claimed.set(id, row.totalClaimed);
  }
  return fresh === 0n ? { kind: 'done', batch } : { kind: 'good', batch, fresh };
}

function refused(refusal: Refusal): ClaimVerdict {
  return { kind: 'refused', refusal };
}

/** The first broken one of the checks that need neither the chain nor a signature. */
function wrongClaim(
  { requirements, accepted }: Payment,
  { rows, signature }: BatchClaim,
): Reason | undefined {
  if (accepted.scheme !== 'batch-settlement') return 'invalid_batch_settlement_evm_scheme';
  if (accepted.network !== requirements.networkAsSent) {
    return 'invalid_batch_settlement_evm_network_mismatch';
  }
  if (signature === undefined) return 'invalid_batch_settlement_evm_authorizer_not_configured';
  const { payTo, asset } = requirements;
  if (!rows.every(({ config }) => config.receiver === payTo)) {
    return 'invalid_batch_settlement_evm_receiver_mismatch';
  }
  if (!rows.every(({ config }) => config.token === asset)) {
    return 'invalid_batch_settlement_evm_token_mismatch';
  }
  const authorizers = new Set(rows.map(({ config }) => config.receiverAuthorizer));
  return authorizers.size > 1
    ? 'invalid_batch_settlement_evm_authorizer_address_mismatch'
    : undefined;
}

/** A row with its signature as the contract takes it; a contract gives every byte of its own a meaning. */
async function inOrder(row: ClaimRow, { chain }: VerifyContext): Promise<ClaimRow> {
  const isByContract = !hasVoucherKey(row.config) && (await chain.hasCode(row.config.payer));
  return isByContract ? row : { ...row, signature: canonical(row.signature) };
}

/** @returns the signature as the contract takes it; `undefined` where it is not the authorizer's. */
async function authorizerSignature(
  { rows }: BatchClaim,
  digest: Hex,
  sent: Hex,
  context: VerifyContext,
): Promise<Hex | undefined> {
  const authorizer = rows[0]?.config.receiverAuthorizer;
  if (authorizer === undefined) return undefined;
  if (await context.chain.hasCode(authorizer)) {
    return (await isSignedByContract(context, authorizer, digest, sent)) ? sent : undefined;
  }
  const signature = canonical(sent);
  return (await context.recoverSigner(digest, signature)) === authorizer ? signature : undefined;
}

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
