import { describe, expect, it } from '@jest/globals';
import { readSettlementQuery } from './settlement-query.js';

const ADDRESS = `0x${'aB'.repeat(20)}`;

describe('what a look-up asks for', () => {
  it.each([
    [{}],
    [{ transaction: `0x${'0F'.repeat(32)}` }],
    [{ network: 'eip155:56', asset: ADDRESS, payer: ADDRESS, nonce: '0x1' }],
    [{ paymentId: 'order-0123456789', payTo: ADDRESS, payer: ADDRESS }],
    [{ payTo: ADDRESS, from: 'a', to: 'b', state: 'c', limit: 'd', cursor: 'e' }],
  ])('is taken as it is: %j', (query) => {
    expect(readSettlementQuery(query)).toEqual(query);
  });

  it.each<[Record<string, unknown>, string]>([
    [{ transaction: '0x1' }, 'transaction must be a transaction hash.'],
    [{ network: 'bsc' }, 'network must be a CAIP-2 name of an EVM chain.'],
    [{ asset: '<script>' }, 'asset must be an address: 0x and 40 hex digits.'],
    [{ nonce: '-1' }, 'nonce must be a number.'],
    [{ paymentId: 'short' }, 'paymentId must be a payment identifier.'],
    [{ payer: [ADDRESS, ADDRESS] }, 'payer must be given once.'],
    [{ state: { $gt: '' } }, 'state must be given once.'],
    [{ evil: 'x' }, 'a parameter is not known here.'],
    [
      { payTo: 'x', cursor: ['a'] },
      'payTo must be an address: 0x and 40 hex digits; cursor must be given once.',
    ],
  ])('is refused by name where it is wrong, and never echoed: %j', (query, message) => {
    expect(() => readSettlementQuery(query)).toThrow(message);
  });
});
