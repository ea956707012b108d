import { asPermit2Authorization } from '../../evm/authorization.js';
import type { ChainReader } from '../../evm/chain-reader.js';
import { withNormalizedV } from '../../evm/signature.js';
import { permit2Digest } from '../../evm/typed-data.js';
import type { Payment, Permit2Claim } from '../../payment/payment.js';
import type { Reason } from '../../reasons.js';
import { started } from '../../started.js';
import {
  EXPIRY_MARGIN_SECONDS,
  refuse,
  refuseByState,
  type Verdict,
  type VerifyContext,
  type VerifyScope,
} from '../verdict.js';
import { isSignedByContract, refuseFailed, simulate } from './checks-on-chain.js';
import { diagnosePermit2 } from './diagnose.js';
import { checkSponsoredPermit } from './sponsored-permit.js';

/** The exact scheme with Permit2 (V2 only); checks in the order of the reference. */
export async function verifyPermit2(
  payment: Payment,
  claim: Permit2Claim,
  context: VerifyContext,
  scope: VerifyScope,
): Promise<Verdict> {
  const { chain } = context;
  const { requirements } = payment;
  const { asset } = requirements;
  const now = BigInt(context.now);
  const broken = termsMismatchOfPermit2(payment, claim, chain, scope === 'full' ? now : undefined);
  if (broken !== undefined) return refuse(broken);

  const earliestDeadline = now + EXPIRY_MARGIN_SECONDS;
  const sponsored = claim.sponsoredPermit
    ? checkSponsoredPermit(claim.sponsoredPermit, claim.from, asset, earliestDeadline)
    : undefined;
  const sent = claim.signature ?? '0x';
  const signature = withNormalizedV(sent);
  let authorization = asPermit2Authorization(
    claim,
    signature,
    sponsored?.ok ? sponsored.permit : undefined,
  );
  const digest = authorization && permit2Digest(authorization, chain.chainId);
  const isSignedByKey =
    digest !== undefined && (await context.recoverSigner(digest, signature)) === claim.from;
  // A sponsored permit that cannot be presented makes the settlement one that cannot succeed.
  const canBeSimulated =
    sponsored === undefined || (sponsored.ok && sponsored.permit !== undefined);

  const isPromising = isSignedByKey && canBeSimulated && scope === 'full';
  const simulation =
    isPromising && authorization !== undefined
      ? started(simulate(authorization, requirements, context))
      : undefined;
  const assetIsContract = started(chain.isContract(asset));
  const payerHasCode = await chain.hasCode(claim.from);
  const isSigned =
    digest !== undefined &&
    (payerHasCode ? await isSignedByContract(context, claim.from, digest, sent) : isSignedByKey);

  // The reference names a missing contract before a bad signature.
  if (!(await assetIsContract)) return refuse('asset_not_deployed_contract');
  if (!isSigned || authorization === undefined) return refuse('invalid_permit2_signature');
  // A call to an address without code succeeds: the proxy must be there before it is simulated.
  if (!(await chain.isContract(chain.schemeContracts.permit2Proxy)))
    return refuse('permit2_proxy_not_deployed');
  if (payerHasCode) authorization = { ...authorization, signature: sent };
  if (scope === 'terms') return { isValid: true, authorization, payerHasCode };
  if (sponsored?.ok === false) return refuse(sponsored.reason);
  if (!canBeSimulated) {
    return refuseByState(await diagnosePermit2(chain, requirements, authorization));
  }
  const failure = await (simulation ?? simulate(authorization, requirements, context));
  if (failure === undefined) return { isValid: true, authorization, payerHasCode };
  return refuseFailed(failure, authorization, requirements, context);
}

/**
 * The first broken one of the checks that need neither the chain nor the signature.
 *
 * @param now - Unix seconds; absent when time does not matter any more.
 */
export function termsMismatchOfPermit2(
  payment: Payment,
  claim: Permit2Claim,
  chain: Pick<ChainReader, 'schemeContracts'>,
  now?: bigint,
): Reason | undefined {
  return wrongFrame(payment) ?? firstBrokenTerm(payment, claim, chain, now);
}

function wrongFrame({ requirements, accepted }: Payment): Reason | undefined {
  if (accepted.scheme !== 'exact') return 'unsupported_payload_type';
  return accepted.network === requirements.networkAsSent
    ? undefined
    : 'invalid_exact_evm_network_mismatch';
}

function firstBrokenTerm(
  { requirements }: Payment,
  claim: Permit2Claim,
  chain: Pick<ChainReader, 'schemeContracts'>,
  now: bigint | undefined,
): Reason | undefined {
  if (claim.spender !== chain.schemeContracts.permit2Proxy) return 'invalid_permit2_spender';
  if (claim.witnessTo !== requirements.payTo) return 'invalid_permit2_recipient_mismatch';
  if (now !== undefined) {
    if (claim.deadline < now + EXPIRY_MARGIN_SECONDS) return 'permit2_deadline_expired';
    if (claim.witnessValidAfter > now) return 'permit2_not_yet_valid';
  }
  if (claim.amount !== requirements.amount) return 'permit2_amount_mismatch';
  return claim.token === requirements.asset ? undefined : 'permit2_token_mismatch';
}
