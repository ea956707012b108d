import type { Address, Hex } from 'viem';
import type { Permit2Authorization, SponsoredPermit } from '../../evm/authorization.js';
import type { Call } from '../../evm/calls.js';
import type { SchemeContracts } from '../../evm/contracts.js';
import { withNormalizedV } from '../../evm/signature.js';
import type { Payment, Permit2Claim, Requirements } from '../../payment/payment.js';
import type { Reason } from '../../reasons.js';
import { started } from '../../started.js';
import {
  isSignedByContract,
  refuseFailed,
  type SettlingCall,
  simulate,
} from '../checks-on-chain.js';
import {
  EXPIRY_MARGIN_SECONDS,
  refuse,
  refuseByState,
  type Verdict,
  type VerifyContext,
  type VerifyScope,
} from '../verdict.js';
import { diagnosePermit2, findPermit2Cause } from './diagnose.js';
import { checkSponsoredPermit } from './sponsored-permit.js';
import { mayBringApproval, verifyApproval } from './verify-approval.js';

/** The differences between the schemes with a Permit2 witness transfer through a proxy. */
export interface WitnessRules<C extends Permit2Claim, A extends Permit2Authorization> {
  /** @param now - Unix seconds; absent if time no longer matters. */
  mismatch(
    payment: Payment,
    claim: C,
    context: VerifyContext,
    now: bigint | undefined,
  ): Reason | undefined;
  /** A mismatch that is reported only for a valid signature. */
  lateMismatch?(payment: Payment, claim: C): Reason | undefined;
  /** Whether only one account may send the payment. */
  readonly isSenderBound: boolean;
  proxyOf(contracts: SchemeContracts): Address;
  /** `undefined` if no wallet can have signed the claim. */
  authorizationOf(
    claim: C,
    signature: Hex,
    sponsoredPermit: SponsoredPermit | undefined,
  ): A | undefined;
  digestOf(authorization: A, chainId: number): Hex;
  /** `undefined` if nothing is sent, so nothing is simulated. */
  callOf(authorization: A, requirements: Requirements): Call | undefined;
}

/** Verifies a payment by a Permit2 witness transfer (V2 only), in the order of the reference. */
export async function verifyWitness<C extends Permit2Claim, A extends Permit2Authorization>(
  rules: WitnessRules<C, A>,
  payment: Payment,
  claim: C,
  context: VerifyContext,
  scope: VerifyScope,
): Promise<Verdict> {
  const { chain } = context;
  const { requirements } = payment;
  const { asset } = requirements;
  const now = BigInt(context.now);
  const broken = rules.mismatch(payment, claim, context, scope === 'full' ? now : undefined);
  if (broken !== undefined) return refuse(broken);
  const late = rules.lateMismatch?.(payment, claim);

  const earliestDeadline = now + EXPIRY_MARGIN_SECONDS;
  const sponsored = claim.sponsoredPermit
    ? checkSponsoredPermit(claim.sponsoredPermit, claim.from, asset, earliestDeadline)
    : undefined;
  const sent = claim.signature ?? '0x';
  const signature = withNormalizedV(sent);
  let authorization = rules.authorizationOf(
    claim,
    signature,
    sponsored?.ok ? sponsored.permit : undefined,
  );
  const digest = authorization && rules.digestOf(authorization, chain.chainId);
  const isSignedByKey =
    digest !== undefined && (await context.recoverSigner(digest, signature)) === claim.from;
  // A settlement with a sponsored permit that cannot be presented cannot succeed.
  const canBeSimulated =
    sponsored === undefined || (sponsored.ok && sponsored.permit !== undefined);

  // Whether an approval is needed first is not known yet.
  const isPromising =
    isSignedByKey &&
    canBeSimulated &&
    scope === 'full' &&
    late === undefined &&
    !mayBringApproval(claim, context);
  const settlingNow = isPromising ? settlingOf(rules, authorization, requirements) : undefined;
  const simulation = settlingNow && started(simulate(settlingNow, requirements, context));
  const assetIsContract = started(chain.isContract(asset));
  const payerHasCode = await chain.hasCode(claim.from);
  const isSigned =
    digest !== undefined &&
    (payerHasCode ? await isSignedByContract(context, claim.from, digest, sent) : isSignedByKey);

  // The reference reports a missing contract before an invalid signature.
  if (!(await assetIsContract)) return refuse('asset_not_deployed_contract');
  if (!isSigned || authorization === undefined) return refuse('invalid_permit2_signature');
  const proxy = rules.proxyOf(chain.schemeContracts);
  // A call to an address without code succeeds, so the proxy must exist before the simulation.
  if (!(await chain.isContract(proxy))) return refuse('permit2_proxy_not_deployed');
  if (late !== undefined) return refuse(late);
  if (payerHasCode) authorization = { ...authorization, signature: sent };
  if (scope === 'terms') return { isValid: true, authorization, payerHasCode };
  if (sponsored?.ok === false) return refuse(sponsored.reason);
  const parties = { payer: claim.from, proxy };
  if (!canBeSimulated) {
    return refuseByState(await findPermit2Cause(chain, requirements, parties));
  }
  const settling = settlingOf(rules, authorization, requirements);
  if (settling === undefined) return { isValid: true, authorization, payerHasCode };
  if (mayBringApproval(claim, context)) {
    const approval = await verifyApproval(claim, payerHasCode, settling, requirements, context);
    if (approval.kind === 'refused') return approval.refusal;
    if (approval.kind === 'good') {
      const sponsoredApproval = approval.transaction;
      return {
        isValid: true,
        authorization: { ...authorization, sponsoredApproval },
        payerHasCode,
      };
    }
  }
  const failure = await (simulation ?? simulate(settling, requirements, context));
  if (failure === undefined) return { isValid: true, authorization, payerHasCode };
  return refuseFailed(failure, settling, requirements, context, (failed) =>
    diagnosePermit2(chain, requirements, parties, failed),
  );
}

function settlingOf<C extends Permit2Claim, A extends Permit2Authorization>(
  rules: WitnessRules<C, A>,
  authorization: A | undefined,
  requirements: Requirements,
): SettlingCall | undefined {
  const call = authorization && rules.callOf(authorization, requirements);
  const bound = rules.isSenderBound && { isSenderBound: true };
  if (authorization === undefined || call === undefined) return undefined;
  // The proxy requires a block time of at least `validAfter`.
  const earliest = {
    time: authorization.witnessValidAfter,
    reason: 'permit2_not_yet_valid',
  } as const;
  return { call, payer: authorization.from, earliest, ...bound };
}

/** @param now - Unix seconds; absent if time no longer matters. */
export function isTooLate(claim: Permit2Claim, now: bigint | undefined): boolean {
  return now !== undefined && claim.deadline < now + EXPIRY_MARGIN_SECONDS;
}

export function isTooEarly(claim: Permit2Claim, now: bigint | undefined): boolean {
  return now !== undefined && claim.witnessValidAfter > now;
}
