/**
 * Actions of sellers: to collect, to be paid, to give back. No goods depend on them, and a repeated request for one that
 * is done succeeds. Any account may send them, and the state of the escrow shows that they are done: a transaction
 * without an effect succeeds too.
 */

import { type Address, maxUint256 } from 'viem';
import { addressWord, bytes32Word, keccakOfHex, uintWord } from '../../evm/abi-words.js';
import { decodeUint } from '../../evm/call-results.js';
import { READ_GAS } from '../../evm/chain-reader.js';
import { CHANNEL_ESCROW } from '../../evm/contracts.js';
import type { ActionMethod } from '../../evm/transfer-method.js';
import type { ActionKind } from '../authorization-method.js';
import type { Encoded } from '../encoded.js';
import type { Action } from '../scheme.js';
import { channelIdOf, channelsOf, claimBatchDigest, type ClaimRow } from './channel.js';
import { CLAIM_EVIDENCE, type ClaimBatch, claimCallOf, claimGasCap } from './claim-batch.js';
import type { BatchClaim, PayoutClaim, RefundClaim } from './claims.js';
import { authorizerOf, blamedFor, CULPRITS } from './culprits.js';
import { amountInLog, readChannel, REFUNDED_TOPIC, refundNonceCall } from './escrow.js';
import {
  type Payout,
  PAYOUT_EVIDENCE,
  payoutCallOf,
  settledTopics,
  toBePaid,
  verifyPayout,
} from './payout.js';
import {
  presentedRefund,
  type Refund,
  REFUND_EVIDENCE,
  refundCallOf,
  refundGasCap,
  verifyRefund,
} from './refund.js';
import { channelExtra } from './verify-channel.js';
import { verifyClaims } from './verify-claims.js';

/** Its nonce names all that the escrow does once, for every sender. */
function kindOf(name: ActionMethod): ActionKind {
  return {
    name,
    keyOf: (chainId, _asset, _payer, nonce) => [name, chainId, CHANNEL_ESCROW, nonce],
  };
}

/** The same for all of them. */
const SHARED = {
  isRepeatable: true,
  isDoneByAnybody: true,
  termsMismatch: () => undefined,
  mayMeanUsed: () => 'no',
  // None of them is of a time.
  deadlineOf: () => maxUint256,
  isExpiredAt: () => false,
  inFlightKindOf: () => 'n',
  mayShare: () => false,
  diagnosesUse: false,
  reasonOfRevert: () => undefined,
  selectors: [],
  presentedIn: () => undefined,
} satisfies Partial<Action>;

const INSUFFICIENT = 'invalid_batch_settlement_evm_insufficient_balance';

/** What a failure of an action is called, of whichever kind it is. */
function failingBy({
  expired,
  simulationFailed,
  transactionFailed,
}: Pick<Action['reasons'], 'expired' | 'simulationFailed' | 'transactionFailed'>) {
  return {
    reasons: {
      used: 'duplicate_settlement',
      expired,
      insufficientBalance: INSUFFICIENT,
      insufficientAllowance: INSUFFICIENT,
      simulationFailed,
      transactionFailed,
      noEvidence: transactionFailed,
    },
    diagnose: async (_chain, _terms, _authorization, { again }) =>
      (await again()).status === 'paid' ? undefined : simulationFailed,
  } satisfies Partial<Action>;
}

const CLAIM_KIND = kindOf('channel-claim');

/** Collects what vouchers are worth. */
export const CLAIM: Action<BatchClaim, ClaimBatch> = {
  ...SHARED,
  method: CLAIM_KIND,
  channelAction: 'claim',
  ...failingBy({
    expired: 'invalid_batch_settlement_evm_claim_transaction_failed',
    simulationFailed: 'invalid_batch_settlement_evm_claim_simulation_failed',
    transactionFailed: 'invalid_batch_settlement_evm_claim_transaction_failed',
  }),
  inFlightKindOf: () => 'c',
  partiesOf: ({ rows }) => partiesIn(rows),
  blamedFor: (claim) => blamedFor(claim.rows, authorizerOf(claim)),
  signedPartsOf: ({ rows, from }, { chainId, asset }) =>
    rows.length === 0
      ? undefined
      : {
          key: CLAIM_KIND.keyOf(chainId, asset, from, claimNonceOf(rows, chainId)),
          terms: [],
          domain: [],
        },
  verify: (_, claim, context, scope) => verifyClaims(claim, context, scope),

  termsOf: () => [],
  nonceOf: ({ rows, chainId }) => claimNonceOf(rows, chainId),
  decode: (stored) => {
    const encoded = stored as Encoded<ClaimBatch>;
    return { ...(encoded as unknown as ClaimBatch), rows: encoded.rows.map(decodeRow) };
  },
  callOf: claimCallOf,
  // Nothing leaves the escrow by a claim.
  transferOf: ({ from }, { asset }) => {
    return { asset, payer: CHANNEL_ESCROW, payTo: from, amount: 0n };
  },
  runsCodeOf: authorizerOf,
  // The payee is the receiver of the first row, which may bring nothing.
  chargedTo: authorizerOf,
  gasCapOf: claimGasCap,
  raisedBy: ({ rows, chainId }) => channelsOf(rows, chainId),
  gasProfileOf: ({ rows }) => `claim of ${rows.length}`,
  evidence: CLAIM_EVIDENCE,
  culprits: CULPRITS,
};

const PAYOUT_KIND = kindOf('channel-settle');

/** Pays a receiver what it has claimed of one token. */
export const PAYOUT: Action<PayoutClaim, Payout> = {
  ...SHARED,
  method: PAYOUT_KIND,
  channelAction: 'settle',
  ...failingBy({
    expired: 'invalid_batch_settlement_evm_nothing_to_settle',
    simulationFailed: 'invalid_batch_settlement_evm_settle_simulation_failed',
    transactionFailed: 'invalid_batch_settlement_evm_settle_transaction_failed',
  }),
  partiesOf: ({ token, from }) => [{ asset: token, payTo: from }],
  // No account has signed it. A payout fails by its token alone, which is suspended for payouts, and for no payment.
  blamedFor: ({ token }) => [`payout:${token}`],
  completed: async (claim, chain) => {
    const upTo = await toBePaid(claim, chain);
    return typeof upTo === 'bigint' ? { ...claim, upTo } : upTo;
  },
  signedPartsOf: ({ from, token, upTo }, { chainId }) =>
    upTo === undefined
      ? undefined
      : {
          key: PAYOUT_KIND.keyOf(chainId, token, from, payoutNonceOf({ from, token, upTo })),
          terms: [],
          domain: [],
        },
  verify: (_, claim, context, scope) => verifyPayout(claim, context, scope),

  termsOf: () => [],
  nonceOf: payoutNonceOf,
  decode: (stored) => {
    const encoded = stored as Encoded<Payout>;
    return { ...(encoded as unknown as Payout), upTo: BigInt(encoded.upTo) };
  },
  callOf: payoutCallOf,
  // At least something: others may have had a part of it paid since it was judged.
  transferOf: ({ from, token }) => {
    return { asset: token, payer: CHANNEL_ESCROW, payTo: from, amount: 1n };
  },
  gasProfileOf: () => 'payout',
  evidence: PAYOUT_EVIDENCE,

  traceOf: (claim) => {
    const { from, token, upTo = 0n } = claim;
    const payout: Payout = { ...claim, upTo, signature: '0x' };
    return {
      address: CHANNEL_ESCROW,
      topics: settledTopics(from, token),
      stepsBeyond: async (chain) => {
        const totals = await chain.call(PAYOUT_EVIDENCE.callOf(payout), READ_GAS);
        const isPaid = PAYOUT_EVIDENCE.isDone(totals, payout);
        return isPaid === undefined ? undefined : BigInt(isPaid);
      },
    };
  },
  mayOmitDetails: true,
  detailsOf: ({ from, token }, receipt) => {
    const amount = amountInLog(receipt?.logs ?? [], settledTopics(from, token));
    return Promise.resolve(amount === undefined ? undefined : { amount });
  },
};

const REFUND_KIND = kindOf('channel-refund');

/** Gives money of a channel back to its payer. */
export const REFUND: Action<RefundClaim, Refund> = {
  ...SHARED,
  method: REFUND_KIND,
  channelAction: 'refund',
  ...failingBy({
    expired: 'invalid_batch_settlement_evm_refund_simulation_failed',
    simulationFailed: 'invalid_batch_settlement_evm_refund_simulation_failed',
    transactionFailed: 'invalid_batch_settlement_evm_refund_transaction_failed',
  }),
  partiesOf: ({ config: { token, receiver }, rows }) => [
    { asset: token, payTo: receiver },
    ...partiesIn(rows),
  ],
  blamedFor: ({ config, rows }) => blamedFor(rows, config.receiverAuthorizer),
  signedPartsOf: ({ config, from, refundNonce, amount, rows }, { chainId, asset }) => {
    const channelId = channelIdOf(config, chainId);
    const nonce = refundNonceOf({ channelId, refundNonce });
    return {
      key: REFUND_KIND.keyOf(chainId, asset, from, nonce),
      terms: [amount, claimBatchDigest(rows, chainId)],
      domain: [],
    };
  },
  verify: (_, claim, context, scope) => verifyRefund(claim, context, scope),

  termsOf: ({ amount, rows, chainId }) => [amount, claimBatchDigest(rows, chainId)],
  nonceOf: refundNonceOf,
  decode: (stored) => {
    const encoded = stored as Encoded<Refund>;
    return {
      ...(encoded as unknown as Refund),
      amount: BigInt(encoded.amount),
      refundNonce: BigInt(encoded.refundNonce),
      rows: encoded.rows.map(decodeRow),
    };
  },
  callOf: refundCallOf,
  // At least something: a payer may have taken a part of it since it was judged.
  transferOf: ({ config }) => {
    return { asset: config.token, payer: CHANNEL_ESCROW, payTo: config.payer, amount: 1n };
  },
  runsCodeOf: ({ config }) => config.receiverAuthorizer,
  // Any payer may name any receiver in its channel, and be its authorizer.
  chargedTo: ({ config }) => config.receiverAuthorizer,
  gasCapOf: refundGasCap,
  raisedBy: ({ rows, chainId }) => channelsOf(rows, chainId),
  gasProfileOf: ({ rows }) => `refund and claim of ${rows.length}`,
  evidence: REFUND_EVIDENCE,
  culprits: CULPRITS,

  traceOf: (claim, chainId) => {
    const { config, refundNonce } = claim;
    const channelId = channelIdOf(config, chainId);
    return {
      address: CHANNEL_ESCROW,
      topics: [REFUNDED_TOPIC, channelId],
      stepsBeyond: async (chain) => {
        const next = decodeUint(await chain.call(refundNonceCall(channelId), READ_GAS));
        return next === undefined ? undefined : next - refundNonce;
      },
      // A receiver gives back without a nonce, too.
      presents: (input) => presentedRefund(input, claim),
    };
  },
  detailsOf: async ({ config }, receipt, chain) => {
    if (receipt?.isSuccess === false) return undefined;
    const channelId = channelIdOf(config, chain.chainId);
    const state = await readChannel(chain, channelId);
    if (state === undefined) return undefined;
    const extra = { channelState: channelExtra(channelId, state) };
    if (receipt === undefined) return { extra };
    // Where nothing is free, the contract uses the nonce up, pays nothing and logs nothing.
    return { amount: amountInLog(receipt.logs, [REFUNDED_TOPIC, channelId]) ?? 0n, extra };
  },
};

function claimNonceOf(rows: readonly ClaimRow[], chainId: number): bigint {
  return BigInt(claimBatchDigest(rows, chainId));
}

function payoutNonceOf({ from, token, upTo }: Pick<Payout, 'from' | 'token' | 'upTo'>): bigint {
  return BigInt(keccakOfHex(addressWord(from) + addressWord(token) + uintWord(upTo)));
}

function refundNonceOf({
  channelId,
  refundNonce,
}: Pick<Refund, 'channelId' | 'refundNonce'>): bigint {
  return BigInt(keccakOfHex(bytes32Word(channelId) + uintWord(refundNonce)));
}

function partiesIn(
  rows: readonly ClaimRow[],
): readonly { readonly asset: Address; readonly payTo: Address }[] {
  return rows.map(({ config }) => ({ asset: config.token, payTo: config.receiver }));
}

function decodeRow(row: Encoded<ClaimRow>): ClaimRow {
  return {
    ...(row as unknown as ClaimRow),
    maxClaimable: BigInt(row.maxClaimable),
    totalClaimed: BigInt(row.totalClaimed),
  };
}
