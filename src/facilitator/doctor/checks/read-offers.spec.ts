import { describe, expect, it } from '@jest/globals';
import {
  ASSET,
  PAYEE,
  v1Accept,
  v1Terms,
  v2Accept,
  v2Terms,
} from '../../../../test/builders/facilitator/doctor/doctor.js';
import type { Terms } from '../terms.js';
import { OFFERS_MAX, type ReadOffers, readOffers } from './read-offers.js';

const v2 = (accepts: unknown, more = {}): ReadOffers =>
  readOffers(
    { version: 2, place: 'header', sent: v2Terms(accepts, more) } satisfies Terms,
    [56, 97],
  );
const v1 = (accepts: unknown): ReadOffers =>
  readOffers({ version: 1, place: 'body', sent: v1Terms(accepts) }, [56, 97]);
const places = ({ findings }: ReadOffers): string[] =>
  findings.map(({ code, path }) => `${code} at ${path}`);

describe('offers', () => {
  it('are read from both versions', () => {
    const read = v2([v2Accept()]);
    expect(read.findings).toEqual([]);
    expect(read.offers).toMatchObject([
      {
        path: 'terms.accepts[0]',
        version: 2,
        method: 'eip3009',
        chainId: 56,
        asset: ASSET,
        payTo: PAYEE,
        amount: 10n ** 17n,
        amountField: 'amount',
      },
    ]);
    expect(v1([v1Accept()])).toMatchObject({
      findings: [],
      offers: [{ version: 1, path: 'body.accepts[0]', amountField: 'maxAmountRequired' }],
    });
  });

  it.each([
    [{ extra: { assetTransferMethod: 'permit2' } }, 'permit2'],
    [{ extra: { assetTransferMethod: 'other' } }, 'eip3009'],
    [{ scheme: 'upto' }, 'permit2'],
  ])('with %j are paid by %s', (more, method) => {
    expect(v2([v2Accept(more)]).offers).toMatchObject([{ method }]);
  });

  it('of version 1 are paid by EIP-3009 alone', () => {
    const { offers } = v1([v1Accept({ extra: { assetTransferMethod: 'permit2' } })]);
    expect(offers).toMatchObject([{ method: 'eip3009' }]);
  });

  it.each<[string, unknown, string[]]>([
    ['no list', {}, ['no_offers at terms.accepts']],
    ['an empty list', [], ['no_offers at terms.accepts']],
    ['text', ['x'], ['schema at terms.accepts[0]']],
    ['no scheme', [v2Accept({ scheme: '' })], ['schema at terms.accepts[0].scheme']],
    [
      'another scheme',
      [v2Accept({ scheme: 'batch-settlement' })],
      ['scheme_not_tried at terms.accepts[0].scheme'],
    ],
    [
      'a scheme that is not served',
      [v2Accept({ scheme: 'gift' })],
      ['scheme_not_served at terms.accepts[0].scheme'],
    ],
    ['no network', [v2Accept({ network: 56 })], ['schema at terms.accepts[0].network']],
    [
      'a name of version 1',
      [v2Accept({ network: 'bsc' })],
      ['network_of_other_version at terms.accepts[0].network'],
    ],
    [
      'no CAIP-2 name',
      [v2Accept({ network: 'BNB Chain' })],
      ['network_not_caip2 at terms.accepts[0].network'],
    ],
    [
      'another network',
      [v2Accept({ network: 'eip155:8453' })],
      ['network_not_served at terms.accepts[0].network'],
    ],
    [
      'a network of another family',
      [v2Accept({ network: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp' })],
      ['network_not_served at terms.accepts[0].network'],
    ],
    ['money', [v2Accept({ amount: '$0.10' })], ['amount_not_atomic at terms.accepts[0].amount']],
    ['a decimal', [v2Accept({ amount: '0.10' })], ['amount_not_atomic at terms.accepts[0].amount']],
    ['a number', [v2Accept({ amount: 1000 })], ['amount_not_atomic at terms.accepts[0].amount']],
    ['a negative', [v2Accept({ amount: '-1' })], ['amount_not_atomic at terms.accepts[0].amount']],
    [
      'more than there is',
      [v2Accept({ amount: '9'.repeat(78) })],
      ['amount_not_atomic at terms.accepts[0].amount'],
    ],
    [
      'a field of version 1',
      [v2Accept({ amount: undefined, maxAmountRequired: '1' })],
      ['field_of_other_version at terms.accepts[0].amount'],
    ],
    ['no asset', [v2Accept({ asset: 'USDT' })], ['not_an_address at terms.accepts[0].asset']],
    ['no payee', [v2Accept({ payTo: undefined })], ['not_an_address at terms.accepts[0].payTo']],
    [
      'a payee that is longer',
      [v2Accept({ payTo: `${PAYEE}00` })],
      ['not_an_address at terms.accepts[0].payTo'],
    ],
    [
      'no time',
      [v2Accept({ maxTimeoutSeconds: '300' })],
      ['schema at terms.accepts[0].maxTimeoutSeconds'],
    ],
    [
      'a time of nothing',
      [v2Accept({ maxTimeoutSeconds: 0 })],
      ['schema at terms.accepts[0].maxTimeoutSeconds'],
    ],
    ['extra as text', [v2Accept({ extra: 'permit2' })], ['schema at terms.accepts[0].extra']],
    [
      'everything at once',
      [v2Accept(), v2Accept({ asset: 1, payTo: 2, amount: 3 })],
      [
        'amount_not_atomic at terms.accepts[1].amount',
        'not_an_address at terms.accepts[1].asset',
        'not_an_address at terms.accepts[1].payTo',
      ],
    ],
  ])('with %s are wrong', (_, accepts, expected) => {
    const read = v2(accepts);
    expect(places(read)).toEqual(expected);
    expect(read.offers).toHaveLength(expected[0]?.includes('[1]') === true ? 1 : 0);
  });

  it('of version 1 need what stands elsewhere in version 2', () => {
    const read = v1([v1Accept({ resource: undefined, description: null, network: 'eip155:56' })]);
    expect(places(read)).toEqual([
      'network_of_other_version at body.accepts[0].network',
      'schema at body.accepts[0].resource',
      'schema at body.accepts[0].description',
    ]);
    expect(read.findings[0]).toMatchObject({ fix: 'Version 1 calls that network bsc.' });
  });

  it('of version 2 need the resource beside them', () => {
    expect(places(v2([v2Accept()], { resource: { url: '' } }))).toEqual([
      'schema at terms.resource.url',
    ]);
  });

  it('with a changed letter are warned of, and read', () => {
    const asset = '0xCe24439F2D9C6a2289F741120FE202248B666666';
    const read = v2([v2Accept({ asset })]);
    expect(read.findings).toMatchObject([
      {
        code: 'wrong_checksum',
        severity: 'warning',
        path: 'terms.accepts[0].asset',
        expected: '0xcE24439F2D9C6a2289F741120FE202248B666666',
      },
    ]);
    expect(read.offers).toHaveLength(1);
    const right = v2([v2Accept({ asset: '0xcE24439F2D9C6a2289F741120FE202248B666666' })]);
    expect(right.findings).toEqual([]);
  });

  it('beyond a number are not looked at', () => {
    const accepts = Array.from({ length: 1000 }, () => v2Accept());
    expect(v2(accepts).offers).toHaveLength(OFFERS_MAX);
    expect(v2(accepts).findings).toMatchObject([{ code: 'many_offers', got: '1000' }]);
    expect(v2(accepts.slice(0, OFFERS_MAX)).findings).toEqual([]);
  });
});
