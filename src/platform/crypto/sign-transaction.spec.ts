import { describe, expect, it } from '@jest/globals';
import { keccak256, toHex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { signTransaction, type UnsignedTransaction } from './sign-transaction.js';

const KEY = `0x${'11'.repeat(32)}` as const;
const account = privateKeyToAccount(KEY);
const keyBytes = Buffer.from(KEY.slice(2), 'hex');

const base: UnsignedTransaction = {
  chainId: 56,
  nonce: 0,
  maxPriorityFeePerGas: 50_000_000n,
  maxFeePerGas: 5_000_000_000n,
  gas: 105_000n,
  to: '0x3333333333333333333333333333333333333333',
  data: '0x',
};

describe('signTransaction', () => {
  it.each<[string, Partial<UnsignedTransaction>]>([
    ['the plainest call', {}],
    ['no fees at all', { maxFeePerGas: 0n, maxPriorityFeePerGas: 0n }],
    ['a nonce below and above one byte', { nonce: 127 }],
    ['a nonce of one byte with its top bit', { nonce: 128 }],
    ['a large nonce', { nonce: 2 ** 40 }],
    ['one byte of data below 128', { data: '0x7f' }],
    ['one byte of data above 127', { data: '0x80' }],
    ['one zero byte of data', { data: '0x00' }],
    ['55 bytes of data', { data: `0x${'ab'.repeat(55)}` }],
    ['56 bytes of data', { data: `0x${'ab'.repeat(56)}` }],
    ['data of a batch', { data: `0x${'cd'.repeat(15_000)}`, gas: 4_000_000n }],
    ['data beyond 64 KiB', { data: `0x${'ef'.repeat(70_000)}` }],
    ['a chain id of several bytes', { chainId: 31_337 }],
  ])('gives the bytes of viem for %s', async (_, overrides) => {
    const transaction = { ...base, ...overrides };
    const raw = await account.signTransaction({ type: 'eip1559', value: 0n, ...transaction });
    expect(signTransaction(transaction, keyBytes)).toEqual({ raw, hash: keccak256(raw) });
  });

  it('gives the bytes of viem for many digests, also where r or s begin with zeros', async () => {
    for (let nonce = 0; nonce < 600; nonce += 1) {
      const transaction = { ...base, nonce, data: toHex(nonce, { size: 4 }) };
      const raw = await account.signTransaction({ type: 'eip1559', value: 0n, ...transaction });
      if (signTransaction(transaction, keyBytes).raw !== raw) {
        throw new Error(`the bytes differ at nonce ${nonce}`);
      }
    }
  });
});
