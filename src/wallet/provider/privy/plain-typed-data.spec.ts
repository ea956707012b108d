import { describe, expect, it } from '@jest/globals';
import { getAddress } from 'viem';
import type { TypedData } from '../../rules/spending.js';
import { digestOf } from '../../rules/typed-data-digest.js';
import { plainTypedData } from './plain-typed-data.js';

const LOW = '0x52908400098527886e0f7030069857d2e4169ee7';

describe('typed data with one way to write each value', () => {
  it('has addresses in lower case and integers as decimals, in structs and lists too', () => {
    const data: TypedData = {
      domain: { name: 'X', chainId: 56, verifyingContract: getAddress(LOW) },
      types: {
        Order: [
          { name: 'to', type: 'address' },
          { name: 'parts', type: 'Part[]' },
          { name: 'note', type: 'string' },
          { name: 'limits', type: 'uint256[2]' },
        ],
        Part: [{ name: 'amount', type: 'uint256' }],
      },
      primaryType: 'Order',
      message: {
        to: getAddress(LOW),
        parts: [{ amount: '0x0a' }, { amount: 7 }],
        note: '0x0A',
        limits: ['0x01', 2],
      },
    };
    const plain = plainTypedData(data);
    expect(plain.message).toEqual({
      to: LOW,
      parts: [{ amount: '10' }, { amount: '7' }],
      note: '0x0A',
      limits: ['1', '2'],
    });
    expect(plain.domain).toEqual({ name: 'X', chainId: 56, verifyingContract: LOW });
    expect(plain.types['EIP712Domain']?.map(({ name }) => name)).toEqual([
      'name',
      'chainId',
      'verifyingContract',
    ]);
    expect(digestOf(plain)).toBe(digestOf(data));
  });

  it('leaves what it cannot read as it is', () => {
    const data: TypedData = {
      domain: {},
      types: { A: [{ name: 'x', type: 'uint8' }] },
      primaryType: 'A',
      message: { x: 'many', y: { z: 1 } },
    };
    expect(plainTypedData(data).message).toEqual(data.message);
  });
});
