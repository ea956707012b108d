import { describe, expect, it } from '@jest/globals';
import { chainIdOf, chainIdOfV1Name, v1NameOf } from './network.js';
import {
  isEvmAddress,
  isSettlementId,
  isTransactionHash,
  isUint256,
  readAddress,
  readBytes,
  readInteger,
  UINT256_MAX,
} from './wire-values.js';

const ADDRESS = '0xAb5801a7D398351b8bE11C439e05C5B3259aeC9B';

describe('values of a request', () => {
  it.each<[unknown, bigint | undefined]>([
    ['1000', 1000n],
    ['0001', 1n],
    ['0x10', 16n],
    ['0xFF', 255n],
    ['-1', -1n],
    [0, 0n],
    [-7, -7n],
    [Number.MAX_SAFE_INTEGER, BigInt(Number.MAX_SAFE_INTEGER)],
    // What JSON has rounded already is not what the sender wrote.
    [Number.MAX_SAFE_INTEGER + 1, undefined],
    [1.5, undefined],
    [Number.NaN, undefined],
    ['1e3', undefined],
    ['1.0', undefined],
    [' 1', undefined],
    ['', undefined],
    ['0x', undefined],
    ['-0x1', undefined],
    ['١٢', undefined],
    [true, undefined],
    [null, undefined],
    [['1'], undefined],
    ['9'.repeat(100), 10n ** 100n - 1n],
    // Its cost would grow with the square of its length.
    ['9'.repeat(101), undefined],
  ])('the integer %p', (value, expected) => {
    expect(readInteger(value)).toBe(expected);
  });

  it.each<[unknown, string | undefined]>([
    [ADDRESS, ADDRESS.toLowerCase()],
    [ADDRESS.toLowerCase(), ADDRESS.toLowerCase()],
    [ADDRESS.replace('0x', '0X'), undefined],
    [ADDRESS.slice(2), undefined],
    [`${ADDRESS}00`, undefined],
    [`${ADDRESS}\n`, undefined],
    [{ toString: () => ADDRESS }, undefined],
    [undefined, undefined],
  ])('the address %p', (value, expected) => {
    expect(readAddress(value)).toBe(expected);
  });

  it.each<[unknown, string | undefined]>([
    ['0x', '0x'],
    ['0xABcd', '0xabcd'],
    ['0xabc', undefined],
    ['abcd', undefined],
    ['0xabcdef', undefined],
    [0xab, undefined],
  ])('two bytes at most: %p', (value, expected) => {
    expect(readBytes(value, 2)).toBe(expected);
  });

  it.each([
    [0n, true],
    [UINT256_MAX, true],
    [UINT256_MAX + 1n, false],
    [-1n, false],
  ])('%p fits a uint256: %p', (value, expected) => {
    expect(isUint256(value)).toBe(expected);
  });
});

describe('names of networks', () => {
  it.each<[string, number | undefined]>([
    ['eip155:56', 56],
    ['eip155:0', undefined],
    // A reader that compares names would take another spelling for another network.
    ['eip155:056', undefined],
    ['eip155:', undefined],
    ['eip155:5 6', undefined],
    ['EIP155:56', undefined],
    ['eip155:56:1', undefined],
    ['solana:56', undefined],
    ['eip155:9007199254740993', undefined],
    ['bsc', undefined],
  ])('the CAIP-2 name "%s"', (name, expected) => {
    expect(chainIdOf(name)).toBe(expected);
  });

  it('of V1 lead to a chain and back', () => {
    for (const name of ['bsc', 'bsc-testnet', 'base', 'base-sepolia', 'polygon', 'anvil']) {
      expect(v1NameOf(chainIdOfV1Name(name) ?? 0)).toBe(name);
    }
    expect([chainIdOfV1Name('eip155:56'), chainIdOfV1Name('toString')]).toEqual([
      undefined,
      undefined,
    ]);
    expect(v1NameOf(31_338)).toBeUndefined();
  });
});

describe('names on the wire', () => {
  const address = `0x${'aB'.repeat(20)}`;
  const hash = `0x${'0F'.repeat(32)}`;
  const id = `${'aZ_-9'.repeat(8)}abc`;

  it('are taken in any letter case', () => {
    expect(isEvmAddress(address)).toBe(true);
    expect(isTransactionHash(hash)).toBe(true);
    expect(isSettlementId(id)).toBe(true);
  });

  it.each([
    `0X${'aB'.repeat(20)}`,
    `${address}\n`,
    ` ${address}`,
    `${hash}0`,
    `${id}a`,
    `${id.slice(1)}=`,
    `${id}\n`,
    '',
    [address],
    [id],
    { length: 43 },
    null,
  ])('are nothing else: %j', (value) => {
    expect([isEvmAddress(value), isTransactionHash(value), isSettlementId(value)]).toEqual([
      false,
      false,
      false,
    ]);
  });
});
