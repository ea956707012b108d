import { describe, expect, it } from '@jest/globals';
import {
  PAYER,
  STRANGER,
  TOKEN,
} from '../../../../test/builders/protocol/schemes/exact/exact-payment.js';
import { PERMIT2 } from '../../evm/contracts.js';
import type { SponsoredPermitClaim } from '../../payment/payment.js';
import { SIGNATURE_MAX_BYTES } from '../../payment/wire-values.js';
import { type CheckedSponsoredPermit, checkSponsoredPermit } from './sponsored-permit.js';

const R = '0a'.repeat(32);
const S = '0B'.repeat(32);

const check = (changes: Partial<SponsoredPermitClaim>): CheckedSponsoredPermit =>
  checkSponsoredPermit(
    {
      from: PAYER,
      asset: TOKEN,
      spender: PERMIT2,
      amount: '10',
      nonce: '0',
      deadline: '100',
      signature: `0x${R}${S}1c`,
      version: '1',
      ...changes,
    },
    PAYER,
    TOKEN,
    100n,
  );

describe('an EIP-2612 permit that a payment brings', () => {
  it('is split into what the proxy takes', () => {
    expect(check({})).toEqual({
      ok: true,
      permit: { value: 10n, deadline: 100n, r: `0x${R}`, s: `0x${S.toLowerCase()}`, v: 28 },
    });
  });

  it.each([
    ['00', 27],
    ['01', 28],
    ['1b', 27],
    ['1c', 28],
    ['ff', 255],
  ])('has v %s as %i', (v, expected) => {
    expect(check({ signature: `0x${R}${S}${v}` })).toMatchObject({ permit: { v: expected } });
  });

  const badFormat: readonly (readonly [string, Partial<SponsoredPermitClaim>])[] = [
    ['a payer that is no address', { from: '0x11' }],
    ['a token that is no text', { asset: 5 }],
    ['a spender that is no address', { spender: {} }],
    ['a negative amount', { amount: '-1' }],
    ['an amount in hexadecimal', { amount: '0xa' }],
    ['an amount with a fraction', { amount: 1.5 }],
    ['an amount of a thousand digits', { amount: '9'.repeat(1000) }],
    ['a nonce that is no number', { nonce: 'first' }],
    ['a deadline that is an object', { deadline: {} }],
    ['a signature that is no text', { signature: 5 }],
    ['a signature without prefix', { signature: `${R}${S}1c` }],
    ['an empty signature', { signature: '0x' }],
    ['a signature of no wallet', { signature: `0x${'00'.repeat(SIGNATURE_MAX_BYTES + 1)}` }],
    ['a version in words', { version: 'one' }],
    ['a version that ends with a dot', { version: '1.' }],
  ];
  it.each(badFormat)('is refused with %s', (_, changes) => {
    expect(check(changes)).toEqual({ ok: false, reason: 'invalid_eip2612_extension_format' });
  });

  it.each<[string, Partial<SponsoredPermitClaim>]>([
    ['numbers', { amount: 10, nonce: 1, deadline: 100, version: 1 }],
    ['a dotted version', { version: '1.0.2' }],
    ['addresses in capitals', { from: PAYER.toUpperCase().replace('0X', '0x') }],
  ])('may have %s', (_, changes) => {
    expect(check(changes)).toMatchObject({ ok: true, permit: { value: 10n, deadline: 100n } });
  });

  it.each<[string, Partial<SponsoredPermitClaim>, string]>([
    ['of another payer', { from: STRANGER }, 'eip2612_from_mismatch'],
    ['of another token', { asset: STRANGER }, 'eip2612_asset_mismatch'],
    ['to another spender', { spender: STRANGER }, 'eip2612_spender_not_permit2'],
    ['a second too early', { deadline: '99' }, 'eip2612_deadline_expired'],
    // The order of the reference.
    [
      'of another payer for another token',
      { from: STRANGER, asset: STRANGER },
      'eip2612_from_mismatch',
    ],
    [
      'for a stranger, and late',
      { spender: STRANGER, deadline: '1' },
      'eip2612_spender_not_permit2',
    ],
  ])('%s is refused', (_, changes, reason) => {
    expect(check(changes)).toEqual({ ok: false, reason });
  });

  it.each<[string, Partial<SponsoredPermitClaim>]>([
    ['a signature of a contract wallet', { signature: `0x${'00'.repeat(66)}` }],
    ['half a byte', { signature: `0x${R}${S}1` }],
    ['an amount beyond a uint256', { amount: String(2n ** 256n) }],
    ['a deadline beyond a uint256', { deadline: String(2n ** 256n) }],
  ])('with %s cannot be presented, and is no fault of its form', (_, changes) => {
    expect(check(changes)).toEqual({ ok: true, permit: undefined });
  });
});
