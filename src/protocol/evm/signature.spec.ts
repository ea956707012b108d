import { describe, expect, it } from '@jest/globals';
import type { Hex } from 'viem';
import { uintWord } from './abi-words.js';
import { canonical, isCanonical, isEcdsaSignature, S_MAX, withNormalizedV } from './signature.js';

describe('withNormalizedV', () => {
  const rs = `0x${'11'.repeat(64)}`;
  it.each([
    ['00', '1b'],
    ['01', '1c'],
    ['1b', '1b'],
    ['1c', '1c'],
    ['1d', '1d'],
  ])('writes v %s as %s', (v, normalized) => {
    expect(withNormalizedV(`${rs}${v}` as Hex)).toBe(`${rs}${normalized}`);
  });

  it('leaves signatures of other lengths alone', () => {
    expect(withNormalizedV('0x00')).toBe('0x00');
  });
});

describe('isEcdsaSignature', () => {
  it('wants exactly 65 bytes', () => {
    expect(isEcdsaSignature(`0x${'00'.repeat(65)}`)).toBe(true);
    expect(isEcdsaSignature(`0x${'00'.repeat(64)}`)).toBe(false);
  });
});

describe('the form that contracts accept', () => {
  const R = '11'.repeat(32);
  const of = (s: bigint, v: string): Hex => `0x${R}${uintWord(s)}${v}`;
  const ORDER = 2n * S_MAX + 1n;

  it.each<[string, Hex, boolean, Hex]>([
    ['a good one', of(5n, '1b'), true, of(5n, '1b')],
    ['the largest `s`', of(S_MAX, '1c'), true, of(S_MAX, '1c')],
    ['`v` of 0', of(5n, '00'), false, of(5n, '1b')],
    ['`v` of 29', of(5n, '1d'), false, of(5n, '1d')],
    ['a high `s`', of(S_MAX + 1n, '1b'), false, of(S_MAX, '1c')],
    ['a high `s` and `v` of 1', of(ORDER - 5n, '01'), false, of(5n, '1b')],
    ['an `s` that is no number of the curve', of(ORDER, '1b'), false, of(ORDER, '1b')],
    ['another length', '0x1234', false, '0x1234'],
  ])('%s', (_, signature, isGood, form) => {
    expect([isCanonical(signature), canonical(signature)]).toEqual([isGood, form]);
  });

  it('has half the order of secp256k1 as its limit', () => {
    expect(S_MAX).toBe(0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n);
  });
});
