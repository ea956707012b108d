import type { Address, Hex } from 'viem';
import type { Finding } from '../../diagnosis/finding.js';
import { hasValidChecksum } from '../../evm/checksum-address.js';
import { type BrokenWrapper, unwrapErc6492 } from '../../evm/erc6492.js';
import type { Eip3009Claim, Payment } from '../../payment/payment.js';
import { SIGNATURE_MAX_BYTES } from '../../payment/wire-values.js';
import {
  domainFix,
  type Explanations,
  noContractAtAsset,
  tooClose,
  tooEarly,
  tooLate,
  tooPoor,
  wrongNetwork,
  wrongScheme,
} from '../explain-frame.js';

const AUTHORIZATION = 'paymentPayload.payload.authorization';
const SIGNATURE = 'paymentPayload.payload.signature';

/** The place of the fault in an EIP-3009 payment, for each reason of its checks. */
export const EIP3009_EXPLANATIONS: Explanations<Eip3009Claim> = {
  invalid_exact_evm_scheme: wrongScheme('exact'),
  invalid_exact_evm_network_mismatch: wrongNetwork,
  invalid_exact_evm_missing_eip712_domain: ({ requirements }) => ({
    ...(requirements.tokenName
      ? { path: 'paymentRequirements.extra.version', got: requirements.tokenVersion }
      : { path: 'paymentRequirements.extra.name', got: requirements.tokenName }),
    expected: 'the value in the token’s EIP-712 domain',
    fix: 'Put both name and version of the token into extra.',
  }),
  invalid_exact_evm_signature: wrongSignature,
  invalid_exact_evm_recipient_mismatch: ({ requirements }, { to }) => ({
    path: `${AUTHORIZATION}.to`,
    expected: requirements.payTo,
    got: to,
  }),
  invalid_exact_evm_payload_authorization_valid_before: (_, { validBefore }, facts) =>
    tooLate(`${AUTHORIZATION}.validBefore`, validBefore, facts),
  deadline_too_close: (_, { validBefore }) => tooClose(`${AUTHORIZATION}.validBefore`, validBefore),
  invalid_exact_evm_payload_authorization_valid_after: (_, { validAfter }, facts) =>
    tooEarly(`${AUTHORIZATION}.validAfter`, validAfter, facts),
  invalid_exact_evm_payload_authorization_value_mismatch: wrongValue,
  invalid_exact_evm_authorization_value: wrongValue,
  asset_not_deployed_contract: noContractAtAsset,
  invalid_exact_evm_eip3009_not_supported: ({ requirements }) => ({
    path: 'paymentRequirements.asset',
    expected: 'a token with EIP-3009',
    got: requirements.asset,
    fix: 'Offer this token with Permit2: extra.assetTransferMethod "permit2".',
  }),
  invalid_exact_evm_nonce_already_used: (_, { nonce }) => ({
    path: `${AUTHORIZATION}.nonce`,
    expected: 'a nonce the payer has not used with this token',
    got: nonce,
  }),
  invalid_exact_evm_token_name_mismatch: ({ requirements }) => ({
    path: 'paymentRequirements.extra.name',
    expected: 'the result of name() of the token',
    got: requirements.tokenName,
    fix: `Read name() of ${requirements.asset} on ${requirements.network}, and sign with it.`,
  }),
  invalid_exact_evm_token_version_mismatch: ({ requirements }) => ({
    path: 'paymentRequirements.extra.version',
    expected: 'the result of version() of the token',
    got: requirements.tokenVersion,
    fix: `Read version() of ${requirements.asset} on ${requirements.network}, and sign with it.`,
  }),
  invalid_exact_evm_insufficient_balance: (payment, { from }) =>
    tooPoor(payment, `${AUTHORIZATION}.from`, from),
  eip6492_factory_not_allowed: (_, { signature }) => ({
    path: SIGNATURE,
    expected: 'an ERC-6492 wrapper with a factory that this facilitator allows',
    ...factoryIn(signature),
    fix: 'Deploy the wallet before it pays.',
  }),
  payer_suspended: (_, { from }) => ({
    path: `${AUTHORIZATION}.from`,
    expected: 'another payer, or a retry some minutes later',
    got: from,
  }),
};

function wrongValue({ requirements, dialect }: Payment, { value }: Eip3009Claim): Finding {
  const name = dialect.x402Version === 1 ? 'maxAmountRequired' : 'amount';
  return {
    path: `${AUTHORIZATION}.value`,
    expected: `${requirements.amount}, the ${name} of the requirements`,
    got: value,
  };
}

function wrongSignature(payment: Payment, claim: Eip3009Claim): Finding {
  const { from, nonce, hasValidChecksums, signature } = claim;
  if (from === undefined) return { path: `${AUTHORIZATION}.from`, expected: 'an address' };
  if (claim.to === undefined) return { path: `${AUTHORIZATION}.to`, expected: 'an address' };
  if (nonce === undefined) {
    return { path: `${AUTHORIZATION}.nonce`, expected: '32 bytes: 0x and 64 hexadecimal digits' };
  }
  if (!hasValidChecksums) {
    const expected = 'from and to in lower case, or with their EIP-55 checksums';
    const { payerAsSent: got } = payment;
    // A claim holds addresses in lower case; only the payer is also stored as sent.
    return got === undefined || hasValidChecksum(got)
      ? { path: `${AUTHORIZATION}.to`, expected }
      : { path: `${AUTHORIZATION}.from`, expected, got };
  }
  return (
    wrongWrapper(claim) ?? {
      path: SIGNATURE,
      expected: `a signature by ${from}`,
      got: signature ?? 'none',
      fix: domainFix(payment),
    }
  );
}

/** Why a signature is not even checked: it is too long, or its ERC-6492 wrapper is broken. */
function wrongWrapper({ signature, isSignatureTooLong }: Eip3009Claim): Finding | undefined {
  if (isSignatureTooLong === true) {
    return { path: SIGNATURE, expected: `at most ${SIGNATURE_MAX_BYTES} bytes` };
  }
  if (signature === undefined) return undefined;
  const wrapped = unwrapErc6492(signature);
  return typeof wrapped === 'string'
    ? { path: SIGNATURE, expected: WRAPPERS[wrapped], got: signature }
    : undefined;
}

/** The expected form of a broken wrapper. */
const WRAPPERS: Readonly<Record<BrokenWrapper, string>> = {
  malformed: 'abi.encode(address factory, bytes data, bytes signature) before the mark of ERC-6492',
  nested: 'one ERC-6492 wrapper, with the signature of the wallet itself in it',
};

function factoryIn(signature: Hex | undefined): { readonly got?: Address } {
  const wrapped = signature && unwrapErc6492(signature);
  return typeof wrapped === 'object' ? { got: wrapped.deployment.factory } : {};
}
