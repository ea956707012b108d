import { describe, expect, it } from '@jest/globals';
import { checksumAddress, type Hex } from 'viem';
import {
  anEip3009Payment,
  aPermit2Payment,
  NOW,
  PAYEE,
  PAYER,
  type Sent,
  STRANGER,
  TOKEN,
  wrapped,
} from '../../../../test/builders/protocol/schemes/exact/exact-payment.js';
import type { Finding } from '../../diagnosis/finding.js';
import type { Reason } from '../../reasons.js';
import { EXPIRY_MARGIN_SECONDS } from '../verdict.js';
import { EXPLANATIONS } from './exact-permit2.js';
import { EIP3009_EXPLANATIONS } from './explain-eip3009.js';

const AUTHORIZATION = 'paymentPayload.payload.authorization';
const EXTRA = 'paymentRequirements.extra';
const NONCE = `0x${'ab'.repeat(32)}`;
const LATE = { signed: { validBefore: String(NOW + 5) } };
const TOO_LATE = {
  path: `${AUTHORIZATION}.validBefore`,
  expected: `at least ${BigInt(NOW) + EXPIRY_MARGIN_SECONDS} (Unix seconds)`,
  got: BigInt(NOW + 5),
  fix: 'Sign with a later time; compare the clocks.',
};
const TOO_CLOSE = {
  ...TOO_LATE,
  expected:
    'a time that is late enough for the waiting settlements and this settlement to be mined',
  fix: 'Sign with a later time: a seller raises maxTimeoutSeconds.',
};
const DOMAIN = {
  expected: 'the value in the token’s EIP-712 domain',
  fix: 'Put both name and version of the token into extra.',
};

function findingOf(reason: Reason, sent: Sent): Finding | undefined {
  const { payment, claim } = anEip3009Payment(sent);
  return EIP3009_EXPLANATIONS[reason]?.(payment, claim, { now: NOW });
}

describe('what is wrong with a payment by EIP-3009', () => {
  it.each<[Reason, Sent, Finding]>([
    [
      'invalid_exact_evm_scheme',
      { accepted: { scheme: 'upto' } },
      { path: 'paymentPayload.accepted.scheme', expected: 'exact', got: 'upto' },
    ],
    [
      'invalid_exact_evm_scheme',
      { version: 1, accepted: { scheme: 'upto' } },
      { path: 'paymentPayload.scheme', expected: 'exact', got: 'upto' },
    ],
    [
      'invalid_exact_evm_network_mismatch',
      { accepted: { network: 'eip155:97' } },
      { path: 'paymentPayload.accepted.network', expected: 'eip155:56', got: 'eip155:97' },
    ],
    [
      'invalid_exact_evm_network_mismatch',
      { version: 1, accepted: { network: 'base' } },
      { path: 'paymentPayload.network', expected: 'bsc', got: 'base' },
    ],
    [
      'invalid_exact_evm_missing_eip712_domain',
      { requirements: { extra: undefined } },
      { path: `${EXTRA}.name`, got: undefined, ...DOMAIN },
    ],
    [
      'invalid_exact_evm_missing_eip712_domain',
      { requirements: { extra: { name: '', version: '1' } } },
      { path: `${EXTRA}.name`, got: '', ...DOMAIN },
    ],
    [
      'invalid_exact_evm_missing_eip712_domain',
      { requirements: { extra: { name: 'USD' } } },
      { path: `${EXTRA}.version`, got: undefined, ...DOMAIN },
    ],
    [
      'invalid_exact_evm_recipient_mismatch',
      { signed: { to: STRANGER } },
      { path: `${AUTHORIZATION}.to`, expected: PAYEE, got: STRANGER },
    ],
    ['invalid_exact_evm_payload_authorization_valid_before', LATE, TOO_LATE],
    ['deadline_too_close', LATE, TOO_CLOSE],
    [
      'invalid_exact_evm_payload_authorization_valid_after',
      { signed: { validAfter: String(NOW + 1) } },
      {
        path: `${AUTHORIZATION}.validAfter`,
        expected: `at most ${NOW - 1} (Unix seconds), and before the newest block of the chain`,
        fix: 'Sign with a time of a minute ago: blocks are behind the clock.',
        got: BigInt(NOW + 1),
      },
    ],
    [
      'invalid_exact_evm_payload_authorization_value_mismatch',
      { signed: { value: '999' } },
      {
        path: `${AUTHORIZATION}.value`,
        expected: '1000, the amount of the requirements',
        got: 999n,
      },
    ],
    [
      'invalid_exact_evm_authorization_value',
      { version: 1, signed: { value: '999' } },
      {
        path: `${AUTHORIZATION}.value`,
        expected: '1000, the maxAmountRequired of the requirements',
        got: 999n,
      },
    ],
    [
      'asset_not_deployed_contract',
      { version: 1 },
      {
        path: 'paymentRequirements.asset',
        expected: 'the address of a token on eip155:56',
        got: TOKEN,
      },
    ],
    [
      'invalid_exact_evm_eip3009_not_supported',
      {},
      {
        path: 'paymentRequirements.asset',
        expected: 'a token with EIP-3009',
        got: TOKEN,
        fix: 'Offer this token with Permit2: extra.assetTransferMethod "permit2".',
      },
    ],
    [
      'invalid_exact_evm_nonce_already_used',
      {},
      {
        path: `${AUTHORIZATION}.nonce`,
        expected: 'a nonce the payer has not used with this token',
        got: NONCE,
      },
    ],
    [
      'invalid_exact_evm_token_name_mismatch',
      { requirements: { extra: { name: 'USDX', version: '2' } } },
      {
        path: `${EXTRA}.name`,
        expected: 'the result of name() of the token',
        got: 'USDX',
        fix: `Read name() of ${TOKEN} on eip155:56, and sign with it.`,
      },
    ],
    [
      'invalid_exact_evm_token_version_mismatch',
      { requirements: { extra: { name: 'USDX', version: '2' } } },
      {
        path: `${EXTRA}.version`,
        expected: 'the result of version() of the token',
        got: '2',
        fix: `Read version() of ${TOKEN} on eip155:56, and sign with it.`,
      },
    ],
    [
      'invalid_exact_evm_insufficient_balance',
      {},
      {
        path: `${AUTHORIZATION}.from`,
        expected: `a payer with 1000 atomic units of ${TOKEN} to spend`,
        got: PAYER,
      },
    ],
    [
      'eip6492_factory_not_allowed',
      { signature: wrapped(`0x${'77'.repeat(70)}`, STRANGER) },
      {
        path: 'paymentPayload.payload.signature',
        expected: 'an ERC-6492 wrapper with a factory that this facilitator allows',
        got: STRANGER,
        fix: 'Deploy the wallet before it pays.',
      },
    ],
    [
      'payer_suspended',
      {},
      {
        path: `${AUTHORIZATION}.from`,
        expected: 'another payer, or a retry some minutes later',
        got: PAYER,
      },
    ],
  ])('%s', (reason, sent, finding) => {
    expect(findingOf(reason, sent)).toStrictEqual(finding);
  });

  it.each<Reason>([
    'invalid_exact_evm_transaction_simulation_failed',
    'permit2_amount_mismatch',
    'duplicate_settlement',
  ])('says nothing of %s', (reason) => {
    expect(findingOf(reason, {})).toBeUndefined();
  });
});

describe('what is wrong with a signature by EIP-3009', () => {
  const fix = `Sign in the domain of chainId 56, verifyingContract ${TOKEN}, name and version of paymentRequirements.extra.`;
  const signature = 'paymentPayload.payload.signature';
  const nonce = '32 bytes: 0x and 64 hexadecimal digits';
  const MARK: Hex = `0x${'6492'.repeat(16)}`;
  const NESTED = wrapped(wrapped('0x12'));
  const LONG = `0x${'ab'.repeat(8192)}`;
  const LETTERS = `0x${'aB'.repeat(20)}`;
  const checked = checksumAddress(`0x${'ab'.repeat(20)}`);

  it.each<[string, Sent, Finding]>([
    [
      'of nobody',
      { signed: { from: '0x1' } },
      { path: `${AUTHORIZATION}.from`, expected: 'an address' },
    ],
    ['to nobody', { signed: { to: 7 } }, { path: `${AUTHORIZATION}.to`, expected: 'an address' }],
    [
      'without payer and payee',
      { signed: { from: null, to: null, nonce: null } },
      { path: `${AUTHORIZATION}.from`, expected: 'an address' },
    ],
    [
      'over a number',
      { signed: { nonce: '7' } },
      { path: `${AUTHORIZATION}.nonce`, expected: nonce },
    ],
    [
      'over 31 bytes',
      { signed: { nonce: `0x${'ab'.repeat(31)}` } },
      { path: `${AUTHORIZATION}.nonce`, expected: nonce },
    ],
    [
      'by an address with a wrong checksum',
      { signed: { from: LETTERS } },
      {
        path: `${AUTHORIZATION}.from`,
        expected: 'from and to in lower case, or with their EIP-55 checksums',
        got: LETTERS,
      },
    ],
    [
      'to an address with a wrong checksum',
      { signed: { to: LETTERS } },
      {
        path: `${AUTHORIZATION}.to`,
        expected: 'from and to in lower case, or with their EIP-55 checksums',
      },
    ],
    [
      'by an address with its checksum',
      { signed: { from: checked } },
      { path: signature, expected: `a signature by ${checked.toLowerCase()}`, got: '0x12', fix },
    ],
    [
      'by another key',
      {},
      { path: signature, expected: `a signature by ${PAYER}`, got: '0x12', fix },
    ],
    [
      'in a wrapper that cannot be decoded',
      { signature: MARK },
      {
        path: signature,
        expected:
          'abi.encode(address factory, bytes data, bytes signature) before the mark of ERC-6492',
        got: MARK,
      },
    ],
    [
      'in a wrapper in a wrapper',
      { signature: NESTED },
      {
        path: signature,
        expected: 'one ERC-6492 wrapper, with the signature of the wallet itself in it',
        got: NESTED,
      },
    ],
    [
      'of a byte more than is read',
      { signature: `0x${'ab'.repeat(8193)}` },
      { path: signature, expected: 'at most 8192 bytes' },
    ],
    [
      'of as many bytes as are read',
      { signature: LONG },
      { path: signature, expected: `a signature by ${PAYER}`, got: LONG, fix },
    ],
    [
      'in no hexadecimal text',
      { signature: 'signed' },
      { path: signature, expected: `a signature by ${PAYER}`, got: 'none', fix },
    ],
  ])('%s', (_, sent, finding) => {
    const asSent = { signature: '0x12', ...sent };
    expect(findingOf('invalid_exact_evm_signature', asSent)).toStrictEqual(finding);
  });
});

describe('what is wrong with a payment of exact by Permit2', () => {
  const { payment, claim } = aPermit2Payment({ accepted: { scheme: 'upto', network: 'bsc' } });

  it.each<[Reason, Finding | undefined]>([
    [
      'unsupported_payload_type',
      { path: 'paymentPayload.accepted.scheme', expected: 'exact', got: 'upto' },
    ],
    [
      'invalid_exact_evm_network_mismatch',
      { path: 'paymentPayload.accepted.network', expected: 'eip155:56', got: 'bsc' },
    ],
    [
      'permit2_invalid_nonce',
      {
        path: 'paymentPayload.payload.permit2Authorization.nonce',
        expected: 'a Permit2 nonce the payer has not used',
        got: 77n,
      },
    ],
    ['invalid_exact_evm_scheme', undefined],
    ['upto_facilitator_mismatch', undefined],
  ])('%s', (reason, finding) => {
    expect(EXPLANATIONS[reason]?.(payment, claim, { now: NOW })).toStrictEqual(finding);
  });
});
