import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DiscoveryPageController } from '../../src/discovery/discovery-page.controller.js';
import { Browser } from '../support/browser.js';
import { eventually } from '../support/http.js';
import { PageServer, showPage } from '../support/page-server.js';

const TOKEN = '0xcE24439F2D9C6a2289F741120FE202248B666666';
const PAYEE = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC';
/** What would run, or turn the text around, if it were more than text. */
const HOSTILE = [
  '<img src=x onerror="globalThis.hit=1">',
  '<script>globalThis.hit=1</script>',
  '\u202Eevil\u2066',
  '";globalThis.hit=1;"`${globalThis.hit=1}`\n\u2028',
];

/** Worse than any catalogue lets in: the page trusts none. */
const ENTRIES = [
  ...HOSTILE.map((text) => ({
    resource: `https://shop.example/${text}`,
    type: 'http',
    x402Version: 2,
    method: 'POST',
    serviceName: text,
    description: text.repeat(500),
    network: text,
    payTo: text,
    lastUpdated: text,
    quality: { [text]: text },
    otherPayees: 1,
    accepts: [{ scheme: 'exact', network: text, asset: text, amount: text, payTo: text }],
    discoveryInfo: { input: { type: 'http', bodyType: 'json', body: { [text]: text } } },
  })),
  {
    resource: 'javascript:globalThis.hit=1',
    type: 'http',
    x402Version: 2,
    method: 'GET',
    network: 'eip155:56',
    payTo: PAYEE,
    accepts: [],
    lastUpdated: '2026-11-22T10:11:12.000Z',
  },
];

describe('the page of the catalogue, in a browser', () => {
  let browser: Browser;
  let server: PageServer;
  const asked: string[] = [];
  const answers = {
    /** Behind the first page of the list, by the cursor that leads there. */
    pages: {} as Record<string, object>,
    list: { items: ENTRIES as readonly unknown[], pagination: {} as object },
    status: { listed: false, code: 'unknown', message: HOSTILE.join('') },
  };

  beforeAll(async () => {
    const page = new DiscoveryPageController();
    server = await PageServer.start((app) => {
      app.get('/discovery/resources', (request, response) => {
        asked.push(request.url);
        const { cursor } = request.query;
        const found = typeof cursor === 'string' ? answers.pages[cursor] : undefined;
        response.json(found ?? answers.list);
      });
      app.get('/discovery/search', (request, response) => {
        asked.push(request.url);
        response.json({ resources: [] });
      });
      app.get('/discovery/status', (_request, response) => void response.json(answers.status));
      app.get('/v2/assets', (_request, response) => {
        const token = { network: 'eip155:56', asset: TOKEN, symbol: 'USDX', decimals: 18 };
        response.json({ assets: [token] });
      });
      app.get('/supported', (_request, response) => {
        response.json({ kinds: [{ scheme: 'exact', network: 'eip155:56' }] });
      });
      app.get('/discovery', (request, response) => {
        showPage(request, response, page.page());
      });
    });
    // A phone.
    browser = await Browser.start(390, 800);
    await browser.open(`${server.url}/discovery`);
    await browser.until(`document.querySelectorAll('article').length === ${ENTRIES.length}`);
  });

  afterAll(async () => {
    await browser.stop();
    server.stop();
  });

  it('shows hostile words as text, and runs none of them', async () => {
    const text = String(await browser.evaluate(`document.getElementById('found').textContent`));
    expect(text).toContain('<img src=x onerror="globalThis.hit=1">');
    expect(text).not.toMatch(/[\u202E\u2066]/);
    expect(
      await browser.evaluate(`document.querySelectorAll('main img, main script').length`),
    ).toBe(0);
    expect(await browser.evaluate('typeof globalThis.hit')).toBe('undefined');
    expect(browser.complaints).toEqual([]);
  });

  it('links to the web alone', async () => {
    const links = (await browser.evaluate(
      `[...document.querySelectorAll('article a')].map(({ protocol, host, rel }) => protocol + host + ' ' + rel)`,
    )) as readonly string[];
    expect(links).toHaveLength(HOSTILE.length);
    for (const link of links) {
      expect(link).toBe('https:shop.example noopener noreferrer nofollow ugc');
    }
  });

  it('writes snippets whose strings nobody leaves', async () => {
    const snippets = (await browser.evaluate(
      `[...document.querySelectorAll('article')].slice(0, ${HOSTILE.length}).map((one) =>
        [...one.querySelectorAll('pre[aria-label]')].map(({ textContent }) => textContent))`,
    )) as readonly (readonly string[])[];
    const frames = snippets.map((all) =>
      all.map((text) => text.replace(/"(?:[^"\\]|\\.)*"/g, '""')),
    );
    expect(frames).toHaveLength(HOSTILE.length);
    expect(frames[0]).toHaveLength(3);
    for (const frame of frames) expect(frame).toEqual(frames[0]);
    expect(JSON.stringify(frames)).not.toContain('hit');
  });

  it('is no wider than a phone, with everything open', async () => {
    await browser.evaluate(
      `document.querySelectorAll('details').forEach((one) => { one.open = true })`,
    );
    expect(await browser.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
  });

  const ask = (fields: Readonly<Record<string, string>>): Promise<unknown> =>
    browser.evaluate(`(() => {
      const form = document.querySelector('form.fields');
      for (const [name, value] of Object.entries(${JSON.stringify(fields)})) {
        form.querySelector('[name="' + name + '"]').value = value;
      }
      form.requestSubmit();
    })()`);
  const untilSaid = (text: string): Promise<void> =>
    browser.until(`document.getElementById('outcome').textContent === ${JSON.stringify(text)}`);
  const textOf = async (id: string): Promise<string> =>
    String(await browser.evaluate(`document.getElementById('${id}').innerText`));

  it('searches, and says that nothing fits', async () => {
    await ask({ words: 'x' });
    await untilSaid('No results.');
    expect(await browser.evaluate(`document.querySelectorAll('article').length`)).toBe(0);
  });

  it('asks for kind, token and a price in whole tokens', async () => {
    await ask({ words: 'rain', type: 'mcp', token: '0', price: '1.5' });
    const lastQuery = () => new URL(asked.at(-1) ?? '', server.url).searchParams;
    await eventually('the search arrives', () => lastQuery().get('query') === 'rain');
    await untilSaid('No results.');
    const query = lastQuery();
    expect(Object.fromEntries(query)).toEqual({
      query: 'rain',
      type: 'mcp',
      network: 'eip155:56',
      asset: TOKEN,
      maxPrice: '1500000000000000000',
      limit: '20',
    });
    await ask({ words: '', type: '', token: '', price: 'much' });
    await untilSaid('Choose a token for the price.');
  });

  it('shows prices in whole tokens, quality in words, and sorts by price', async () => {
    const entry = (name: string, amount: string): object => ({
      resource: `https://shop.example/${name}`,
      type: 'http',
      x402Version: 2,
      method: 'GET',
      serviceName: name,
      network: 'eip155:56',
      payTo: PAYEE,
      lastUpdated: '2026-11-22T10:11:12.000Z',
      quality: {
        l30DaysTotalCalls: 2,
        l30DaysUniquePayers: 1,
        l30DaysSuccessRate: 1,
        l30DaysMedianSettleMs: 200,
      },
      accepts: [{ scheme: 'exact', network: 'eip155:56', asset: TOKEN, amount, payTo: PAYEE }],
    });
    answers.list = {
      items: [entry('dear', '2500000000000000000'), entry('cheap', '500000000000000000')],
      pagination: { nextCursor: 'bzIw' },
    };
    await ask({ words: '', type: '', network: 'eip155:56', token: '0', price: '', order: '' });
    await untilSaid('2 shown, there are more.');
    const text = await textOf('found');
    for (const part of ['2.5 USDX', '2 purchases, 1 buyer, 100 % settled, in 200 ms', PAYEE]) {
      expect(text).toContain(part);
    }
    expect(text.indexOf('dear')).toBeLessThan(text.indexOf('cheap'));
    await browser.evaluate(`document.getElementById('more').click()`);
    await untilSaid('4 shown, there are more.');
    expect(asked.at(-1)).toMatch(/cursor=bzIw$/);
    // The cheapest is on the last page: the whole catalogue is sorted, not what happens to be shown.
    answers.pages = {
      bzIw: { items: [entry('middle', '900000000000000000')], pagination: { nextCursor: 'bzMw' } },
      bzMw: { items: [entry('cheapest', '1')], pagination: {} },
    };
    await ask({ order: 'price' });
    await untilSaid('4 shown.');
    const names = `[...document.querySelectorAll('article h3')].map((one) => one.textContent.trim()).join()`;
    expect(await browser.evaluate(names)).toBe('cheapest,cheap,middle,dear');
    // A catalogue without an end is read up to a bound, and the page says so.
    answers.pages = {};
    const before = asked.length;
    await ask({ order: 'paid' });
    await untilSaid('10 shown: those of the highest quality, sorted. There are more.');
    expect(asked.length - before).toBe(5);
    await ask({ token: '', order: 'price' });
    await untilSaid('Choose a token to sort by price.');
  });

  it('says whether a resource is listed, and that there is no catalogue', async () => {
    answers.status = { listed: false, code: 'catalogue_off', message: 'Nothing is declared.' };
    await browser.evaluate(`(() => {
      document.getElementById('resource').value = 'https://shop.example/x';
      document.getElementById('check').requestSubmit();
    })()`);
    await browser.until(
      `document.getElementById('standing').textContent.includes('catalogue_off')`,
    );
    answers.list = { items: [], pagination: {} };
    await ask({ network: '', token: '', order: '' });
    await browser.until(
      `document.getElementById('outcome').textContent.startsWith('This facilitator keeps no catalogue')`,
    );
    expect(browser.complaints).toEqual([]);
  });
});
