import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  anItem,
  KNOWN,
  PAYEE,
  SENT_PAYEE,
  TOKEN,
} from '../../../test/builders/wallet/catalogue/catalogue-item.js';
import { ServiceDetailsInput, ServiceSearchInput } from '../tools/service-shapes.js';
import { ServiceFinder } from './service-finder.js';

type Serve = (response: ServerResponse, url: URL) => void;

const json =
  (body: unknown, status = 200): Serve =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };

describe('the catalogue that an operator has named', () => {
  let server: Server;
  let base: string;
  let serve: Serve = json({});
  const asked: URL[] = [];

  beforeAll(async () => {
    server = createServer((request, response) => {
      const url = new URL(request.url ?? '', 'http://catalogue.example');
      asked.push(url);
      serve(response, url);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    server.close();
    server.closeAllConnections();
  });

  function finder(answer: Serve, timeoutMs = 10_000): ServiceFinder {
    serve = answer;
    asked.length = 0;
    return new ServiceFinder({ catalogueUrl: `${base}/v2`, fetchTimeoutMs: timeoutMs }, KNOWN);
  }
  const search = (answer: Serve, given: object = { query: 'weather' }, timeoutMs?: number) =>
    finder(answer, timeoutMs).search(ServiceSearchInput.parse(given));
  const details = (answer: Serve, given: object = {}) => {
    const resource = 'https://shop.example.com/weather';
    return finder(answer).details(
      ServiceDetailsInput.parse({ resource, payTo: SENT_PAYEE, ...given }),
    );
  };

  it('is asked in its own words: filters, and a price in atomic units', async () => {
    const found = await search(json({ resources: [anItem()], pagination: { cursor: 'next' } }), {
      query: '  rain\u0000\n&limit=9 ',
      type: 'http',
      network: 'eip155:97',
      asset: TOKEN,
      maxPrice: '0.5',
      limit: 3,
      cursor: 'bzM',
    });
    expect(found).toMatchObject({ services: [{ payTo: PAYEE }], cursor: 'next' });
    expect(asked.map(({ pathname }) => pathname)).toEqual(['/v2/discovery/search']);
    expect(Object.fromEntries(asked[0]?.searchParams ?? [])).toEqual({
      query: 'rain &limit=9',
      type: 'http',
      network: 'eip155:97',
      asset: TOKEN,
      maxPrice: '500000',
      limit: '3',
      cursor: 'bzM',
    });
  });

  it('is listed where no word is looked for', async () => {
    const page = { items: [anItem()], pagination: { nextCursor: 'more' } };
    expect((await search(json(page), {})).cursor).toBe('more');
    expect(asked[0]?.pathname).toBe('/v2/discovery/resources');
  });

  it('is not asked for a price in a token with unknown decimals', async () => {
    const given = { maxPrice: '1', asset: `0x${'e5'.repeat(20)}`, network: 'eip155:97' };
    for (const one of [given, { maxPrice: '1' }]) {
      await expect(search(json({}), one)).rejects.toMatchObject({ code: 'invalid_request' });
    }
    expect(asked).toEqual([]);
  });

  it('gives no more than was asked for, whatever it sends', async () => {
    const many = Array.from({ length: 500 }, () => anItem());
    const page = { resources: [null, 7, [], {}, ...many], pagination: { cursor: ['x'] } };
    const found = await search(json(page), { query: 'a', limit: 10 });
    expect(found.services.length).toBeLessThanOrEqual(10);
    expect(found).not.toHaveProperty('cursor');
  });

  it.each<[string, Serve, string]>([
    ['10 MB', json({ resources: [], more: 'x'.repeat(10_000_000) }), 'fetch_failed'],
    ['no JSON', json('<html>'), 'fetch_failed'],
    ['half of it', json('{"resources":['), 'fetch_failed'],
    ['other JSON', json({ resources: { length: 2 } }), 'fetch_failed'],
    ['a list', json([anItem()]), 'fetch_failed'],
    [
      'JSON 1000 deep',
      json(`{"resources":[${'['.repeat(1000)}${']'.repeat(1000)}]}`),
      'fetch_failed',
    ],
    [
      '300,000 values',
      json({ resources: Array.from({ length: 300_000 }, () => 1) }),
      'fetch_failed',
    ],
    ['an error', json({ error: 'redis://user:secret@host' }, 500), 'fetch_failed'],
    ['a refusal', json({ error: 'secret' }, 400), 'invalid_request'],
    ['that it is busy', json({ error: 'secret' }, 503), 'unavailable'],
    [
      'a place elsewhere',
      (response) => response.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
      'fetch_failed',
    ],
    ['and breaks off', (response) => response.destroy(), 'fetch_failed'],
  ])(
    'is refused when it answers %s, and nothing of that is repeated',
    async (_what, answer, code) => {
      await expect(search(answer)).rejects.toMatchObject({
        code,
        message: expect.not.stringMatching(/secret|127\.0\.0\.1|html/),
      });
      expect(asked).toHaveLength(1);
    },
  );

  it('is refused for its cause where its answer takes long to parse', async () => {
    const heavy = json({ resources: Array.from({ length: 30_000 }, () => ({})) });
    await expect(search(heavy)).rejects.toThrow('The answer of the catalogue is too large.');
  });

  it('is given up when it does not answer in time', async () => {
    const silent: Serve = () => undefined;
    await expect(search(silent, {}, 200)).rejects.toMatchObject({ code: 'fetch_failed' });
  });

  it('gives the entry of one payee, also where it knows no filter', async () => {
    const other = anItem({ payTo: TOKEN, accepts: [] });
    const theirs = anItem({ resource: 'https://shop.example.com/other' });
    const mine = anItem({}, { queryParams: { city: 'Berlin' } });
    const pages: Record<string, unknown> = {
      first: { items: [other, theirs], pagination: { nextCursor: 'second' } },
      second: { items: [mine], pagination: {} },
    };
    const found = await details((response, url) => {
      json(pages[url.searchParams.get('cursor') ?? 'first'])(response, url);
    });
    expect(found).toMatchObject({
      resource: 'https://shop.example.com/weather',
      payTo: PAYEE,
      declaredBySeller: { input: { queryParams: { city: 'Berlin' } }, leftOut: [] },
      howToBuy: { arguments: { url: 'https://shop.example.com/weather?city=Berlin' } },
    });
    expect(asked.map(({ searchParams }) => searchParams.get('payTo'))).toEqual([
      SENT_PAYEE,
      SENT_PAYEE,
    ]);
  });

  it('gives the entry of a template for every URL that it stands for, and says how to buy that', async () => {
    const route = anItem(
      {
        resource: 'https://shop.example.com/weather/:city',
        exampleUrl: 'https://shop.example.com/weather/paris',
      },
      { queryParams: { unit: 'celsius' } },
    );
    const resource = 'https://shop.example.com/weather/berlin?unit=kelvin#now';
    const page = json({ items: [route], pagination: {} });
    expect(await details(page, { resource })).toMatchObject({
      resource: 'https://shop.example.com/weather/:city',
      declaredBySeller: { exampleUrl: 'https://shop.example.com/weather/paris' },
      howToBuy: {
        arguments: { url: 'https://shop.example.com/weather/berlin?unit=celsius' },
        examples: ['query'],
      },
    });
    for (const other of ['weather', 'weather/berlin/now', 'news/berlin']) {
      const asking = details(page, { resource: `https://shop.example.com/${other}` });
      await expect(asking).rejects.toMatchObject({ code: 'not_found' });
    }
    const plain = json({ items: [anItem({ resource: route['resource'] })], pagination: {} });
    await expect(details(plain, { resource })).rejects.toMatchObject({ code: 'not_found' });
  });

  it('gives an entry of its own before that of a template', async () => {
    const pages: Record<string, unknown> = {
      first: {
        items: [
          anItem({
            resource: 'https://shop.example.com/:what',
            exampleUrl: 'https://shop.example.com/weather',
          }),
        ],
        pagination: { nextCursor: 'second' },
      },
      second: { items: [anItem()], pagination: {} },
    };
    const found = await details((response, url) => {
      json(pages[url.searchParams.get('cursor') ?? 'first'])(response, url);
    });
    expect(found.resource).toBe('https://shop.example.com/weather');
  });

  it('says what is too long to be shown', async () => {
    const large = anItem({}, { queryParams: { a: 'x'.repeat(5000) } });
    const found = await details(json({ items: [large], pagination: {} }));
    expect(found.declaredBySeller).toEqual({ leftOut: ['input'] });
    expect(found.whyNot).toBeDefined();
  });

  it('is not followed without end', async () => {
    const endless = json({
      items: [anItem({ payTo: TOKEN })],
      pagination: { nextCursor: 'again' },
    });
    await expect(details(endless)).rejects.toMatchObject({ code: 'not_found' });
    expect(asked).toHaveLength(50);
  });
});
