import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { type SandboxPostgres, startPostgres } from '../../sandbox/postgres.js';
import type { Service } from '../../sandbox/service.js';
import { createApiKey } from '../../src/operations/access/api-key.js';
import { carrying } from '../discovery/listing-fixtures.js';
import { ApiDescription } from '../support/api-description.js';
import { Browser } from '../support/browser.js';
import { type Answer, eventually, get, post } from '../support/http.js';
import { eip3009Body, type Json, newAccount } from '../support/payments.js';
import { World } from '../support/world.js';

const PATIENCE_MS = 60_000;
const HOST = 'shop.example.com';
const RESOURCE = `https://${HOST}/weather`;
/** Runs where it is read as HTML, and turns round what follows it. */
const HOSTILE = '<img src=x onerror="globalThis.isHit=true">\u202Etxt';
const SHOWN = '<img src=x onerror="globalThis.isHit=true">⟨U+202E⟩txt';

describe('the catalogue for operators', () => {
  const payTo = newAccount().address;
  const operator = createApiKey('night-shift', ['admin']);
  const shop = createApiKey('shop', ['settle']);
  const file = join(mkdtempSync(join(tmpdir(), 'x402-operators-')), 'keys.json');
  let world: World;
  let postgres: SandboxPostgres;
  let service: Service;
  let api: ApiDescription;

  async function admin(path: string, body?: unknown, key = operator.key): Promise<Answer> {
    const response = await fetch(`${service.opsUrl}/admin/api/${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'X-API-Key': key },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const answer = (await response.json()) as Json;
    const route = `/admin/api/${path.split('?')[0] ?? ''}`;
    const method = body === undefined ? 'get' : 'post';
    expect(api.problemsOf(method, route, response.status, answer)).toEqual([]);
    return { status: response.status, headers: response.headers, body: answer };
  }
  const listed = async (path: string, name: string): Promise<readonly Json[]> =>
    (await admin(path)).body[name] as readonly Json[];
  const codeOf = async (resource: string): Promise<unknown> => {
    const query = new URLSearchParams({ resource });
    return (await get(`${service.url}/discovery/status?${query.toString()}`)).body['code'];
  };
  async function query(text: string, values: readonly unknown[] = []): Promise<void> {
    const client = new pg.Client({ connectionString: postgres.url });
    await client.connect();
    await client.query(text, [...values]);
    await client.end();
  }

  beforeAll(async () => {
    writeFileSync(file, JSON.stringify({ version: 1, keys: [operator.record, shop.record] }));
    [world, postgres] = await Promise.all([World.start(), startPostgres()]);
    service = await world.service({
      ROLES: 'api,worker,history',
      API_KEYS_FILE: file,
      DATABASE_URL: postgres.url,
    });
    api = new ApiDescription((await get(`${service.url}/openapi.json`)).body);
    const tables = async () => (await get(`${service.url}/discovery/resources`)).status === 200;
    await eventually('the tables', tables, PATIENCE_MS);
    const body = await eip3009Body({
      payer: await world.payer(),
      chainId: world.chainId,
      token: world.usd,
      payTo,
    });
    const declared = { bazaar: { info: { input: { type: 'http', method: 'GET' } } } };
    const carried = { resource: { url: RESOURCE, description: 'Rain' }, extensions: declared };
    const paid = await post(`${service.url}/settle`, carrying(body, carried), {
      'X-API-Key': shop.key,
    });
    expect(paid.body).toMatchObject({ success: true });
    await eventually(
      'it is listed',
      async () => (await codeOf(RESOURCE)) === 'listed',
      PATIENCE_MS,
    );
  }, 180_000);
  afterAll(async () => {
    await world.stop();
    await postgres.stop();
  });

  it('is nothing to who has no key for it, or comes to the public port', async () => {
    const verdict = { kind: 'host', value: HOST, reason: 'spam' };
    for (const [path, body] of [
      ['catalogue/entries', undefined],
      ['catalogue/denials', undefined],
      ['catalogue/deny', verdict],
      ['catalogue/allow', verdict],
    ] as const) {
      expect([path, (await admin(path, body, '')).status]).toEqual([path, 401]);
      expect([path, (await admin(path, body, shop.key)).status]).toEqual([path, 403]);
      const outside = await fetch(`${service.url}/admin/api/${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { 'X-API-Key': operator.key },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      expect([path, outside.status]).toEqual([path, 404]);
    }
    expect(await codeOf(RESOURCE)).toBe('listed');
  });

  it('hides at once what is denied, shows it again, and keeps who did it and why', async () => {
    const { body, headers } = await admin('catalogue/deny', {
      kind: 'payee',
      value: payTo,
      reason: 'sells nothing',
    });
    expect(headers.get('cache-control')).toBe('no-store');
    expect(body).toMatchObject({ outcome: 'denied', denial: { by: 'night-shift' } });
    expect(await codeOf(RESOURCE)).toBe('denied');
    expect(await listed('catalogue/entries?text=rain', 'entries')).toMatchObject([
      { state: 'denied', resource: RESOURCE, denials: [{ reason: 'sells nothing' }] },
    ]);
    await admin('catalogue/allow', { kind: 'payee', value: payTo, reason: 'a mistake' });
    expect(await codeOf(RESOURCE)).toBe('listed');
    expect(await listed('catalogue/denials', 'denials')).toEqual([]);
    expect(await listed(`audit?subject=payee:${payTo.toLowerCase()}`, 'actions')).toMatchObject([
      { by: 'night-shift', action: 'catalogue_allowed', reason: 'a mistake' },
      { by: 'night-shift', action: 'catalogue_denied', reason: 'sells nothing' },
    ]);
  });

  it.each([
    ['{"kind":"host"}', 'value'],
    ['[]', 'object'],
    ['nothing', 'JSON'],
    [`{"kind":"host","value":"a","reason":"${'x'.repeat(300)}"}`, 'reason'],
  ])('says what is wrong with %s', async (body, name) => {
    const answer = await post(`${service.opsUrl}/admin/api/catalogue/deny`, body, {
      'X-API-Key': operator.key,
    });
    expect(answer.status).toBe(400);
    expect(String(answer.body['error'])).toContain(name);
  });

  describe('on the page, in a real browser', () => {
    let browser: Browser;

    beforeAll(async () => {
      // No door takes these; the page must stand them from wherever they come.
      await query(
        `insert into x402.catalogue_denials (kind, value, reason, denied_by) values ('host', $1, $1, $1)`,
        [HOSTILE],
      );
      await query(
        `update x402.catalogue_entries set listing = jsonb_set(listing::jsonb, '{description}', to_jsonb($1::text))::text`,
        [HOSTILE],
      );
      browser = await Browser.start(1200, 1000);
      await browser.open(`${service.opsUrl}/admin`);
      await browser.until(`document.getElementById('enter') !== null`);
      await browser.evaluate(
        `document.getElementById('key').value = '${operator.key}'; document.getElementById('enter').requestSubmit()`,
      );
      await browser.until(`document.querySelector('.tiles') !== null`);
      await browser.evaluate(`location.hash = '#/catalogue'; 0`);
    }, PATIENCE_MS);
    afterAll(() => browser.stop());

    const untilIn = (selector: string, text: string): Promise<void> =>
      browser.until(
        `document.querySelector('${selector}')?.textContent.includes(${JSON.stringify(text)}) === true`,
      );
    const press = (selector: string, name: string): Promise<unknown> =>
      browser.evaluate(
        `[...document.querySelectorAll('${selector} button')].find((one) => one.textContent === '${name}').click()`,
      );
    const untilClosed = (): Promise<void> =>
      browser.until(`document.querySelector('dialog') === null`);
    async function confirm(reason: string): Promise<void> {
      await browser.until(`document.querySelector('dialog')?.open === true`);
      await browser.evaluate(
        `document.querySelector('dialog [name="reason"]').value = '${reason}'; document.querySelector('dialog form').requestSubmit()`,
      );
    }

    it('shows what strangers and operators wrote as text', async () => {
      await untilIn('#entries', SHOWN);
      await untilIn('#denials', SHOWN);
      const markup = `#view img, #view [onerror], dialog img`;
      expect(await browser.evaluate(`document.querySelectorAll('${markup}').length`)).toBe(0);
      await press('#denials', 'Allow host');
      await untilIn('dialog', SHOWN);
      expect(await browser.evaluate(`document.querySelectorAll('${markup}').length`)).toBe(0);
      await press('dialog', 'Cancel');
      await untilClosed();
      expect(await browser.evaluate(`globalThis.isHit === undefined`)).toBe(true);
      expect(await browser.evaluate(`document.body.textContent.includes('\\u202e')`)).toBe(false);
    });

    it('denies nothing without a reason', async () => {
      await press('#entries', 'Deny host');
      await confirm('');
      expect(await browser.evaluate(`document.querySelector('dialog').open`)).toBe(true);
      await press('dialog', 'Cancel');
      await untilClosed();
      expect(await codeOf(RESOURCE)).toBe('listed');
    });

    it('denies by a button and a reason, and allows again', async () => {
      await press('#entries', 'Deny host');
      await confirm('at the request of its owner');
      await untilIn('#entries', 'host: at the request of its owner');
      await untilIn('#denials', HOST);
      expect(await codeOf(RESOURCE)).toBe('denied');
      await press('#entries', 'Allow host');
      await confirm('owner agrees');
      await untilIn('#entries', 'listed');
      expect(await codeOf(RESOURCE)).toBe('listed');
    });

    it('says a mistake where it was made', async () => {
      await untilClosed();
      await browser.evaluate(`
        document.querySelector('#deny-something [name="value"]').value = 'nobody';
        document.getElementById('deny-something').requestSubmit()`);
      await confirm('spam');
      await untilIn('dialog .error', 'value must be an address');
      await press('dialog', 'Cancel');
      await untilClosed();
      const complaints = browser.complaints.splice(0).filter((text) => !text.includes('400'));
      expect(complaints).toEqual([]);
    });

    it('leaves nothing after the sign-out', async () => {
      await browser.evaluate(`document.getElementById('leave').click()`);
      await browser.until(`document.getElementById('enter') !== null`);
      const text = String(await browser.evaluate(`document.body.textContent`));
      for (const part of [HOST, payTo.toLowerCase()]) expect(text).not.toContain(part);
    });
  });
});
