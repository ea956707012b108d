import { describe, expect, it } from '@jest/globals';
import { ownerOfPoint } from './passkey.js';

describe('the owner that a passkey is', () => {
  const x = new Uint8Array(32).fill(1);
  const y = new Uint8Array(32).fill(2);

  it('is an address that stays the same, whatever version of this is running', () => {
    expect(ownerOfPoint(new Uint8Array(32), new Uint8Array(32).fill(1))).toBe(
      '0x2c5a4a765a6cb53f706da5b38b13e87802792f2a',
    );
  });

  it('is another for another key', () => {
    expect(ownerOfPoint(x, y)).not.toBe(ownerOfPoint(y, x));
  });

  it('is none of what is no point', () => {
    expect(() => ownerOfPoint(x, y.slice(1))).toThrow(RangeError);
    expect(() => ownerOfPoint(new Uint8Array([...x, 0]), y)).toThrow(RangeError);
  });
});
