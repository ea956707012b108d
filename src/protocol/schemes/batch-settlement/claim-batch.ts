import { encodeFunctionData, parseAbi } from 'viem';
import type { Authorization } from '../../evm/authorization.js';
import type { Call } from '../../evm/calls.js';
import { CHANNEL_ESCROW } from '../../evm/contracts.js';
import type { StateEvidence } from '../scheme.js';
import { channelsOf, type ClaimRow, CONFIG_STRUCT } from './channel.js';
import type { BATCH_SETTLEMENT } from './claims.js';
import { claimedCall, readClaimed } from './escrow.js';

/** What a receiver collects in one transaction, signed by its authorizer. `from` is the receiver. */
export interface ClaimBatch extends Authorization {
  readonly scheme: typeof BATCH_SETTLEMENT;
  readonly method: 'channel-claim';
  readonly chainId: number;
  readonly rows: readonly ClaimRow[];
}

const CLAIM_ABI = parseAbi([
  CONFIG_STRUCT,
  'struct Voucher { Config channel; uint128 maxClaimableAmount; }',
  'struct Claim { Voucher voucher; bytes signature; uint128 totalClaimed; }',
  'function claimWithSignature(Claim[] claims, bytes signature)',
]);

/** The call that collects. Anybody may send it. */
export function claimCallOf({ rows, signature }: Pick<ClaimBatch, 'rows' | 'signature'>): Call {
  const claims = rows.map(({ config: channel, maxClaimable, signature: signed, totalClaimed }) => {
    return {
      voucher: { channel, maxClaimableAmount: maxClaimable },
      signature: signed,
      totalClaimed,
    };
  });
  return {
    to: CHANNEL_ESCROW,
    data: encodeFunctionData({ abi: CLAIM_ABI, args: [claims, signature] }),
  };
}

/** A row takes about 25 000 with its calldata. */
const ROW_GAS = 30_000n;

/**
 * Gas that a claim may cost. The code of its authorizer and of wallets that sign vouchers may use up all that is left of
 * it: together they get no more than one payment may.
 *
 * @param usual - what the operator allows for one payment.
 */
export function claimGasCap({ rows }: Pick<ClaimBatch, 'rows'>, usual: bigint): bigint {
  return usual + ROW_GAS * BigInt(rows.length);
}

/**
 * A row that was claimed before is skipped in silence, so that neither the receipt nor its logs say whether a
 * claim is done: the totals of its channels do.
 */
export const CLAIM_EVIDENCE: StateEvidence<ClaimBatch> = {
  by: 'state',
  callOf: ({ rows, chainId }) => claimedCall(channelsOf(rows, chainId)),
  isDone: (outcome, { rows }) =>
    readClaimed(outcome, rows.length)?.every(
      ({ totalClaimed }, index) => totalClaimed >= (rows[index]?.totalClaimed ?? 0n),
    ),
};
