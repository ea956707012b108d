import type { Address, Hex } from 'viem';
import { decodeUint, isBelow } from '../../evm/call-results.js';
import { balanceOfCall, permit2AllowanceCall } from '../../evm/calls.js';
import type { ChainReader } from '../../evm/chain-reader.js';
import { CHANNEL_ESCROW, PERMIT2_COLLECTOR } from '../../evm/contracts.js';
import { unwrapErc6492 } from '../../evm/erc6492.js';
import { withNormalizedV } from '../../evm/signature.js';
import {
  depositPermitDigest,
  receiveDigest,
  rememberTokenDomain,
  type TokenDomain,
} from '../../evm/typed-data.js';
import type { Payment, Requirements } from '../../payment/payment.js';
import type { Reason } from '../../reasons.js';
import {
  isSignedByContract,
  refuseFailed,
  type SettlingCall,
  simulate,
} from '../checks-on-chain.js';
import { EIP3009 } from '../methods/eip3009.js';
import { PERMIT2_METHOD } from '../methods/permit2.js';
import { checkSponsoredPermit } from '../permit2/sponsored-permit.js';
import { mayBringApproval, verifyApproval } from '../permit2/verify-approval.js';
import {
  EXPIRY_MARGIN_SECONDS,
  type Refusal,
  refuse,
  refuseByState,
  type Verdict,
  type VerifyContext,
  type VerifyScope,
} from '../verdict.js';
import type { DepositClaim, Eip3009DepositClaim, Permit2DepositClaim } from './claims.js';
import { collectorOf, type DepositAuthorization, depositCallOf } from './deposit.js';
import { depositNonceOf, readChannel } from './escrow.js';
import {
  channelExtra,
  isVoucherSigned,
  missingContract,
  UNREAD,
  wrongChannel,
} from './verify-channel.js';

const SIMULATION_FAILED = 'invalid_batch_settlement_evm_deposit_simulation_failed';

/**
 * Judges a deposit and the voucher that comes with it; checks in the order of the reference.
 *
 * @throws ChainUnavailableError
 */
export async function verifyDeposit(
  payment: Payment,
  claim: DepositClaim,
  context: VerifyContext,
  scope: VerifyScope,
): Promise<Verdict> {
  const { chain } = context;
  const { requirements } = payment;
  const now = scope === 'full' ? BigInt(context.now) : undefined;
  const broken = depositMismatch(payment, claim, now);
  if (broken !== undefined) return refuse(broken);
  if (!(await chain.isContract(requirements.asset))) return refuse('asset_not_deployed_contract');
  const missing = await missingContract(chain, [CHANNEL_ESCROW, collectorOf(claim)]);
  if (missing !== undefined) return missing;
  const signed = await signedDeposit(claim, requirements, context);
  if ('isValid' in signed) return signed;
  const { payerHasCode } = signed;
  const sponsored = await withApproval(signed, claim, requirements, context, scope);
  if ('isValid' in sponsored) return sponsored;
  const { deposit } = sponsored;
  if (!(await isVoucherSigned(claim, context))) {
    return refuse('invalid_batch_settlement_evm_voucher_signature');
  }
  const good = { isValid: true, authorization: deposit, payerHasCode } as const;
  const { channelId, maxClaimable } = claim.voucher;
  const { token } = claim.config;
  const [state, balance] = await Promise.all([
    readChannel(chain, channelId),
    scope === 'full' ? chain.call(balanceOfCall(token, claim.from)) : undefined,
  ]);
  const payerBalance = balance && decodeUint(balance);
  if (state === undefined || (scope === 'full' && payerBalance === undefined)) return UNREAD;
  // A deposit that is made may come with a voucher that it was not judged with.
  const isMade = scope === 'terms' && (await isUsed(deposit, token, chain));
  if (isBelow(payerBalance, deposit.amount)) {
    return refuseByState('invalid_batch_settlement_evm_insufficient_balance');
  }
  if (maxClaimable > state.balance + (isMade ? 0n : deposit.amount)) {
    return refuseByState('invalid_batch_settlement_evm_cumulative_exceeds_balance');
  }
  if (maxClaimable <= state.totalClaimed) {
    return refuseByState('invalid_batch_settlement_evm_cumulative_below_claimed');
  }
  if (scope === 'terms') return good;
  const extra = channelExtra(channelId, state);
  const isSimulated = deposit.method === 'permit2' && deposit.sponsoredApproval !== undefined;
  // It was simulated after its approval.
  if (isSimulated) return { ...good, extra };
  const settling = settlingOf(deposit);
  const paid = paidByDeposit(requirements, deposit);
  const failure = await simulate(settling, paid, context);
  if (failure !== undefined) {
    return refuseFailed(failure, settling, paid, context, async ({ again }) =>
      (await again()).status === 'paid' ? undefined : SIMULATION_FAILED,
    );
  }
  return { ...good, extra };
}

async function isUsed(
  deposit: DepositAuthorization,
  asset: Address,
  chain: ChainReader,
): Promise<boolean> {
  const { method: name, from: payer } = deposit;
  const [method, nonce] =
    name === 'eip3009'
      ? [EIP3009, BigInt(depositNonceOf(deposit.channelId, deposit.salt))]
      : [PERMIT2_METHOD, deposit.nonce];
  const ref = { method: name, asset, payer, nonce };
  return method.readState(await chain.call(method.stateCall(ref)), ref) === true;
}

/**
 * The first broken one of the checks that need neither the chain nor a signature.
 *
 * @param now - Unix seconds; absent when time does not matter any more.
 */
export function depositMismatch(
  payment: Payment,
  claim: DepositClaim,
  now?: bigint,
): Reason | undefined {
  const { transferMethod } = claim.offer;
  const isKnown = transferMethod === undefined || transferMethod === claim.method;
  return (
    wrongChannel(payment, claim) ??
    (isKnown ? undefined : 'invalid_batch_settlement_evm_payload_type') ??
    (claim.method === 'eip3009'
      ? wrongEip3009(payment.requirements, claim, now)
      : wrongPermit2(payment.requirements, claim, now))
  );
}

function wrongEip3009(
  { tokenName, tokenVersion }: Requirements,
  { authorization }: Eip3009DepositClaim,
  now: bigint | undefined,
): Reason | undefined {
  if (authorization === undefined) {
    return 'invalid_batch_settlement_evm_erc3009_authorization_required';
  }
  if (!tokenName || !tokenVersion) return 'invalid_batch_settlement_evm_missing_eip712_domain';
  if (now === undefined) return undefined;
  if (authorization.validBefore < now + EXPIRY_MARGIN_SECONDS) {
    return 'invalid_batch_settlement_evm_payload_authorization_valid_before';
  }
  return authorization.validAfter > now
    ? 'invalid_batch_settlement_evm_payload_authorization_valid_after'
    : undefined;
}

function wrongPermit2(
  { asset }: Requirements,
  { authorization, from, amount, voucher }: Permit2DepositClaim,
  now: bigint | undefined,
): Reason | undefined {
  if (authorization === undefined) return 'invalid_batch_settlement_evm_payload_type';
  if (authorization.from !== from) return 'invalid_batch_settlement_evm_permit2_invalid_signature';
  if (authorization.spender !== PERMIT2_COLLECTOR) {
    return 'invalid_batch_settlement_evm_permit2_invalid_spender';
  }
  if (authorization.token !== asset) return 'invalid_batch_settlement_evm_token_mismatch';
  if (authorization.amount !== amount) {
    return 'invalid_batch_settlement_evm_permit2_amount_mismatch';
  }
  if (authorization.channelId !== voucher.channelId) {
    return 'invalid_batch_settlement_evm_channel_id_mismatch';
  }
  return now !== undefined && authorization.deadline < now + EXPIRY_MARGIN_SECONDS
    ? 'invalid_batch_settlement_evm_permit2_deadline_expired'
    : undefined;
}

interface Signed {
  readonly deposit: DepositAuthorization;
  readonly payerHasCode: boolean;
}

/** The deposit as its payer signed it, in the form in which the collector presents it. */
async function signedDeposit(
  claim: DepositClaim,
  requirements: Requirements,
  context: VerifyContext,
): Promise<Signed | Refusal> {
  const { chain } = context;
  const { from, signature: sent = '0x' } = claim;
  const payerHasCode = await chain.hasCode(from);
  const wrapped = unwrapErc6492(sent);
  if (!payerHasCode && wrapped !== undefined) {
    return refuseByState('invalid_batch_settlement_evm_eip6492_factory_not_allowed');
  }
  const inner = typeof wrapped === 'object' ? wrapped.inner : sent;
  const signature = payerHasCode ? inner : withNormalizedV(inner);
  const domain = tokenDomainOf(requirements);
  const deposit = asDeposit(claim, signature);
  const digest = deposit && digestOf(claim, chain.chainId, domain);
  const isSigned =
    digest !== undefined &&
    (payerHasCode
      ? await isSignedByContract(context, from, digest, signature)
      : (await context.recoverSigner(digest, signature)) === from);
  if (!isSigned || deposit === undefined) {
    return refuse(
      claim.method === 'eip3009'
        ? 'invalid_batch_settlement_evm_receive_authorization_signature'
        : 'invalid_batch_settlement_evm_permit2_invalid_signature',
    );
  }
  if (claim.method === 'eip3009' && domain !== undefined) rememberTokenDomain(domain);
  return { deposit, payerHasCode };
}

function tokenDomainOf(requirements: Requirements): TokenDomain | undefined {
  const { tokenName: name, tokenVersion: version, chainId, asset: token } = requirements;
  return typeof name === 'string' && typeof version === 'string'
    ? { name, version, chainId, token }
    : undefined;
}

function asDeposit(claim: DepositClaim, signature: Hex): DepositAuthorization | undefined {
  const { scheme, from, config, amount, voucher } = claim;
  const shared = { scheme, from, signature, config, channelId: voucher.channelId, amount };
  if (claim.method === 'eip3009') {
    return claim.authorization && { ...shared, method: claim.method, ...claim.authorization };
  }
  if (claim.authorization === undefined) return undefined;
  const { nonce, deadline } = claim.authorization;
  return { ...shared, method: claim.method, nonce, deadline, sponsoredPermit: undefined };
}

function digestOf(
  claim: DepositClaim,
  chainId: number,
  domain: TokenDomain | undefined,
): Hex | undefined {
  const { authorization } = claim;
  if (authorization === undefined) return undefined;
  const { from, amount } = claim;
  if ('salt' in authorization) {
    const { validAfter, validBefore, salt } = authorization;
    const nonce = depositNonceOf(claim.voucher.channelId, salt);
    const to = collectorOf(claim);
    return (
      domain && receiveDigest({ from, to, value: amount, validAfter, validBefore, nonce }, domain)
    );
  }
  return depositPermitDigest(authorization, chainId);
}

/** Refusals of an approval, in the words of this scheme. */
const OWN_WORDS: Partial<Record<Reason, Reason>> = {
  permit2_insufficient_balance: 'invalid_batch_settlement_evm_insufficient_balance',
  permit2_simulation_failed: SIMULATION_FAILED,
};

/** Permit2 needs an approval of the payer: it is there, or an EIP-2612 permit or the payer's own transaction brings it. */
async function withApproval(
  { deposit, payerHasCode }: Signed,
  claim: DepositClaim,
  requirements: Requirements,
  context: VerifyContext,
  scope: VerifyScope,
): Promise<{ readonly deposit: DepositAuthorization } | Refusal> {
  if (claim.method !== 'permit2' || deposit.method !== 'permit2') return { deposit };
  const { chain, now } = context;
  const { sponsoredPermit: sent, from, config } = claim;
  if (sent !== undefined) {
    const earliest = scope === 'full' ? BigInt(now) + EXPIRY_MARGIN_SECONDS : 0n;
    const checked = checkSponsoredPermit(sent, from, config.token, earliest);
    if (!checked.ok) return refuse(checked.reason);
    const { permit } = checked;
    if (permit === undefined) return refuseByState(SIMULATION_FAILED);
    if (permit.value !== deposit.amount) {
      return refuse('invalid_batch_settlement_evm_eip2612_amount_mismatch');
    }
    return { deposit: { ...deposit, sponsoredPermit: permit } };
  }
  if (scope === 'terms') return { deposit };
  if (mayBringApproval(claim, context)) {
    const approval = await verifyApproval(
      { ...claim, nonce: deposit.nonce },
      payerHasCode,
      settlingOf(deposit),
      paidByDeposit(requirements, deposit),
      context,
    );
    if (approval.kind === 'refused') {
      const { refusal } = approval;
      return { ...refusal, reason: OWN_WORDS[refusal.reason] ?? refusal.reason };
    }
    if (approval.kind === 'good') {
      return { deposit: { ...deposit, sponsoredApproval: approval.transaction } };
    }
  }
  const allowance = decodeUint(await chain.call(permit2AllowanceCall(config.token, from)));
  return allowance === undefined || isBelow(allowance, deposit.amount)
    ? refuseByState('invalid_batch_settlement_evm_permit2_allowance_required')
    : { deposit };
}

function paidByDeposit(requirements: Requirements, { amount }: DepositAuthorization): Requirements {
  return { ...requirements, payTo: CHANNEL_ESCROW, amount };
}

/** What the deposit would be made by. */
function settlingOf(deposit: DepositAuthorization): SettlingCall {
  const isTimed = deposit.method === 'eip3009';
  return {
    call: depositCallOf(deposit),
    payer: deposit.from,
    earliest: {
      // The token wants a block time above `validAfter`.
      time: isTimed ? deposit.validAfter + 1n : 0n,
      reason: 'invalid_batch_settlement_evm_payload_authorization_valid_after',
    },
  };
}
