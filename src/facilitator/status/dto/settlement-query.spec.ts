import { describe, expect, it } from '@jest/globals';
import { RequestPipe } from '../../../platform/http/request.pipe.js';
import { SettlementQueryDto, SettlementWaitDto } from './settlement-query.dto.js';

const ADDRESS = `0x${'aB'.repeat(20)}`;
const pipe = new RequestPipe();
const read = (query: unknown): Promise<unknown> =>
  pipe.transform(query, { type: 'query', metatype: SettlementQueryDto });
const wait = (query: unknown): Promise<unknown> =>
  pipe.transform(query, { type: 'query', metatype: SettlementWaitDto });

describe('what a look-up asks for', () => {
  it.each([
    [{}],
    [{ transaction: `0x${'0F'.repeat(32)}` }],
    [{ network: 'eip155:56', asset: ADDRESS, payer: ADDRESS, nonce: '0x1' }],
    [{ paymentId: 'order-0123456789', payTo: ADDRESS, payer: ADDRESS }],
    [
      {
        payTo: ADDRESS,
        from: '2026-11-30',
        to: '2026-12-01T00:00Z',
        state: 'expired',
        cursor: 'e',
      },
    ],
  ])('is taken as it is: %j', async (query) => {
    expect(await read(query)).toEqual(query);
  });

  it.each<[Record<string, unknown>, string]>([
    [{ transaction: '0x1' }, 'transaction must be a transaction hash.'],
    [{ network: 'bsc' }, 'network must be a CAIP-2 name of an EVM chain.'],
    [{ asset: '<script>' }, 'asset must be an address: 0x and 40 hex digits.'],
    [{ nonce: '-1' }, 'nonce must be a number.'],
    [{ paymentId: 'short' }, 'paymentId must be a payment identifier.'],
    [{ payer: [ADDRESS, ADDRESS] }, 'payer must be given once.'],
    [
      { state: { $gt: '' } },
      'state must be one of queued, broadcast, included, finalized, reverted, expired, foreign, withdrawn.',
    ],
    [{ evil: 'x' }, 'unknown parameter; known are transaction, network, '],
    [
      { payTo: 'x', cursor: ['a'] },
      'payTo must be an address: 0x and 40 hex digits; cursor must be given once.',
    ],
  ])('is refused by name where it is wrong, and never echoed: %j', async (query, message) => {
    await expect(read(query)).rejects.toMatchObject({
      status: 400,
      code: 'invalid_query',
      message: expect.stringContaining(message),
    });
  });
});

describe('how long a look-up may wait', () => {
  it.each([
    [{}, 0],
    [{ wait: '0' }, 0],
    [{ wait: '30' }, 30],
  ])('is a number of seconds: %j', async (query, seconds) => {
    expect(await wait(query)).toEqual({ wait: seconds });
  });

  it.each(['', '31', '-1', '1.5', '1e1', '0x1', ' 1', 'x', '9'.repeat(400), ['1', '2']])(
    'is nothing else: %j',
    async (seconds) => {
      await expect(wait({ wait: seconds })).rejects.toMatchObject({ code: 'invalid_query' });
    },
  );
});
