import { describe, expect, it } from '@jest/globals';
import {
  aPermit2Payment,
  NOW,
  PAYEE,
  PAYER,
  type Sent,
  sponsoredBy,
  STRANGER,
  TOKEN,
} from '../../../../test/builders/protocol/schemes/exact/exact-payment.js';
import type { Finding } from '../../diagnosis/finding.js';
import { PERMIT2 } from '../../evm/contracts.js';
import type { Reason } from '../../reasons.js';
import { EXPIRY_MARGIN_SECONDS } from '../verdict.js';
import { PERMIT2_EXPLANATIONS } from './explain.js';

const LATE = { deadline: String(NOW + 5) };
const EARLY = { witness: { to: PAYEE, validAfter: String(NOW + 1) } };
const LESS = { permitted: { token: TOKEN, amount: '999' } };
const EARLIEST = `at least ${BigInt(NOW) + EXPIRY_MARGIN_SECONDS} (Unix seconds)`;
const REQUIRED = '1000, the amount of the requirements';
const TOO_SOON = {
  expected: `at most ${NOW - 1} (Unix seconds), and before the newest block of the chain`,
  got: BigInt(NOW + 1),
  fix: 'Sign with a time of a minute ago: blocks are behind the clock.',
};
const TOO_LATE = {
  expected: EARLIEST,
  got: BigInt(NOW + 5),
  fix: 'Sign with a later time; compare the clocks.',
};

const TOO_CLOSE = {
  ...TOO_LATE,
  expected:
    'a time that is late enough for the waiting settlements and this settlement to be mined',
  fix: 'Sign with a later time: a seller raises maxTimeoutSeconds.',
};

const findingOf = (reason: Reason, sent: Sent): Finding | undefined => {
  const { payment, claim } = aPermit2Payment(sent);
  return PERMIT2_EXPLANATIONS[reason]?.(payment, claim, { now: NOW });
};

type Row = readonly [reason: Reason, sent: Sent, path: string, rest: Omit<Finding, 'path'>];

describe('what is wrong with a permit', () => {
  it.each<Row>([
    [
      'invalid_permit2_spender',
      { signed: { spender: STRANGER } },
      'spender',
      { expected: 'the x402 Permit2 proxy of this scheme', got: STRANGER },
    ],
    [
      'invalid_permit2_recipient_mismatch',
      { signed: { witness: { to: STRANGER, validAfter: '0' } } },
      'witness.to',
      { expected: PAYEE, got: STRANGER },
    ],
    ['permit2_deadline_expired', { signed: LATE }, 'deadline', TOO_LATE],
    ['deadline_too_close', { signed: LATE }, 'deadline', TOO_CLOSE],
    ['permit2_not_yet_valid', { signed: EARLY }, 'witness.validAfter', TOO_SOON],
    ['permit2_payment_too_early', { signed: EARLY }, 'witness.validAfter', TOO_SOON],
    [
      'permit2_amount_mismatch',
      { signed: LESS },
      'permitted.amount',
      { expected: REQUIRED, got: 999n },
    ],
    [
      'permit2_invalid_amount',
      { signed: { permitted: { token: TOKEN, amount: '0' } } },
      'permitted.amount',
      { expected: 'an amount above 0', got: 0n },
    ],
    [
      'permit2_token_mismatch',
      { signed: { permitted: { token: STRANGER, amount: '1000' } } },
      'permitted.token',
      { expected: TOKEN, got: STRANGER },
    ],
    [
      'permit2_insufficient_balance',
      {},
      'from',
      { expected: `a payer with 1000 atomic units of ${TOKEN} to spend`, got: PAYER },
    ],
    [
      'permit2_allowance_required',
      {},
      'from',
      {
        expected: `a payer that approved 1000 of ${TOKEN} to Permit2`,
        got: PAYER,
        fix: `The payer calls approve(${PERMIT2}, amount) of the token once.`,
      },
    ],
    [
      'permit2_invalid_nonce',
      { signed: { nonce: '0x10' } },
      'nonce',
      { expected: 'a Permit2 nonce the payer has not used', got: 16n },
    ],
    ['permit2_invalid_owner', {}, 'from', { expected: 'the owner that signed', got: PAYER }],
    [
      'payer_suspended',
      {},
      'from',
      { expected: 'another payer, or a retry some minutes later', got: PAYER },
    ],
  ])('%s', (reason, sent, path, rest) => {
    const whole = `paymentPayload.payload.permit2Authorization.${path}`;
    expect(findingOf(reason, sent)).toStrictEqual({ path: whole, ...rest });
  });

  it.each([
    ['0x12', '0x12'],
    ['no hexadecimal text', 'none'],
  ])('a signature: %s', (signature, got) => {
    expect(findingOf('invalid_permit2_signature', { signature })).toStrictEqual({
      path: 'paymentPayload.payload.signature',
      expected: `a signature by ${PAYER}`,
      got,
      fix: `Sign in the domain "Permit2", chainId 56, verifyingContract ${PERMIT2}, without a version.`,
    });
  });

  it.each<[Reason, string, string, string]>([
    ['asset_not_deployed_contract', 'asset', 'the address of a token on eip155:56', TOKEN],
    ['permit2_invalid_destination', 'payTo', 'an address the proxy pays to', PAYEE],
  ])('what its seller asked for: %s', (reason, name, expected, got) => {
    expect(findingOf(reason, {})).toStrictEqual({
      path: `paymentRequirements.${name}`,
      expected,
      got,
    });
  });

  it('says nothing of a reason without one place', () => {
    expect(findingOf('permit2_simulation_failed', {})).toBeUndefined();
    expect(findingOf('permit2_proxy_not_deployed', {})).toBeUndefined();
  });
});

describe('what is wrong with the permit of the token that a payment brings', () => {
  it.each<[Reason, string, string, string]>([
    ['eip2612_from_mismatch', 'from', STRANGER, PAYER],
    ['eip2612_asset_mismatch', 'asset', STRANGER, TOKEN],
    ['eip2612_spender_not_permit2', 'spender', STRANGER, PERMIT2],
    ['eip2612_deadline_expired', 'deadline', String(NOW + 5), EARLIEST],
    ['permit2_2612_amount_mismatch', 'amount', '999', '1000, the permitted amount'],
  ])('%s', (reason, name, got, expected) => {
    const sent = { extensions: sponsoredBy({ [name]: got }) };
    const path = `paymentPayload.extensions.eip2612GasSponsoring.info.${name}`;
    expect(findingOf(reason, sent)).toStrictEqual({ path, expected, got });
    // The refusal of a payment without a sponsored approval names the missing field.
    expect(findingOf(reason, {})).toStrictEqual({ path, expected, got: undefined });
  });

  it('names its form where that is wrong', () => {
    const finding = findingOf('invalid_eip2612_extension_format', {});
    expect(finding).not.toHaveProperty('got');
    expect(finding?.path).toBe('paymentPayload.extensions.eip2612GasSponsoring.info');
    const { info } = sponsoredBy()['eip2612GasSponsoring'] as { info: object };
    for (const name of Object.keys(info)) expect(finding?.expected).toContain(name);
  });
});
