import { describe, expect, it } from '@jest/globals';
import { NOON, OTHER_PAYEE, PAYEE, TOKEN } from '../lesson.builder.js';
import { readForeignEntry } from './foreign-entry.js';
import { aForeignItem, aForeignOffer, at } from './sources.builder.js';

/** As it arrives: text, parsed. */
const read = (item: unknown) =>
  readForeignEntry(item === undefined ? null : JSON.parse(JSON.stringify(item)), NOON);

describe('an item of another catalogue', () => {
  it('is read as what a seller declares to us, without its quality', () => {
    const item = aForeignItem('a', {
      ...{ description: 'Weather', tags: ['weather'], quality: { score: 99 }, curated: true },
      accepts: [aForeignOffer(), aForeignOffer({ payTo: OTHER_PAYEE, network: 'bsc-testnet' })],
    });
    expect(read(item)).toEqual({
      listing: {
        ...{ x402Version: 2, type: 'http', method: 'GET', resource: at('a') },
        ...{ description: 'Weather', tags: ['weather'], offer: {} },
        bazaar: { info: { input: { type: 'http', method: 'GET' } } },
      },
      offers: [
        {
          ...{ chainId: 56, payTo: PAYEE, scheme: 'exact', asset: TOKEN, amount: 1000n },
          offer: { maxTimeoutSeconds: 60, extra: { name: 'USD', version: '2' } },
        },
        expect.objectContaining({ chainId: 97, payTo: OTHER_PAYEE }),
      ],
      updatedAt: new Date('2026-11-01T00:00:00Z'),
    });
  });

  it('of V1 is read from its offers', () => {
    const outputSchema = { input: { type: 'http', method: 'POST', bodyFields: { a: 1 } } };
    const offer = aForeignOffer({ network: 'bsc', amount: undefined, maxAmountRequired: '7' });
    const item = aForeignItem('v1', {
      ...{ x402Version: 1, extensions: undefined, accepts: [{ ...offer, outputSchema }] },
    });
    expect(read(item)).toMatchObject({
      listing: { x402Version: 1, method: 'POST', resource: at('v1') },
      offers: [{ chainId: 56, amount: 7n }],
    });
  });

  it('of a route keeps the template that fits its example', () => {
    const bazaar = { info: { input: { type: 'http', method: 'GET' } }, routeTemplate: '/w/:city' };
    const item = aForeignItem('w/:city', { exampleUrl: at('w/berlin'), extensions: { bazaar } });
    expect(read(item)?.listing).toMatchObject({
      ...{ resource: at('w/:city'), exampleUrl: at('w/berlin') },
    });
  });

  it('is no newer than now, in whatever unit it counts', () => {
    const timeOf = (lastUpdated: unknown) =>
      read(aForeignItem('a', { lastUpdated }))?.updatedAt.getTime();
    expect(timeOf('2999-01-01T00:00:00Z')).toBe(NOON);
    expect(timeOf(1_700_000_000)).toBe(1_700_000_000_000);
    expect(timeOf(1_700_000_000_123)).toBe(1_700_000_000_123);
  });

  it.each<[string, unknown]>([
    ['null', null],
    ['a text', 'item'],
    ['without offers', aForeignItem('a', { accepts: undefined })],
    ['with none that is one', aForeignItem('a', { accepts: [null, 1, {}, []] })],
    ['with another chain', aForeignItem('a', { accepts: [aForeignOffer({ network: 'solana' })] })],
    ['with no amount', aForeignItem('a', { accepts: [aForeignOffer({ amount: '-1' })] })],
    ['with a scheme of tags', aForeignItem('a', { accepts: [aForeignOffer({ scheme: '<b>' })] })],
    ['of no time', aForeignItem('a', { lastUpdated: 'yesterday' })],
    ['of no version', aForeignItem('a', { x402Version: 3 })],
    ['that declares nothing', aForeignItem('a', { extensions: {} })],
    ['of a program', aForeignItem('a', { resource: 'javascript:alert(1)' })],
    ['of a host of ours', aForeignItem('a', { resource: 'http://127.0.0.1:6379/' })],
    ['of a machine', aForeignItem('a', { resource: 'http://localhost/' })],
    ['with a password', aForeignItem('a', { resource: 'https://me:secret@shop.example.com/' })],
  ])('is none: %s', (_, item) => {
    expect(read(item)).toBeUndefined();
  });

  it('says nothing that is not seen, and names nothing that programs stumble over', () => {
    const text = `{"__proto__": {"polluted": true}, "constructor": 1, "a": "b\\u202E"}`;
    const input = { type: 'http', method: 'GET', queryParams: JSON.parse(text) as unknown };
    const item = aForeignItem('a', {
      description: '<script>alert(1)</script>\u202Etxt',
      iconUrl: 'javascript:alert(1)',
      extensions: { bazaar: { info: { input } } },
    });
    const { listing } = readForeignEntry(item, NOON) ?? {};
    expect(listing).toMatchObject({ description: 'alert(1)txt' });
    expect(listing?.iconUrl).toBeUndefined();
    expect(JSON.stringify(listing)).not.toMatch(/__proto__|constructor|polluted|\u202E/);
  });

  it('costs little, however large it is', () => {
    const offers = Array.from({ length: 100_000 }, () => aForeignOffer());
    const item = aForeignItem('a', { accepts: offers, description: 'x'.repeat(1_000_000) });
    const entry = readForeignEntry(item, NOON);
    expect(entry?.offers).toHaveLength(8);
    expect(entry?.listing.description).toHaveLength(500);
  });
});
