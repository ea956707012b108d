import { describe, expect, it } from '@jest/globals';
import { encodeAbiParameters, type Hex } from 'viem';
import { isEcdsaSignature, unwrapErc6492, withNormalizedV } from './signature.js';

const MAGIC = '6492'.repeat(16);
const inner: Hex = `0x${'ab'.repeat(65)}`;
const factory = '0x4444444444444444444444444444444444444444';
const wrap = (to: Hex): Hex =>
  `${encodeAbiParameters(
    [{ type: 'address' }, { type: 'bytes' }, { type: 'bytes' }],
    [to, '0x1234', inner],
  )}${MAGIC}`;

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

describe('unwrapErc6492', () => {
  it('finds the factory and the inner signature', () => {
    expect(unwrapErc6492(wrap(factory))).toEqual({ factory, inner });
  });

  it.each<[string, Hex]>([
    ['without the magic', inner],
    ['with the zero factory', wrap(`0x${'0'.repeat(40)}`)],
    ['that is only the magic', `0x${MAGIC}`],
    ['whose offsets lead nowhere', `0x${'ff'.repeat(96)}${MAGIC}`],
    ['that is cut short', `0x${wrap(factory).slice(2, 300)}${MAGIC}`],
  ])('finds nothing in a signature %s', (_, signature) => {
    expect(unwrapErc6492(signature)).toBeUndefined();
  });
});
