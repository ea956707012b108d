import { asEip3009Authorization } from '../../evm/authorization.js';
import { unwrapErc6492 } from '../../evm/erc6492.js';
import { withNormalizedV } from '../../evm/signature.js';
import { eip3009Digest, rememberTokenDomain, type TokenDomain } from '../../evm/typed-data.js';
import type { Eip3009Claim, Payment } from '../../payment/payment.js';
import type { Reason } from '../../reasons.js';
import { started } from '../../started.js';
import { isSignedByContract, refuseFailed, simulate } from '../checks-on-chain.js';
import {
  EXPIRY_MARGIN_SECONDS,
  refuse,
  refuseByState,
  type Verdict,
  type VerifyContext,
  type VerifyScope,
} from '../verdict.js';
import { diagnose } from './diagnose.js';
import { settlingOf, verifyUndeployed } from './verify-undeployed.js';

/** The exact scheme with EIP-3009, V1 and V2; checks in the order of the reference. */
export async function verifyEip3009(
  payment: Payment,
  claim: Eip3009Claim,
  context: VerifyContext,
  scope: VerifyScope,
): Promise<Verdict> {
  const { chain } = context;
  const { requirements } = payment;
  const { asset, tokenName: name, tokenVersion: version } = requirements;
  const frame = wrongFrame(payment);
  if (frame !== undefined) return refuse(frame);

  const wrapped = claim.signature && unwrapErc6492(claim.signature);
  if (typeof wrapped === 'string') return refuse('invalid_exact_evm_signature');
  const sent = wrapped?.inner ?? claim.signature ?? '0x';
  const signature = withNormalizedV(sent);
  let authorization = asEip3009Authorization(claim, signature);
  const domain: TokenDomain | undefined =
    typeof name === 'string' && typeof version === 'string'
      ? { name, version, chainId: chain.chainId, token: asset }
      : undefined;
  const digest = authorization && domain && eip3009Digest(authorization, domain);
  const isSignedByKey =
    digest !== undefined && (await context.recoverSigner(digest, signature)) === claim.from;
  const now = scope === 'full' ? BigInt(context.now) : undefined;
  const broken = firstBrokenTerm(payment, claim, now);

  // A promising payment starts all its reads at once. A bad payment skips reads that it does not need.
  const isPromising = isSignedByKey && broken === undefined && scope === 'full';
  const assetIsContract = isPromising ? started(chain.isContract(asset)) : undefined;
  const simulation =
    isPromising && authorization !== undefined
      ? started(simulate(settlingOf(authorization, asset), requirements, context))
      : undefined;
  const payerHasCode = claim.from !== undefined && (await chain.hasCode(claim.from));

  const deployment = payerHasCode ? undefined : wrapped?.deployment;
  if (deployment !== undefined && !context.walletFactories.has(deployment.factory)) {
    return refuseByState('eip6492_factory_not_allowed');
  }
  if (authorization === undefined || domain === undefined || digest === undefined) {
    return refuse('invalid_exact_evm_signature');
  }
  // A payment that is signed by a key needs no wallet.
  if (deployment !== undefined && !isSignedByKey) {
    const undeployed = { ...authorization, signature: sent, deployment };
    return verifyUndeployed(
      payment,
      { authorization: undeployed, domain, digest, broken },
      context,
      scope,
    );
  }
  // A contract may give meaning to every byte, so the signature is not normalized.
  if (payerHasCode) authorization = { ...authorization, signature: sent };
  const isSigned = payerHasCode
    ? await isSignedByContract(context, authorization.from, digest, sent)
    : isSignedByKey;
  if (!isSigned) return refuse('invalid_exact_evm_signature');
  rememberTokenDomain(domain);
  if (broken !== undefined) return refuse(broken);
  if (scope === 'terms') return { isValid: true, authorization, payerHasCode };
  if (!(await (assetIsContract ?? chain.isContract(asset)))) {
    return refuse('asset_not_deployed_contract');
  }
  const settling = settlingOf(authorization, asset);
  const failure = await (simulation ?? simulate(settling, requirements, context));
  if (failure === undefined) return { isValid: true, authorization, payerHasCode };
  const signed = authorization;
  return refuseFailed(failure, settling, requirements, context, (failed) =>
    diagnose(chain, requirements, signed, failed),
  );
}

/**
 * The first failed check of those that need neither chain nor signature.
 *
 * @param now - Unix seconds; absent if time no longer matters.
 */
export function termsMismatchOfEip3009(
  payment: Payment,
  claim: Eip3009Claim,
  now?: bigint,
): Reason | undefined {
  return wrongFrame(payment) ?? firstBrokenTerm(payment, claim, now);
}

function wrongFrame({ requirements, accepted, dialect }: Payment): Reason | undefined {
  if (accepted.scheme !== 'exact') return 'invalid_exact_evm_scheme';
  if (!dialect.isAcceptedNetworkKnown) return 'invalid_exact_evm_network_mismatch';
  if (!requirements.tokenName || !requirements.tokenVersion) {
    return 'invalid_exact_evm_missing_eip712_domain';
  }
  return accepted.network === requirements.networkAsSent
    ? undefined
    : 'invalid_exact_evm_network_mismatch';
}

function firstBrokenTerm(
  { requirements, dialect }: Payment,
  claim: Eip3009Claim,
  now: bigint | undefined,
): Reason | undefined {
  if (claim.to !== requirements.payTo) return 'invalid_exact_evm_recipient_mismatch';
  if (now !== undefined) {
    if (claim.validBefore < now + EXPIRY_MARGIN_SECONDS) {
      return 'invalid_exact_evm_payload_authorization_valid_before';
    }
    if (claim.validAfter > now) return 'invalid_exact_evm_payload_authorization_valid_after';
  }
  if (claim.value === requirements.amount) return undefined;
  return dialect.x402Version === 1
    ? 'invalid_exact_evm_authorization_value'
    : 'invalid_exact_evm_payload_authorization_value_mismatch';
}
