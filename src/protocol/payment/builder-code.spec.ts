import { describe, expect, it } from '@jest/globals';
import {
  BuilderCodeClientExtension,
  BuilderCodeFacilitatorExtension,
  declareBuilderCodeExtension,
  parseBuilderCodeSuffixFromCalldata,
} from '@x402/extensions/builder-code';
import { dataSuffixOf, isBuilderCode, readBuilderCodes } from './builder-code.js';

type Json = Record<string, unknown>;
type StockContext = Parameters<BuilderCodeFacilitatorExtension['buildDataSuffix']>[0];

const payloadOf = (info: unknown, x402Version: 1 | 2 = 2): Json => ({
  x402Version,
  extensions: { 'builder-code': { info } },
});
const codes = (count: number, length = 3): string[] =>
  Array.from({ length: count }, (_, index) => `s${index}`.padEnd(length, 'x'));

/** What the stock facilitator would put behind the same payment's calldata. */
const stockSuffix = (paymentPayload: Json, builderCode: string): string | undefined =>
  new BuilderCodeFacilitatorExtension({ builderCode }).buildDataSuffix({
    paymentPayload,
    paymentRequirements: {},
  } as unknown as StockContext);
const ourSuffix = (payload: Json, own: string | undefined): string | undefined =>
  dataSuffixOf(own, readBuilderCodes(payload, payload['x402Version'] as 1 | 2));

describe('the suffix of builder codes', () => {
  it.each<[string, Json]>([
    ['nothing', { x402Version: 2 }],
    ['the code of a service', payloadOf({ a: 'weather' })],
    ['that of a program', payloadOf({ s: ['agent'] })],
    ['that of a program as text', payloadOf({ s: 'agent' })],
    ['both', payloadOf({ a: 'weather', s: ['agent', 'kit'] })],
    ['the same twice', payloadOf({ a: 'weather', s: ['kit', 'kit'] })],
    ['as many as there may be', payloadOf({ a: 'weather', s: codes(10) })],
    ['more', payloadOf({ s: codes(11) })],
    ['the longest of all', payloadOf({ a: 'a'.repeat(32), s: codes(10, 32) })],
    ['codes of other forms', payloadOf({ a: 'Weather', s: ['', 'a b', 'ok', 7, null, 'ö'] })],
    ['one that is too long', payloadOf({ a: 'a'.repeat(33), s: ['a'.repeat(33)] })],
    ['a line break at its end', payloadOf({ a: 'weather\n', s: ['agent\n'] })],
    ['a facilitator of its own', payloadOf({ w: 'thief', s: ['agent'] })],
    ['no list', payloadOf({ a: ['weather'], s: { 0: 'agent' } })],
    ['a list as its info', payloadOf([{ a: 'weather' }])],
    ['no info', { x402Version: 2, extensions: { 'builder-code': { a: 'weather' } } }],
    ['payments of V1', payloadOf({ a: 'weather', s: ['agent'] }, 1)],
    ['payments of V1 that name a service alone', payloadOf({ a: 'weather' }, 1)],
  ])('is that of the reference for %s', (_, payload) => {
    const own = 'ours_'.padEnd(32, 'o');
    const suffix = ourSuffix(payload, own);
    expect(suffix).toBe(stockSuffix(payload, own));
    expect(parseBuilderCodeSuffixFromCalldata(`0x1234${(suffix ?? '').slice(2)}`)).toMatchObject({
      w: own,
    });
  });

  it('has what the stock seller declares and the stock client adds', async () => {
    const client = new BuilderCodeClientExtension(['agent', 'kit']);
    const declared = declareBuilderCodeExtension('weather', 'server_kit');
    const paid = await client.enrichPaymentPayload({ x402Version: 2 } as never, {} as never);
    const added = paid.extensions?.['builder-code'] as { info: { s: string[] } };
    // The client of the reference puts both lists together.
    const s = added.info.s.concat(declared.info.s ?? []);
    const suffix = ourSuffix(payloadOf({ ...declared.info, s }), 'ours');
    expect(parseBuilderCodeSuffixFromCalldata(suffix as `0x${string}`)).toEqual({
      a: 'weather',
      w: 'ours',
      s: ['agent', 'kit', 'server_kit'],
    });
  });

  it('is undefined where this service has no code', () => {
    expect(ourSuffix(payloadOf({ a: 'weather', s: ['agent'] }), undefined)).toBeUndefined();
  });

  it('is no longer than 500 bytes, whatever is sent', () => {
    const longest = ourSuffix(payloadOf({ a: 'a'.repeat(32), s: codes(500, 32) }), 'o'.repeat(32));
    expect(longest).toHaveLength(2 + 2 * 435);
  });

  it('has nothing of a list that is looked at no further', () => {
    const good = ourSuffix(
      payloadOf({ s: [...Array<number>(99).fill(1), 'last', 'late'] }),
      'ours',
    );
    expect(parseBuilderCodeSuffixFromCalldata(good as `0x${string}`)).toEqual({
      w: 'ours',
      s: ['last'],
    });
    expect(readBuilderCodes(payloadOf({ s: Array<string>(100_000).fill('BAD') }), 2)).toBe(
      undefined,
    );
  });

  it.each([{}, { extensions: [] }, { extensions: { 'builder-code': 'x' } }, payloadOf(null)])(
    'is of this service alone where nothing is declared (%j)',
    (payload) => {
      expect(readBuilderCodes(payload, 2)).toBeUndefined();
    },
  );
});

it.each([
  ['a', true],
  ['a_1', true],
  ['a'.repeat(32), true],
  ['a'.repeat(33), false],
  ['', false],
  ['A', false],
  ['a-b', false],
  ['a\n', false],
  [7, false],
])('a code may be %j: %s', (value, expected) => {
  expect(isBuilderCode(value)).toBe(expected);
});
