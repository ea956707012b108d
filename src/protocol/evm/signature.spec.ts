import { describe, expect, it } from '@jest/globals';
import type { Hex } from 'viem';
import { isEcdsaSignature, withNormalizedV } from './signature.js';

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
