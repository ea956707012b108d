import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import express from 'express';
import { DiscoveryPageController } from '../../src/discovery/discovery-page.controller.js';
import { pageHeaders } from '../../src/platform/http/page-headers.js';
import { StaticFile } from '../../src/platform/http/static-file.js';
import { Browser } from '../support/browser.js';

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
  let server: Server;

  beforeAll(async () => {
    const page = new DiscoveryPageController();
    const css = new StaticFile('site.css');
    const app = express();
    app.get('/discovery/resources', (_request, response) => void response.json({ items: ENTRIES }));
    app.get('/discovery/search', (_request, response) => void response.json({ resources: [] }));
    app.get(
      '/discovery/status',
      (_request, response) =>
        void response.json({ listed: false, code: 'unknown', message: HOSTILE.join('') }),
    );
    app.get('/v2/assets', (_request, response) => void response.json({ assets: [] }));
    app.use(pageHeaders);
    app.get('/site.css', (_request, response) => {
      css.send(response);
    });
    app.get('/discovery', (_request, response) => {
      page.page(response);
    });
    app.get('/discovery/page.js', (_request, response) => {
      page.script(response);
    });
    app.get('/discovery/snippets.js', (_request, response) => {
      page.snippets(response);
    });
    server = await new Promise((resolve) => {
      const listening = app.listen(0, '127.0.0.1', () => {
        resolve(listening);
      });
    });
    // A phone.
    browser = await Browser.start(390, 800);
    await browser.open(`http://127.0.0.1:${(server.address() as AddressInfo).port}/discovery`);
    await browser.until(`document.querySelectorAll('article').length === ${ENTRIES.length}`);
  });

  afterAll(async () => {
    await browser.stop();
    server.close();
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

  it('searches, and says that nothing fits', async () => {
    await browser.evaluate(
      `document.getElementById('words').value = 'x'; document.getElementById('search').click()`,
    );
    await browser.until(
      `document.getElementById('outcome').textContent === 'Nothing that is listed fits.'`,
    );
    expect(await browser.evaluate(`document.querySelectorAll('article').length`)).toBe(0);
    expect(browser.complaints).toEqual([]);
  });
});
