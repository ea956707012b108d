import { decodeErrorResult, type Hex, parseAbi } from 'viem';
import type { FailedEffect } from '../evm/chain-reader.js';
import type { ActionMethod } from '../evm/transfer-method.js';
import type { Reason } from '../reasons.js';

/**
 * Errors of tokens, Permit2 and the proxies. Errors of Permit2 are not in the interface of the proxies, but reach the
 * caller through them.
 */
const ERRORS = parseAbi([
  'error Error(string)',
  'error AuthorizationExpired()',
  'error AuthorizationNotYetValid()',
  'error AuthorizationAlreadyUsed()',
  'error AuthorizationUsedOrCanceled()',
  'error InvalidSignatureV()',
  'error InvalidSignatureS()',
  'error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)',
  'error InvalidNonce()',
  'error InvalidSigner()',
  'error InvalidSignature()',
  'error InvalidSignatureLength()',
  'error InvalidContractSignature()',
  'error SignatureExpired(uint256 signatureDeadline)',
  'error InvalidAmount(uint256 maxAmount)',
]);
const PROXY_ERRORS = parseAbi([
  'error InvalidAmount()',
  'error InvalidOwner()',
  'error InvalidDestination()',
  'error PaymentTooEarly()',
  'error Permit2612AmountMismatch()',
  'error AmountExceedsPermitted()',
  'error UnauthorizedFacilitator()',
]);

const BY_NAME: Readonly<Record<string, readonly [eip3009: Reason, permit2: Reason]>> = {
  AuthorizationExpired: [
    'invalid_exact_evm_payload_authorization_valid_before',
    'permit2_deadline_expired',
  ],
  AuthorizationNotYetValid: [
    'invalid_exact_evm_payload_authorization_valid_after',
    'permit2_not_yet_valid',
  ],
  AuthorizationAlreadyUsed: ['invalid_exact_evm_nonce_already_used', 'permit2_invalid_nonce'],
  AuthorizationUsedOrCanceled: ['invalid_exact_evm_nonce_already_used', 'permit2_invalid_nonce'],
  InvalidSignatureV: ['invalid_exact_evm_signature', 'invalid_permit2_signature'],
  InvalidSignatureS: ['invalid_exact_evm_signature', 'invalid_permit2_signature'],
  ERC20InsufficientBalance: [
    'invalid_exact_evm_insufficient_balance',
    'permit2_insufficient_balance',
  ],
  InvalidNonce: ['invalid_exact_evm_nonce_already_used', 'permit2_invalid_nonce'],
  InvalidSigner: ['invalid_exact_evm_signature', 'invalid_permit2_signature'],
  InvalidSignature: ['invalid_exact_evm_signature', 'invalid_permit2_signature'],
  InvalidSignatureLength: ['invalid_exact_evm_signature', 'invalid_permit2_signature'],
  InvalidContractSignature: ['invalid_exact_evm_signature', 'invalid_permit2_signature'],
  SignatureExpired: [
    'invalid_exact_evm_payload_authorization_valid_before',
    'permit2_deadline_expired',
  ],
  InvalidAmount: ['invalid_exact_evm_transaction_failed', 'permit2_invalid_amount'],
  InvalidOwner: ['invalid_exact_evm_transaction_failed', 'permit2_invalid_owner'],
  InvalidDestination: ['invalid_exact_evm_transaction_failed', 'permit2_invalid_destination'],
  PaymentTooEarly: [
    'invalid_exact_evm_payload_authorization_valid_after',
    'permit2_payment_too_early',
  ],
  Permit2612AmountMismatch: [
    'invalid_exact_evm_transaction_failed',
    'permit2_2612_amount_mismatch',
  ],
};

/** Errors that only the upto proxy has. */
const OF_UPTO: Readonly<Record<string, Reason>> = {
  AmountExceedsPermitted: 'upto_amount_exceeds_permitted',
  UnauthorizedFacilitator: 'upto_unauthorized_facilitator',
};

/** Texts of `Error(string)`, as in tokens like FiatToken and OpenZeppelin. */
const BY_TEXT: readonly (readonly [RegExp, keyof typeof BY_NAME])[] = [
  [/authorization.*(?:expired|valid before)/i, 'AuthorizationExpired'],
  [/authorization.*not.*valid/i, 'AuthorizationNotYetValid'],
  [/authorization.*used/i, 'AuthorizationAlreadyUsed'],
  [/transfer.*exceeds.*balance|insufficient.*balance/i, 'ERC20InsufficientBalance'],
  [/invalid.*signature/i, 'InvalidSignature'],
];

/** Any token can choose this text, and the time for a pattern grows with the cube of its length. */
const TEXT_MOST = 256;

function knownText(text: unknown): keyof typeof BY_NAME | undefined {
  const read = String(text).slice(0, TEXT_MOST);
  return BY_TEXT.find(([pattern]) => pattern.test(read))?.[1];
}

/** The reason for revert data; `undefined` for unknown data. */
export function reasonOfRevert(data: Hex | undefined, method: ActionMethod): Reason | undefined {
  if (data === undefined || data.length < 10) return undefined;
  const decoded = decode(data);
  const name = decoded?.errorName === 'Error' ? knownText(decoded.args?.[0]) : decoded?.errorName;
  if (name === undefined) return undefined;
  return BY_NAME[name]?.[method === 'eip3009' ? 0 : 1] ?? OF_UPTO[name];
}

/** Describes a failed simulation in one sentence. Text of the contract is never repeated. */
export function inWords(failure: FailedEffect): string {
  switch (failure.status) {
    case 'unpaid':
      return 'The call succeeds, but the balance of the payee does not grow by the amount.';
    case 'halted':
      return 'The call runs out of gas or stops.';
    case 'reverted':
      return `The call reverts ${saying(failure.data)}.`;
  }
}

function saying(data: Hex | undefined): string {
  if (data === undefined || data.length < 10) return 'without a reason';
  const decoded = decode(data);
  if (decoded === undefined) return `with the error ${data.slice(0, 10)}`;
  if (decoded.errorName !== 'Error') return `with ${decoded.errorName}`;
  const known = knownText(decoded.args?.[0]);
  return known === undefined
    ? `with an unknown text (${data.slice(0, 10)})`
    : `with a text that means ${known}`;
}

function decode(
  data: Hex,
): { readonly errorName: string; readonly args?: readonly unknown[] | undefined } | undefined {
  for (const abi of [ERRORS, PROXY_ERRORS]) {
    try {
      return decodeErrorResult({ abi, data });
    } catch {
      // The data is not an error of this list.
    }
  }
  return undefined;
}
