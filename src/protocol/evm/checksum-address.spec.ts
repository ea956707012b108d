import { describe, expect, it } from '@jest/globals';
import { type Address, getAddress, isAddress, keccak256, toHex } from 'viem';
import { checksumAddress, hasValidChecksum } from './checksum-address.js';

describe('checksumAddress', () => {
  it.each([
    '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
    '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
    '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB',
    '0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb',
  ] as const)('writes %s as EIP-55 does', (address) => {
    expect(checksumAddress(address.toLowerCase() as Address)).toBe(address);
    expect(checksumAddress(`0x${address.slice(2).toUpperCase()}`)).toBe(address);
  });

  it('says what viem says', () => {
    for (let count = 0; count < 300; count += 1) {
      const address: Address = `0x${keccak256(toHex(count)).slice(2, 42)}`;
      expect(checksumAddress(address)).toBe(getAddress(address));
    }
  });
});

describe('hasValidChecksum', () => {
  const GOOD = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed';

  it.each([
    GOOD,
    GOOD.toLowerCase(),
    `0x${GOOD.slice(2).toUpperCase()}`,
    GOOD.replace('A', 'a'),
    GOOD.toUpperCase(),
    GOOD.slice(0, -1),
    `${GOOD}0`,
    `${GOOD}\n`,
    GOOD.slice(2),
    `0x${'0'.repeat(40)}`,
    `0x${'g'.repeat(40)}`,
    '0x',
    '',
  ])('says of %j what viem says', (text) => {
    expect(hasValidChecksum(text)).toBe(isAddress(text));
  });

  it('takes an address without capitals, and no wrong capital', () => {
    expect(hasValidChecksum(GOOD.toLowerCase())).toBe(true);
    expect(hasValidChecksum(GOOD)).toBe(true);
    expect(hasValidChecksum(GOOD.replace('A', 'a'))).toBe(false);
  });
});
