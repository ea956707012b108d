import type { Address, Hex } from 'viem';
import { CallNotSentError, CodeUnresponsiveError } from '../../errors.js';
import type { StateReader } from '../../evm/chain-reader.js';
import { isSignedByContract } from '../checks-on-chain.js';
import type { BlockOfFailure, Culprits } from '../scheme.js';
import {
  channelIdOf,
  channelsOf,
  claimBatchDigest,
  type ClaimRow,
  hasVoucherKey,
  refundDigest,
  voucherDigest,
} from './channel.js';
import type { ClaimBatch } from './claim-batch.js';
import { type ChannelFunds, readFunds } from './escrow.js';
import type { Refund } from './refund.js';

/**
 * Finds the cause of a claim or refund that failed after a successful simulation. After some failures, claims of the
 * same cause are refused for a while.
 */

type Collecting = ClaimBatch | Refund;

/** The authorizer and the payers of rows. A payer is named together with the authorizer, which may claim any rows. */
export function blamedFor(rows: readonly ClaimRow[], authorizer: Address): readonly string[] {
  return [authorizer, ...payersIn(rows, authorizer)];
}

function payersIn(rows: readonly ClaimRow[], authorizer: Address): readonly string[] {
  return [...new Set(rows.map(({ config }) => `${authorizer}:${config.payer}`))];
}

/** A claim without rows is refused where it is verified. */
export function authorizerOf({ rows, from }: Pick<ClaimBatch, 'rows' | 'from'>): Address {
  return rows[0]?.config.receiverAuthorizer ?? from;
}

/**
 * - A payer may withdraw the money of a row before the claim is mined.
 * - A wallet may confirm its voucher in a simulation and deny it in the transaction. So may an authorizer that is a
 *   contract.
 */
export const CULPRITS: Culprits<Collecting> = {
  suspects: (asked) => suspectsIn(asked.rows, signerOf(asked)),
  among: async (asked, block) => {
    const { rows, chainId } = asked;
    const signer = signerOf(asked);
    const ids = channelsOf(rows, chainId);
    const [before, after] = await Promise.all([
      readFunds(block.before, ids),
      readFunds(block.after, ids),
    ]);
    // The contract skips a row that was claimed before, and checks nothing of it.
    const isOpen = (row: ClaimRow, index: number): boolean =>
      row.totalClaimed > (after?.[index]?.totalClaimed ?? 0n);
    const open = rows.filter(isOpen);
    const emptied = rows.filter(
      (row, index) => isOpen(row, index) && isEmptied(row, before?.[index], after?.[index]),
    );
    const [denied, isDenied] = await Promise.all([
      deniedAmong(open, chainId, block),
      isDeniedByAuthorizer(asked, signer, block),
    ]);
    const seen = [...payersIn([...emptied, ...denied], signer), ...(isDenied ? [signer] : [])];
    return seen.length > 0 ? seen : suspectsIn(open, signer);
  },
};

function signerOf(asked: Collecting): Address {
  return 'config' in asked ? asked.config.receiverAuthorizer : authorizerOf(asked);
}

/** The possible causes. A contract can make the transaction fail and hide the cause in the same block. */
function suspectsIn(rows: readonly ClaimRow[], authorizer: Address): readonly string[] {
  const wallets = rows.filter(({ config }) => !hasVoucherKey(config));
  return wallets.length > 0 ? payersIn(wallets, authorizer) : [authorizer];
}

/** Whether a row claims more than its channel held during the block. Its payer may have withdrawn and deposited again. */
function isEmptied(
  { totalClaimed }: ClaimRow,
  before: ChannelFunds | undefined,
  after: ChannelFunds | undefined,
): boolean {
  if (after !== undefined && totalClaimed > after.balance) return true;
  const asked = before?.withdrawal;
  if (before === undefined || asked === undefined || asked.requestedAt === 0n) return false;
  const hasEnded = asked.requestedAt !== after?.withdrawal.requestedAt;
  const free = before.balance - before.totalClaimed;
  const left = before.balance - (asked.amount < free ? asked.amount : free);
  return hasEnded && totalClaimed > left;
}

/** Rows whose wallet denies its voucher. */
async function deniedAmong(
  rows: readonly ClaimRow[],
  chainId: number,
  { after, maxGas }: BlockOfFailure,
): Promise<readonly ClaimRow[]> {
  const ofWallets = rows.filter(({ config }) => !hasVoucherKey(config));
  const wallets = [...new Set(ofWallets.map(({ config }) => config.payer))];
  const asked = wallets.map(async (wallet) => {
    if (!(await after.hasCode(wallet))) return [];
    // One at a time: the queue for calls of one wallet is short.
    for (const row of ofWallets.filter(({ config }) => config.payer === wallet)) {
      const { config, maxClaimable, signature } = row;
      const channelId = channelIdOf(config, chainId);
      const digest = voucherDigest({ channelId, maxClaimable }, chainId);
      if (await isDenied(after, maxGas, wallet, digest, signature)) return [row];
    }
    return [];
  });
  return (await Promise.all(asked)).flat();
}

async function isDeniedByAuthorizer(
  asked: Collecting,
  authorizer: Address,
  { after, maxGas }: BlockOfFailure,
): Promise<boolean> {
  if (!(await after.hasCode(authorizer))) return false;
  for (const [digest, signature] of signedBy(asked)) {
    if (await isDenied(after, maxGas, authorizer, digest, signature)) return true;
  }
  return false;
}

/** The digests that the authorizer signed, with its signatures. */
function signedBy(asked: Collecting): readonly (readonly [digest: Hex, signature: Hex])[] {
  const { rows, chainId, signature } = asked;
  if (!('config' in asked)) return [[claimBatchDigest(rows, chainId), signature]];
  const refund = [refundDigest(asked.channelId, asked, chainId), signature] as const;
  const { claimSignature } = asked;
  return claimSignature === undefined
    ? [refund]
    : [[claimBatchDigest(rows, chainId), claimSignature], refund];
}

async function isDenied(
  chain: StateReader,
  maxGas: bigint,
  account: Address,
  digest: Hex,
  signature: Hex,
): Promise<boolean> {
  try {
    return !(await isSignedByContract({ chain, maxGas }, account, digest, signature));
  } catch (error) {
    // The node answers other calls, but not this one.
    if (error instanceof CodeUnresponsiveError) return true;
    // The queue of new code was full: that says nothing about this account.
    if (error instanceof CallNotSentError) return false;
    throw error;
  }
}
