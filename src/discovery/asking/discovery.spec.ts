import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  aLesson,
  aPaid,
  NOON,
  OTHER_PAYEE,
  PAYEE,
  RESOURCE,
  TOKEN,
} from '../../../test/builders/discovery/catalogue-update.js';
import { readQuery } from '../../../test/builders/platform/http/dto.js';
import { MemoryCatalogue } from '../../../test/twins/discovery/memory-catalogue.js';
import { ArchiveError } from '../../history/archive.js';
import type { CatalogueReader } from '../catalogue.js';
import { Discovery } from './discovery.js';
import {
  ListQueryDto,
  MerchantQueryDto,
  SearchQueryDto,
  StatusQueryDto,
} from './dto/discovery-query.dto.js';

const DAY_MS = 86_400_000;
const at = (name: string | number): string => `https://shop.example.com/${name}`;

interface Listed {
  readonly items: readonly { readonly resource: string }[];
  readonly pagination: Readonly<Record<string, unknown>>;
}

describe('the catalogue, asked', () => {
  let catalogue: MemoryCatalogue;
  let discovery: Discovery;

  beforeEach(() => {
    catalogue = new MemoryCatalogue();
    discovery = over(catalogue);
  });

  const over = (reader: CatalogueReader | undefined): Discovery =>
    new Discovery(
      { allow: new Set(['127.0.0.1']), expiryMs: 30 * DAY_MS },
      { now: () => NOON + DAY_MS },
      reader,
    );
  const ask = {
    list: async (query: object, version: 1 | 2 = 2) =>
      discovery.list(await readQuery(ListQueryDto, query), version),
    search: async (query: object) => discovery.search(await readQuery(SearchQueryDto, query), 2),
    merchant: async (query: object) =>
      discovery.merchant(await readQuery(MerchantQueryDto, query), 2),
    status: async (query: object) => discovery.status(await readQuery(StatusQueryDto, query)),
  };
  const list = async (query: object, version: 1 | 2 = 2) =>
    (await ask.list(query, version)) as unknown as Listed;
  const resourcesOf = ({ items }: Listed) => items.map(({ resource }) => resource);
  const learnMany = (count: number) =>
    catalogue.update(
      Array.from({ length: count }, (_, n) => aLesson({ resource: at(n) }, { at: NOON - n })),
    );
  const problemOf = async (query: object): Promise<string> => {
    try {
      await ask.list(query);
    } catch (error) {
      return (error as Error).message;
    }
    return 'none';
  };

  it('lists as the stock client of V2 reads it', async () => {
    await catalogue.update([aLesson({ description: 'Weather', tags: ['weather'] })]);
    expect(await ask.list({})).toEqual({
      x402Version: 2,
      items: [
        {
          resource: RESOURCE,
          type: 'http',
          x402Version: 2,
          method: 'GET',
          accepts: [
            {
              scheme: 'exact',
              network: 'eip155:56',
              amount: '1000',
              asset: expect.stringMatching(new RegExp(TOKEN, 'i')),
              payTo: expect.stringMatching(new RegExp(PAYEE, 'i')),
              maxTimeoutSeconds: 300,
              extra: { name: 'USD', version: '2' },
            },
          ],
          lastUpdated: new Date(NOON + 1000).toISOString(),
          description: 'Weather',
          tags: ['weather'],
          extensions: { bazaar: { info: { input: { type: 'http', method: 'GET' } } } },
          discoveryInfo: { input: { type: 'http', method: 'GET' } },
          network: 'eip155:56',
          payTo: expect.stringMatching(new RegExp(PAYEE, 'i')),
          firstPaid: new Date(NOON + 1000).toISOString(),
          otherPayees: 0,
        },
      ],
      pagination: { limit: 100, offset: 0, total: 1 },
    });
  });

  it('lists to clients of V1 what they can buy, as they read it', async () => {
    const info = { input: { type: 'http' }, output: { type: 'json', example: { celsius: 7 } } };
    await catalogue.update([
      aLesson(),
      aLesson({ resource: at('v1'), x402Version: 1, bazaar: { info } }),
    ]);
    const { items } = await list({}, 1);
    expect(items).toMatchObject([
      {
        resource: at('v1'),
        type: 'http',
        x402Version: 1,
        accepts: [
          {
            scheme: 'exact',
            network: 'bsc',
            maxAmountRequired: '1000',
            resource: at('v1'),
            description: '',
            mimeType: '',
            maxTimeoutSeconds: 300,
            outputSchema: { input: { type: 'http' }, output: { celsius: 7 } },
          },
        ],
      },
    ]);
    expect((await list({})).items).toHaveLength(2);
  });

  it('lists page by page, by offset and by cursor', async () => {
    await learnMany(7);
    const first = await list({ limit: '3' });
    expect([resourcesOf(first), first.pagination]).toEqual([
      [at(0), at(1), at(2)],
      { limit: 3, offset: 0, total: 7, nextCursor: expect.any(String) },
    ]);
    const second = await list({ limit: '3', cursor: first.pagination['nextCursor'] });
    expect(resourcesOf(second)).toEqual([at(3), at(4), at(5)]);
    const third = await list({ limit: '3', cursor: second.pagination['nextCursor'] });
    expect([resourcesOf(third), third.pagination]).toEqual([
      [at(6)],
      { limit: 3, offset: 0, total: 7 },
    ]);
    expect(resourcesOf(await list({ limit: '3', offset: '6' }))).toEqual([at(6)]);
    expect(resourcesOf(await list({ offset: '10000' }))).toEqual([]);
  });

  it('gives a page to a caller that asks for a thousand', async () => {
    await learnMany(120);
    expect((await list({ limit: '1000' })).items).toHaveLength(100);
    expect((await list({ limit: '0' })).items).toHaveLength(1);
  });

  it('filters by what clients name, in every spelling of theirs', async () => {
    await catalogue.update([aLesson(), aLesson({}, { payTo: OTHER_PAYEE, chainId: 97 })]);
    const counts = await Promise.all(
      [
        { network: 'bsc' },
        { network: 'eip155:56' },
        { network: 'eip155:1' },
        { payTo: PAYEE.toUpperCase().replace('X', 'x') },
        { scheme: 'exact' },
        { scheme: 'unheard-of' },
        { extensions: 'bazaar' },
        { extensions: 'other' },
        { asset: TOKEN, maxPrice: '999' },
        { asset: TOKEN, maxPrice: '1000' },
        { type: 'mcp' },
        { curatedOnly: 'true' },
      ].map(async (query) => (await list(query)).pagination['total']),
    );
    expect(counts).toEqual([1, 1, 0, 1, 2, 0, 2, 0, 0, 2, 0, 2]);
  });

  it.each([
    [{ payTo: 'me' }, 'payTo must be an address: 0x and 40 hex digits.'],
    [{ payTo: [PAYEE, PAYEE] }, 'payTo must be given once.'],
    [{ network: 'eip155:056' }, 'network must be a network such as eip155:56'],
    [{ type: 'ftp' }, 'type must be one of http, mcp.'],
    [{ limit: '-1' }, 'limit must be a whole number'],
    [{ limit: '1e3' }, 'limit must be a whole number'],
    [{ offset: '10001' }, 'offset must be a whole number, 0 to 10000.'],
    [{ maxPrice: '5' }, 'maxPrice needs asset'],
    [{ asset: TOKEN, maxPrice: '0x5' }, 'maxPrice must be a whole number of atomic units.'],
    [{ cursor: 'nonsense' }, 'cursor must be the cursor of an earlier answer to the same query.'],
    [{ cursor: 'x'.repeat(201) }, 'cursor must be text of 1 to 200 characters.'],
    [{ scheme: 'x'.repeat(65) }, 'scheme must be text of 0 to 64 characters.'],
  ])('refuses %j and names what is wrong', async (query, problem) => {
    expect(await problemOf(query)).toContain(problem);
  });

  it('searches, and lists where there are no words', async () => {
    await catalogue.update([
      aLesson({ resource: at('a'), description: 'Weather' }),
      aLesson({ resource: at('b'), description: 'Weather too' }, { at: NOON - 1 }),
      aLesson({ resource: at('c'), description: 'Stocks' }, { at: NOON - 2 }),
    ]);
    const found = (await ask.search({ query: ' weather ', limit: '1' })) as unknown as {
      readonly resources: readonly { readonly resource: string }[];
      readonly pagination: { readonly cursor: string };
    };
    expect(found).toMatchObject({
      x402Version: 2,
      resources: [{ resource: at('a') }],
      partialResults: false,
      searchMethod: 'text',
      pagination: { limit: 1, cursor: expect.any(String) },
    });
    const { cursor } = found.pagination;
    expect(await ask.search({ query: 'weather', limit: '1', cursor })).toMatchObject({
      resources: [{ resource: at('b') }],
      pagination: { limit: 1, cursor: null },
    });
    expect((await ask.search({})).resources).toHaveLength(3);
    for (const query of [
      { query: 'x'.repeat(401) },
      { query: 'a\0b' },
      { query: 'a\ud800' },
      { query: 'a\ufffd' },
      { cursor: 'bzk5OTk5' },
    ]) {
      await expect(ask.search(query)).rejects.toMatchObject({
        status: 400,
        message: expect.stringMatching(/^(query|cursor) /),
      });
    }
  });

  it.each(['-'.repeat(40), '... !? ...'])(
    'refuses a search of signs alone as the fault of its asker: %s',
    async (query) => {
      await expect(ask.search({ query })).rejects.toMatchObject({
        status: 400,
        message: expect.stringMatching(/^query /),
      });
    },
  );

  it('knows the entries of a payee', async () => {
    await catalogue.update([aLesson(), aLesson({}, { payTo: OTHER_PAYEE })]);
    expect(await ask.merchant({ payTo: PAYEE })).toMatchObject({
      payTo: PAYEE,
      resources: [{ resource: RESOURCE, otherPayees: 1 }],
      pagination: { limit: 20, offset: 0, total: 1 },
    });
    await expect(ask.merchant({})).rejects.toThrow('payTo ');
  });

  describe('why something is or is not listed', () => {
    const codeOf = async (resource: string, more: object = {}) =>
      (await ask.status({ resource, ...more })).code;

    it('says what is listed, with any query and in any spelling', async () => {
      await catalogue.update([aLesson()]);
      expect(await ask.status({ resource: 'HTTPS://Shop.example.com/weather?a=b' })).toEqual({
        resource: RESOURCE,
        listed: true,
        code: 'listed',
        message: expect.any(String),
        known: [
          {
            payTo: PAYEE,
            network: 'eip155:56',
            resource: RESOURCE,
            call: 'GET',
            listed: true,
            code: 'listed',
            message: expect.any(String),
            at: new Date(NOON + 1000).toISOString(),
          },
        ],
      });
      expect(await codeOf(RESOURCE, { payTo: OTHER_PAYEE })).toBe('unknown');
    });

    it('says what is not listed', async () => {
      await catalogue.update([
        { paid: aPaid(), declared: { code: 'tool_name', path: 'a', resource: at('tool') } },
        aLesson({ resource: at('old') }, { at: NOON - 40 * DAY_MS }),
      ]);
      expect(await codeOf(at('tool'))).toBe('tool_name');
      expect(await codeOf(at('old'))).toBe('expired');
      expect(await codeOf(at('never'))).toBe('unknown');
      expect(await codeOf('http://10.0.0.1/')).toBe('resource_not_public');
      expect(await codeOf('javascript:alert(1)')).toBe('resource_scheme');
      await expect(ask.status({})).rejects.toThrow('resource ');
    });
  });

  it('is empty, and says why, where there is no catalogue', async () => {
    discovery = over(undefined);
    const none = { limit: 100, offset: 0, total: 0 };
    expect(await ask.list({})).toEqual({ x402Version: 2, items: [], pagination: none });
    expect(await ask.search({ query: 'a' })).toMatchObject({ resources: [] });
    expect(await ask.merchant({ payTo: PAYEE })).toMatchObject({ resources: [] });
    expect(await ask.status({ resource: RESOURCE })).toMatchObject({ code: 'catalogue_off' });
  });

  it('is not empty where it cannot be asked', async () => {
    const away = () => Promise.reject(new ArchiveError('database_unreachable', undefined));
    discovery = over({ page: away, count: away, search: away, listingStates: away });
    for (const answer of [
      ask.list({}),
      ask.search({ query: 'a' }),
      ask.status({ resource: RESOURCE }),
    ]) {
      await expect(answer).rejects.toMatchObject({ status: 503, code: 'catalogue_unavailable' });
    }
  });

  it('knows its cursors alone', async () => {
    const cursor = Buffer.from('s.0').toString('base64url');
    await expect(ask.list({ cursor })).rejects.toThrow('cursor ');
    await expect(ask.search({ cursor })).rejects.toThrow('cursor ');
    await expect(ask.merchant({ payTo: PAYEE, cursor })).rejects.toThrow('cursor ');
  });
});
