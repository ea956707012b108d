import { type Address, encodeFunctionData, type Hex, parseAbi } from 'viem';
import { uintWord } from '../../evm/abi-words.js';
import type { Authorization } from '../../evm/authorization.js';
import { decodeUint } from '../../evm/call-results.js';
import { type Call, selectorOf } from '../../evm/calls.js';
import { CHANNEL_ESCROW } from '../../evm/contracts.js';
import type { Presented, StateEvidence } from '../scheme.js';
import {
  type Refusal,
  refuse,
  refuseByState,
  type Verdict,
  type VerifyContext,
  type VerifyScope,
} from '../verdict.js';
import {
  type ChannelConfig,
  channelIdOf,
  type ChannelState,
  type ClaimRow,
  CONFIG_STRUCT,
  configWords,
  refundDigest,
} from './channel.js';
import { claimCallOf, claimGasCap } from './claim-batch.js';
import type { BATCH_SETTLEMENT, RefundClaim } from './claims.js';
import { readChannel, refundNonceCall } from './escrow.js';
import { missingContract, UNREAD } from './verify-channel.js';
import { signatureOf, verifyRows } from './verify-claims.js';

const SIMULATION_FAILED = 'invalid_batch_settlement_evm_refund_simulation_failed';
const NO_BALANCE = 'invalid_batch_settlement_evm_refund_no_balance';

/** Money that goes back to the payer of a channel, after what is claimed of it. `from` is that payer. */
export interface Refund extends Authorization {
  readonly scheme: typeof BATCH_SETTLEMENT;
  readonly method: 'channel-refund';
  readonly chainId: number;
  readonly config: ChannelConfig;
  /** 32 bytes. */
  readonly channelId: Hex;
  /** Atomic units, as the authorizer signed it: what is free goes back where it is less. */
  readonly amount: bigint;
  readonly refundNonce: bigint;
  readonly rows: readonly ClaimRow[];
  /** Of the authorizer over the rows; `undefined` where nothing of them is new: then they are not sent. */
  readonly claimSignature: Hex | undefined;
}

/**
 * Judges a refund and what is claimed with it. Nothing free is refused here: the contract would use its nonce up and
 * pay nothing. Its terms are what the authorizer signed: the state of the channel does not count.
 *
 * @throws ChainUnavailableError
 */
export async function verifyRefund(
  claim: RefundClaim,
  context: VerifyContext,
  scope: VerifyScope,
): Promise<Verdict> {
  const { scheme, method, from, config, amount, refundNonce, signature: signed } = claim;
  const { chain } = context;
  const missing = await missingContract(chain, [CHANNEL_ESCROW]);
  if (missing !== undefined) return missing;
  const channelId = channelIdOf(config, chain.chainId);
  const state = scope === 'full' ? await readChannel(chain, channelId) : undefined;
  if (scope === 'full' && state === undefined) return UNREAD;
  const free = state && freeOf(claim, state, chain.chainId);
  if (free !== undefined && free <= 0n) {
    return notedAsDone(refuseByState(NO_BALANCE), claim, state, context);
  }
  if (signed === undefined) {
    return refuse('invalid_batch_settlement_evm_authorizer_not_configured');
  }
  const digest = refundDigest(channelId, claim, chain.chainId);
  const signature = await signatureOf(config.receiverAuthorizer, digest, signed, context);
  if (signature === undefined) {
    return failing('The receiver authorizer of the channel has not signed this refund.');
  }
  if (amount === 0n) return failing('Its amount is 0.');
  if (state !== undefined && state.refundNonce !== refundNonce) {
    const refusal = failing(`The next refund of the channel has the nonce ${state.refundNonce}.`);
    return notedAsDone(refusal, claim, state, context);
  }
  const rowsVerdict =
    claim.rows.length === 0
      ? undefined
      : await verifyRows(claim.rows, claim.claimSignature, context, scope);
  if (rowsVerdict?.kind === 'refused') return rowsVerdict.refusal;
  const authorization: Refund = {
    scheme,
    method,
    from,
    signature,
    chainId: chain.chainId,
    config,
    channelId,
    amount,
    refundNonce,
    rows: rowsVerdict?.rows ?? [],
    claimSignature:
      rowsVerdict !== undefined && rowsVerdict.fresh.size > 0 ? rowsVerdict.signature : undefined,
  };
  const good = { isValid: true, authorization, payerHasCode: false } as const;
  if (free === undefined) return good;
  const fresh = rowsVerdict?.fresh ?? new Map<Address, readonly bigint[]>();
  const given = amount < free ? amount : free;
  const brings = new Map([...fresh, [config.token, [...(fresh.get(config.token) ?? []), given]]]);
  return { ...good, brings };
}

/** The same refusal, and whether the refund is done: its nonce is used, and what comes with it is claimed. */
async function notedAsDone(
  refusal: Refusal,
  claim: RefundClaim,
  state: ChannelState | undefined,
  context: VerifyContext,
): Promise<Refusal> {
  const { rows, claimSignature, refundNonce } = claim;
  if (state === undefined || state.refundNonce <= refundNonce) return refusal;
  const terms = await verifyRefund(claim, context, 'terms');
  if (!terms.isValid) return refusal;
  const judged =
    rows.length === 0 ? undefined : await verifyRows(rows, claimSignature, context, 'full');
  const isClaimed = judged === undefined || (judged.kind === 'good' && judged.fresh.size === 0);
  return { ...refusal, isDone: isClaimed };
}

/** What of a channel is free once the rows of its refund are claimed. Below zero where they claim more than it holds. */
function freeOf(
  { rows, config }: RefundClaim,
  { balance, totalClaimed }: ChannelState,
  chainId: number,
): bigint {
  const channelId = channelIdOf(config, chainId);
  const claimed = rows
    .filter((row) => channelIdOf(row.config, chainId) === channelId)
    .reduce((most, row) => (row.totalClaimed > most ? row.totalClaimed : most), totalClaimed);
  return balance - claimed;
}

function failing(cause: string): Refusal {
  return { ...refuseByState(SIMULATION_FAILED), cause };
}

const REFUND_ABI = parseAbi([
  CONFIG_STRUCT,
  'function refundWithSignature(Config config, uint128 amount, uint256 nonce, bytes signature)',
]);
const MULTICALL_ABI = parseAbi(['function multicall(bytes[] data)']);

/** The call that gives back, and claims before that where there is something to claim. Anybody may send it. */
export function refundCallOf(refund: Refund): Call {
  const { config, amount, refundNonce, signature, rows, claimSignature } = refund;
  const args = [config, amount, refundNonce, signature] as const;
  const data = encodeFunctionData({ abi: REFUND_ABI, args });
  if (claimSignature === undefined) return { to: CHANNEL_ESCROW, data };
  const both = [claimCallOf({ rows, signature: claimSignature }).data, data];
  return {
    to: CHANNEL_ESCROW,
    data: encodeFunctionData({ abi: MULTICALL_ABI, args: [both] }),
  };
}

const REFUND = selectorOf(
  'refundWithSignature((address,address,address,address,address,uint40,bytes32),uint128,uint256,bytes)',
);

/**
 * What calldata asks for, by itself or among other calls: this refund, or another amount with its nonce. A refund that
 * comes with other rows is the same one: the totals of the channels show what is claimed.
 */
export function presentedRefund(
  input: Hex,
  { config, refundNonce, amount }: Pick<Refund, 'config' | 'refundNonce' | 'amount'>,
): Presented {
  const [channel, nonce] = [`${REFUND}${configWords(config)}`, uintWord(refundNonce)];
  let presented: Presented = 'nothing';
  for (let at = input.indexOf(channel); at >= 0; at = input.indexOf(channel, at + 1)) {
    const ofAmount = at + channel.length;
    if (input.startsWith(uintWord(amount) + nonce, ofAmount)) return 'this';
    if (input.startsWith(nonce, ofAmount + 64)) presented = 'another';
  }
  return presented;
}

/** Beside what its claim may cost. */
const REFUND_GAS = 100_000n;

/** @param usual - what the operator allows for one payment. */
export function refundGasCap({ rows }: Pick<Refund, 'rows'>, usual: bigint): bigint {
  return REFUND_GAS + claimGasCap({ rows }, usual);
}

/** The nonce of a channel goes on with each refund. */
export const REFUND_EVIDENCE: StateEvidence<Refund> = {
  by: 'state',
  callOf: ({ channelId }) => refundNonceCall(channelId),
  isDone: (outcome, { refundNonce }) => {
    const next = decodeUint(outcome);
    return next === undefined ? undefined : next > refundNonce;
  },
};
