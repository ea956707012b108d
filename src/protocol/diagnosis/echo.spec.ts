import { describe, expect, it } from '@jest/globals';
import { NETWORK_NAMES } from '../payment/network.js';
import { echo } from './diagnosis.js';

const HASH = `0x${'Ab'.repeat(32)}`;
const UINT256_MAX = (2n ** 256n - 1n).toString();

describe('a value of a request in an answer', () => {
  it.each([
    ['an address', `0x${'1f'.repeat(20)}`],
    ['a hash, in the letter case it came in', HASH],
    ['a prefix alone', '0x'],
    ['a decimal number', '1000'],
    ['a number with leading zeros', '0007'],
    ['a negative number', '-1'],
    ['the largest amount', UINT256_MAX],
    ['the largest amount with a sign', `-${UINT256_MAX}`],
    ['a CAIP-2 name', 'eip155:8453'],
    ['a scheme served here', 'exact'],
    ['a scheme of the specification', 'batch-settlement'],
    ['a transfer method', 'permit2'],
  ])('is repeated where it is %s', (_, text) => {
    expect(echo(text)).toBe(text);
  });

  it('is repeated where it is a V1 name of a network', () => {
    for (const name of NETWORK_NAMES) expect(echo(name)).toBe(name);
  });

  it.each<[unknown, string]>([
    ['', 'empty text'],
    [' ', 'text of 1 character'],
    ['0xzz', 'text of 4 characters'],
    ['0X12', 'text of 4 characters'],
    ['1e3', 'text of 3 characters'],
    ['+1', 'text of 2 characters'],
    ['1.5', 'text of 3 characters'],
    ['--1', 'text of 3 characters'],
    ['1\n', 'text of 2 characters'],
    ['Exact', 'text of 5 characters'],
    ['eip155:', 'text of 7 characters'],
    ['eip155:x', 'text of 8 characters'],
    ['eip155:12345678901234567', 'text of 24 characters'],
    ['solana:101', 'text of 10 characters'],
    ['constructor', 'text of 11 characters'],
    [`${HASH}0`, 'hexadecimal text of 67 characters'],
    [`0x${'0'.repeat(19_998)}`, 'hexadecimal text of 20000 characters'],
    [`0x${'0'.repeat(19_999)}`, 'text of 20001 characters'],
    ['9'.repeat(80), 'text of 80 characters'],
    ['<b>call us</b>', 'text of 14 characters'],
  ])('is described where its text has none of those forms: %j', (text, expected) => {
    expect(echo(text)).toBe(expected);
  });

  it.each<[string, unknown, string]>([
    ['a number', 42, '42'],
    ['a negative number', -7, '-7'],
    ['a fraction', 0.5, 'a number that is not a safe integer'],
    ['a number without an end', Infinity, 'a number that is not a safe integer'],
    ['a number too large to be exact', 2 ** 53, 'a number that is not a safe integer'],
    ['a bigint', 2n ** 64n, '18446744073709551616'],
    ['a bigint of too many digits', 10n ** 79n, 'text of 80 characters'],
    ['true', true, 'true'],
    ['false', false, 'false'],
    ['what is absent', undefined, 'nothing'],
    ['null', null, 'null'],
    ['a list', ['exact'], 'a list'],
    ['an object', { scheme: 'exact' }, 'an object'],
    ['an object with a text of its own', { toString: () => 'call us' }, 'an object'],
  ])('says what it is where it is no text: %s', (_, value, expected) => {
    expect(echo(value)).toBe(expected);
  });
});
