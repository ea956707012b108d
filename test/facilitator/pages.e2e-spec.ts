import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Service } from '../../sandbox/service.js';
import { DoctorPageController } from '../../src/facilitator/doctor/doctor-page.controller.js';
import { troublesOf } from '../support/axe.js';
import { Browser } from '../support/browser.js';
import { get } from '../support/http.js';
import { PageServer, showPage } from '../support/page-server.js';
import { World } from '../support/world.js';

describe.each([1280, 390])('the pages for everybody, %i pixels wide', (width) => {
  let world: World;
  let service: Service;
  let browser: Browser;

  const textOf = async (selector: string): Promise<string> =>
    String(await browser.evaluate(`document.querySelector('${selector}')?.innerText ?? ''`));
  const open = async (path: string, isThere: string): Promise<void> => {
    await browser.open(service.url + path);
    await browser.until(isThere);
  };

  beforeAll(async () => {
    world = await World.start();
    service = await world.service({
      DOCTOR: 'true',
      DOCTOR_ALLOW: '127.0.0.1',
      MIN_AMOUNTS: `eip155:${world.chainId}/${world.usd}=1`,
    });
    browser = await Browser.start(width, 900);
  });
  afterAll(async () => {
    await browser.stop();
    await world.stop();
  });

  it('say on the first page that all works, in which networks, and lead everywhere', async () => {
    await open('/', `document.querySelector('.light')?.textContent === 'All systems work.'`);
    await browser.until(`document.querySelector('#status tbody') !== null`);
    expect(await textOf('#status')).toContain(`eip155:${world.chainId}`);
    expect(await textOf('#facilitator-url')).toBe(service.url);
    const links = (await browser.evaluate(
      `[...document.querySelectorAll('a')].map(({ href }) => href)`,
    )) as readonly string[];
    for (const link of new Set(links)) expect((await fetch(link)).status).toBe(200);
    expect(await troublesOf(browser)).toEqual([]);
  });

  it('lead with what a seller needs, fold what says the same, and search', async () => {
    await open('/docs', `document.querySelectorAll('details.card').length > 10`);
    const first = (await browser.evaluate(
      `[...document.querySelectorAll('h2 ~ details.card .path')].slice(0, 4).map((one) => one.textContent)`,
    )) as readonly string[];
    expect(first).toEqual(['/settle', '/verify', '/supported', '/v2/settlements/{id}']);
    const paths = (await browser.evaluate(
      `[...document.querySelectorAll('summary .path')].map((one) => one.textContent)`,
    )) as readonly string[];
    expect(paths).not.toContain('/v1/settle');
    expect(await troublesOf(browser)).toEqual([]);
    await browser.evaluate(`(() => {
      const field = document.getElementById('search');
      field.value = 'receipt';
      field.dispatchEvent(new Event('input', { bubbles: true }));
    })()`);
    await browser.until(`document.querySelectorAll('summary .path').length < 4`);
    expect(await textOf('main')).toContain('/v2/settlements/{id}/receipt');
  });

  it('try an endpoint, which a link opens by the name of any of its aliases', async () => {
    await open('/docs#supportedV1', `document.querySelector('#supportedRoot[open]') !== null`);
    await browser.until(`document.querySelector('#supportedRoot form') !== null`);
    expect(await textOf('#supportedRoot')).toContain('GET /v1/supported');
    await browser.evaluate(`(() => {
      const form = document.querySelector('#supportedRoot form');
      form.closest('details').open = true;
      form.requestSubmit();
    })()`);
    await browser.until(`document.querySelector('#supportedRoot [role=status]') !== null`);
    expect(await textOf('#supportedRoot [role=status]')).toMatch(/^200 after \d+ ms[^]*"kinds"/);
    expect(await troublesOf(browser)).toEqual([]);
  });

  it('check a seller, and say what is wrong', async () => {
    await open('/doctor', `document.getElementById('ask') !== null`);
    expect(await troublesOf(browser)).toEqual([]);
    await browser.evaluate(`(() => {
      document.querySelector('[name=url]').value = '${service.url}/health';
      document.getElementById('ask').requestSubmit();
    })()`);
    await browser.until(`document.getElementById('report') !== null`);
    expect(await textOf('#outcome')).toMatch(/^It answered 200. \d+ errors?/);
    expect(await troublesOf(browser)).toEqual([]);
  });

  it('say what is not there: as a page to people, and as JSON to programs', async () => {
    expect(browser.complaints).toEqual([]);
    await open('/no/such/page', `document.querySelector('h1')?.textContent === 'Page not found'`);
    expect(await textOf('nav')).toContain('Marketplace');
    expect(await textOf('main')).toContain('No page has this address.');
    expect(await troublesOf(browser)).toEqual([]);
    await browser.open(`${service.url}/wallet`);
    await browser.until(`document.body.textContent.includes('The agent wallet is not served')`);
    const answer = await get(`${service.url}/no/such/page`);
    expect([answer.status, answer.body['code']]).toEqual([404, 'no_such_path']);
  });
});

describe('the check of a seller, told hostile words', () => {
  const HOSTILE = '<img src=x onerror="globalThis.hit=1">\u202e';
  const finding = { code: HOSTILE, path: HOSTILE, expected: HOSTILE, fix: HOSTILE, got: HOSTILE };
  const offer = { path: HOSTILE, scheme: HOSTILE, method: HOSTILE, network: HOSTILE };
  let answer: { readonly status: number; readonly body: unknown };
  let asked: { readonly key: string | undefined; readonly body: string } | undefined;
  let server: PageServer;
  let browser: Browser;

  beforeAll(async () => {
    const page = new DoctorPageController();
    server = await PageServer.start((app) => {
      app.post('/v2/doctor', (request, response) => {
        let body = '';
        request.on('data', (piece) => (body += String(piece)));
        request.on('end', () => {
          asked = { key: request.get('x-api-key'), body };
          response.status(answer.status).json(answer.body);
        });
      });
      app.get('/doctor', (request, response) => {
        showPage(request, response, page.page());
      });
    });
    browser = await Browser.start(1000, 800);
  });
  afterAll(async () => {
    await browser.stop();
    server.stop();
  });

  const REPORT = {
    isSound: false,
    status: 402,
    counts: { error: 1, warning: 2 },
    offers: [{ ...offer, asset: HOSTILE, payTo: HOSTILE, amount: HOSTILE }],
    findings: [{ ...finding, severity: 'error' }],
  };
  const check = async (said: string, fields: Readonly<Record<string, string>> = {}) => {
    await browser.open(`${server.url}/doctor?${Math.random()}`);
    await browser.until(`document.getElementById('ask') !== null`);
    await browser.evaluate(`(() => {
      const all = { url: 'https://x.example', ...${JSON.stringify(fields)} };
      for (const [name, value] of Object.entries(all)) {
        document.querySelector('[name="' + name + '"]').value = value;
      }
      document.getElementById('ask').requestSubmit();
    })()`);
    await browser.until(
      `document.getElementById('outcome').textContent === ${JSON.stringify(said)}`,
    );
  };

  it('shows them as text, and runs none of them', async () => {
    answer = { status: 200, body: REPORT };
    await check('It answered 402. 1 error, 2 warnings.');
    const text = String(await browser.evaluate(`document.getElementById('report').textContent`));
    expect(text).toContain('<img src=x onerror="globalThis.hit=1">⟨U+202E⟩');
    expect(await browser.evaluate(`document.querySelectorAll('main img').length`)).toBe(0);
    expect(await browser.evaluate('typeof globalThis.hit')).toBe('undefined');
    expect(browser.complaints).toEqual([]);
  });

  it('sends a body where the method has one, and a key where there is one', async () => {
    await check('It answered 402. 1 error, 2 warnings.', { method: 'POST', body: '{}', key: 'k' });
    expect(asked?.key).toBe('k');
    expect(JSON.parse(asked?.body ?? '')).toEqual({
      url: 'https://x.example',
      method: 'POST',
      body: '{}',
    });
    await check('It answered 402. 1 error, 2 warnings.', { body: '{}' });
    expect(asked).toEqual({
      key: undefined,
      body: JSON.stringify({ url: 'https://x.example', method: 'GET' }),
    });
  });

  it.each([
    [200, { ...REPORT, isSound: true }, 'Ready to be paid: a stock buyer can pay.', 'good'],
    [200, { ...REPORT, status: undefined }, 'The seller could not be asked.', 'bad'],
    [
      200,
      { ...REPORT, counts: { error: 0, warning: 1 } },
      'It answered 402. 0 errors, 1 warning.',
      'warn',
    ],
    [429, { error: 'Too many requests.' }, 'Too many requests.', 'error'],
  ])('says in one line how it went: %i', async (status, body, said, tone) => {
    answer = { status, body };
    await check(said);
    expect(await browser.evaluate(`document.getElementById('outcome').className`)).toBe(tone);
  });
});
