import { asUptoAuthorization, type UptoAuthorization } from '../../evm/authorization.js';
import type { ChainReader } from '../../evm/chain-reader.js';
import { uptoDigest } from '../../evm/typed-data.js';
import { uptoSettlementCall } from '../../evm/upto-calls.js';
import type { Payment, UptoClaim } from '../../payment/payment.js';
import type { Reason } from '../../reasons.js';
import { PERMIT2_METHOD } from '../methods/permit2.js';
import {
  isTooEarly,
  isTooLate,
  verifyWitness,
  type WitnessRules,
} from '../permit2/verify-witness.js';
import { refuseByState, type Verdict, type VerifyContext, type VerifyScope } from '../verdict.js';

const RULES: WitnessRules<UptoClaim, UptoAuthorization> = {
  mismatch: (payment, claim, { chain, sender }, now) =>
    wrongFrame(payment) ??
    wrongParties(payment, claim, chain) ??
    // Without a time the payment was verified before, and its sender is already chosen.
    (now !== undefined && sender?.address !== claim.facilitator
      ? 'upto_facilitator_mismatch'
      : undefined) ??
    wrongTerms(payment, claim, now),
  lateMismatch: exceedsWhatWasSigned,
  isSenderBound: true,
  proxyOf: ({ uptoProxy }) => uptoProxy,
  authorizationOf: asUptoAuthorization,
  digestOf: uptoDigest,
  callOf: (authorization, { amount }) =>
    isNothing(amount, authorization) ? undefined : uptoSettlementCall(authorization, amount),
};

/**
 * Verifies a payment of the scheme upto (V2 only) for the required amount: the maximum in a verify, the charged
 * amount in a settle.
 */
export async function verifyUpto(
  payment: Payment,
  claim: UptoClaim,
  context: VerifyContext,
  scope: VerifyScope,
): Promise<Verdict> {
  const verdict = await verifyWitness(RULES, payment, claim, context, scope);
  const { asset, amount } = payment.requirements;
  if (!verdict.isValid || scope === 'terms' || !isNothing(amount, claim)) return verdict;
  // Without a simulation the nonce must be read.
  const { method, from: payer, nonce } = claim;
  const ref = { method, asset, payer, nonce };
  const isUsed = PERMIT2_METHOD.readState(
    await context.chain.call(PERMIT2_METHOD.stateCall(ref)),
    ref,
  );
  return isUsed === false ? verdict : refuseByState('permit2_invalid_nonce');
}

/** The first failed check of those that need neither chain, clock nor signature. */
export function termsMismatchOfUpto(
  payment: Payment,
  claim: UptoClaim,
  chain: Pick<ChainReader, 'schemeContracts'>,
): Reason | undefined {
  return (
    wrongFrame(payment) ??
    wrongParties(payment, claim, chain) ??
    wrongTerms(payment, claim, undefined) ??
    exceedsWhatWasSigned(payment, claim)
  );
}

function wrongFrame({ requirements, accepted }: Payment): Reason | undefined {
  if (accepted.scheme !== 'upto') return 'invalid_upto_evm_scheme';
  return accepted.network === requirements.networkAsSent
    ? undefined
    : 'invalid_upto_evm_network_mismatch';
}

function wrongParties(
  { requirements }: Payment,
  { spender, witnessTo }: UptoClaim,
  { schemeContracts }: Pick<ChainReader, 'schemeContracts'>,
): Reason | undefined {
  if (spender !== schemeContracts.uptoProxy) return 'invalid_permit2_spender';
  return witnessTo === requirements.payTo ? undefined : 'invalid_permit2_recipient_mismatch';
}

function wrongTerms(
  { requirements, purpose }: Payment,
  claim: UptoClaim,
  now: bigint | undefined,
): Reason | undefined {
  if (isTooLate(claim, now)) return 'permit2_deadline_expired';
  if (isTooEarly(claim, now)) return 'permit2_not_yet_valid';
  if (purpose === 'verify' && claim.amount !== requirements.amount) {
    return 'permit2_amount_mismatch';
  }
  return claim.token === requirements.asset ? undefined : 'permit2_token_mismatch';
}

function exceedsWhatWasSigned(
  { requirements, purpose }: Payment,
  { amount }: UptoClaim,
): Reason | undefined {
  return purpose === 'settle' && requirements.amount > amount
    ? 'invalid_upto_evm_payload_settlement_exceeds_amount'
    : undefined;
}

/** Whether the seller charges 0 of a maximum above 0. A maximum of 0 is not a payment. */
function isNothing(amount: bigint, { amount: maximum }: { readonly amount: bigint }): boolean {
  return amount === 0n && maximum > 0n;
}
