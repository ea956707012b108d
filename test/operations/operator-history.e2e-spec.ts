import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import type { PrivateKeyAccount } from 'viem/accounts';
import { SIGNER } from '../../sandbox/accounts.js';
import { restartPostgres, type SandboxPostgres, startPostgres } from '../../sandbox/postgres.js';
import type { Service } from '../../sandbox/service.js';
import { createApiKey } from '../../src/operations/access/api-key.js';
import { WebhookReceiver } from '../history/webhook-receiver.js';
import { ApiDescription } from '../support/api-description.js';
import { Browser } from '../support/browser.js';
import { type Answer, eventually, get, post } from '../support/http.js';
import { eip3009Body, type Json, newAccount } from '../support/payments.js';
import { World } from '../support/world.js';

const PATIENCE_MS = 60_000;
/** Runs where it is read as HTML, and turns round what follows it. */
const HOSTILE = '<img src=x onerror="globalThis.isHit=true">\u202Etxt';
const SHOWN = '<img src=x onerror="globalThis.isHit=true">⟨U+202E⟩txt';
/** As the answer of a server is kept: without what is not seen. */
const KEPT = '<img src=x onerror="globalThis.isHit=true">txt';
const SINCE = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
const NOBODY = 'A'.repeat(43);

describe('the history for operators', () => {
  const payTo = newAccount().address;
  const operator = createApiKey('night-shift', ['admin']);
  const shop = createApiKey('shop', ['settle', 'history'], [payTo]);
  const file = join(mkdtempSync(join(tmpdir(), 'x402-operators-')), 'keys.json');
  let world: World;
  let postgres: SandboxPostgres;
  let receiver: WebhookReceiver;
  let service: Service;
  let api: ApiDescription;
  let payer: PrivateKeyAccount;
  let webhook: string;
  const ids: string[] = [];

  const settings = () => ({
    ROLES: 'api,worker,history',
    API_KEYS_FILE: file,
    DATABASE_URL: postgres.url,
    WEBHOOK_KEY: 'a key of this test, of no value at all',
    WEBHOOK_ALLOW: receiver.host,
    RECONCILE_AT: '00:00',
  });
  async function admin(path: string, key = operator.key, url = service.opsUrl): Promise<Answer> {
    const response = await fetch(`${url}/admin/api/${path}`, { headers: { 'X-API-Key': key } });
    const body = (await response.json()) as Json;
    return { status: response.status, headers: response.headers, body };
  }
  /** An answer that is as the description of the interface has it. */
  async function fetchDescribed(path: string, route: string): Promise<Json> {
    const { status, body, headers } = await admin(path);
    expect([path, status]).toEqual([path, 200]);
    expect(api.problemsOf('get', `/admin/api/${route}`, status, body)).toEqual([]);
    expect(headers.get('cache-control')).toBe('no-store');
    return body;
  }
  const listed = (body: Json, name: string): readonly Json[] => body[name] as readonly Json[];
  async function query<T extends object>(text: string): Promise<T[]> {
    const client = new pg.Client({ connectionString: postgres.url });
    await client.connect();
    try {
      return (await client.query<T>(text)).rows;
    } finally {
      await client.end();
    }
  }
  async function settle(): Promise<string> {
    const { chainId, usd: token } = world;
    const body = await eip3009Body({ payer, chainId, token, payTo });
    const answer = await post(`${service.url}/settle`, body, { 'X-API-Key': shop.key });
    expect(answer.body).toMatchObject({ success: true });
    return answer.headers.get('settlement-id') ?? '';
  }
  async function act(what: string): Promise<void> {
    const lane = `${world.chainId}:${SIGNER.address.toLowerCase()}`;
    const { status } = await fetch(`${service.opsUrl}/admin/api/lanes/${lane}/${what}`, {
      method: 'POST',
      headers: { 'X-API-Key': operator.key },
    });
    expect(status).toBe(200);
  }

  beforeAll(async () => {
    writeFileSync(file, JSON.stringify({ version: 1, keys: [operator.record, shop.record] }));
    [world, postgres, receiver] = await Promise.all([
      World.start(),
      startPostgres(),
      WebhookReceiver.start(),
    ]);
    [service, payer] = await Promise.all([world.service(settings()), world.payer()]);
    api = new ApiDescription((await get(`${service.url}/openapi.json`)).body);
    // What a stranger's server answers, and what its owner called it.
    receiver.behave('/a', (response) => {
      response.writeHead(500).end(HOSTILE);
    });
    await eventually(
      'the tables',
      async () => (await admin('webhooks')).status === 200,
      PATIENCE_MS,
    );
    const made = await post(
      `${service.url}/v2/webhooks`,
      { url: receiver.url('/a'), description: '<img src=x onerror="globalThis.isHit=true">' },
      { 'X-API-Key': shop.key },
    );
    expect(made.status).toBe(201);
    webhook = String(made.body['id']);
    receiver.trust('/a', String(made.body['secret']));
    for (let count = 0; count < 3; count += 1) ids.unshift(await settle());
    await act('pause');
    await act('resume');
    await eventually(
      'all is archived as final, told, noted and reconciled',
      async () => {
        await world.client.mine({ blocks: 5 });
        const [found, runs, audit, sent] = await Promise.all([
          admin(`history/settlements?payTo=${payTo}&state=finalized`),
          admin('reconciliations'),
          admin('audit'),
          admin(`webhooks/${webhook}/deliveries`),
        ]);
        return (
          listed(found.body, 'settlements').length === 3 &&
          listed(runs.body, 'runs').length > 0 &&
          listed(audit.body, 'actions').length === 2 &&
          listed(sent.body, 'deliveries').some(({ status }) => status === 500)
        );
      },
      PATIENCE_MS,
    );
  }, 180_000);
  afterAll(async () => {
    receiver.stop();
    await world.stop();
    await postgres.stop();
  });

  const PATHS = [
    `history/settlements?from=${SINCE}`,
    `history/totals?from=${SINCE}`,
    `settlements/${NOBODY}`,
    'webhooks',
    'webhooks/we_x/deliveries',
    'reconciliations',
    'reconciliations/1',
    'audit',
  ];

  it('is nothing to who has no key for it, or comes to the public port', async () => {
    for (const path of PATHS) {
      expect([path, (await admin(path, '')).status]).toEqual([path, 401]);
      expect([path, (await admin(path, 'x402_wrong')).status]).toEqual([path, 401]);
      expect([path, (await admin(path, shop.key)).status]).toEqual([path, 403]);
      expect([path, (await admin(path, operator.key, service.url)).status]).toEqual([path, 404]);
    }
    const { status } = await get(`${service.url}/admin/uplot.js`);
    expect(status).toBe(404);
  });

  it('finds settlements by payee, payer, state and time, page by page', async () => {
    const find = async (asked: string): Promise<readonly unknown[]> => {
      const body = await fetchDescribed(`history/settlements?${asked}`, 'history/settlements');
      return listed(body, 'settlements').map(({ settlementId }) => settlementId);
    };
    expect(await find(`payTo=${payTo}`)).toEqual(ids);
    expect(await find(`payer=${payer.address}&state=finalized`)).toEqual(ids);
    expect(await find(`from=${SINCE}&network=eip155:${world.chainId}`)).toEqual(ids);
    expect(await find(`from=${SINCE}&state=reverted`)).toEqual([]);
    expect(await find(`payTo=${newAccount().address}`)).toEqual([]);
    const first = await fetchDescribed(
      `history/settlements?payTo=${payTo}&limit=2`,
      'history/settlements',
    );
    const cursor = String(first['nextCursor']);
    expect(await find(`payTo=${payTo}&limit=2&cursor=${cursor}`)).toEqual([ids[2]]);
  });

  it('sums up by day and asset', async () => {
    const { totals } = await fetchDescribed(`history/totals?from=${SINCE}`, 'history/totals');
    expect(totals).toMatchObject([
      { network: `eip155:${world.chainId}`, paid: { count: '3' }, states: { finalized: '3' } },
    ]);
  });

  it('has the whole life of a settlement', async () => {
    const life = await fetchDescribed(`settlements/${ids[2] ?? ''}`, 'settlements/{id}');
    expect(life).toMatchObject({
      network: `eip155:${world.chainId}`,
      attempts: [],
      settlement: { settlementId: ids[2], state: 'finalized', paid: true },
      sale: { state: 'sold', isBoundToKey: false, isSoldToKey: false },
      history: { status: 'known', row: { isTold: true }, differences: [] },
    });
    const { events } = life['history'] as { events: Json[] };
    expect(events.map(({ type }) => type)).toEqual(['settlement.included', 'settlement.finalized']);
    expect(events[0]?.['deliveries']).toMatchObject([
      { webhookId: webhook, owner: 'shop', status: 500, answer: KEPT },
    ]);
    expect((await admin(`settlements/${NOBODY}`)).status).toBe(404);
    expect((await admin(`settlements/%00`)).status).toBe(404);
  });

  it('shows webhooks, runs and actions', async () => {
    const webhooks = listed(await fetchDescribed('webhooks', 'webhooks'), 'webhooks');
    expect(webhooks).toMatchObject([
      { id: webhook, owner: 'shop', status: 'enabled', last: { status: 500, answer: KEPT } },
    ]);
    expect(JSON.stringify(webhooks)).not.toContain('whsec_');
    await fetchDescribed(`webhooks/${webhook}/deliveries?limit=1`, 'webhooks/{id}/deliveries');
    const runs = listed(await fetchDescribed('reconciliations', 'reconciliations'), 'runs');
    expect(runs[0]).toMatchObject({ startedBy: 'daily', network: `eip155:${world.chainId}` });
    const run = await fetchDescribed(
      `reconciliations/${String(runs[0]?.['id'])}`,
      'reconciliations/{id}',
    );
    expect(run['id']).toBe(runs[0]?.['id']);
    const actions = listed(await fetchDescribed('audit?by=night-shift', 'audit'), 'actions');
    expect(actions.map(({ action }) => action)).toEqual(['lane_not_paused', 'lane_paused']);
  });

  it.each([
    ['history/settlements', 'from'],
    ['history/settlements?from=-1', 'from'],
    ['history/settlements?payTo=LONG', 'payTo'],
    ['history/settlements?payTo=PAYEE&limit=1000000', 'limit'],
    ['history/settlements?payTo=PAYEE&limit[]=1', 'parameter'],
    ['history/settlements?payTo=PAYEE&cursor=LONG', 'cursor'],
    [`history/settlements?from=${SINCE}&network=eip155:9007199254740993`, 'network'],
    ['history/settlements?from=0001-01-01', 'from'],
    ['history/totals', 'from'],
    ['history/totals?from=2020-01-01', 'from'],
    ['history/totals?from=9999-01-01&to=9999-01-01', 'from'],
    ['webhooks?owner=%00', 'owner'],
    ['webhooks?status=%27%20or%201=1', 'status'],
    ['webhooks?after=we_%27', 'after'],
    ['webhooks/we_1/deliveries?before=evt_1', 'before'],
    ['reconciliations?before=99999999999999999999', 'before'],
    ['reconciliations?limit=0', 'limit'],
    ['reconciliations/1?after=99999999999', 'after'],
    ['audit?before=1', 'before'],
    ['audit?subject=%00', 'subject'],
    ['audit?limit=-1', 'limit'],
  ])('names what is wrong with %s', async (path, name) => {
    const given = path.replace('LONG', '0x'.padEnd(5000, 'f')).replace('PAYEE', payTo);
    const { status, body } = await admin(given);
    expect([path, status]).toEqual([path, 400]);
    expect(String(body['error'])).toContain(name);
  });

  it('is told to be away while it is, and takes nothing from what Redis has', async () => {
    await postgres.crash();
    for (const path of [`history/settlements?payTo=${payTo}`, 'webhooks', 'audit']) {
      const { status, body } = await admin(path);
      expect([path, status, body['code']]).toEqual([path, 503, 'history_unavailable']);
    }
    const { status, body } = await admin(`settlements/${ids[0] ?? ''}`);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      settlement: { settlementId: ids[0] },
      history: { status: 'unavailable', code: 'history_unavailable' },
    });
    expect((await admin(`settlements/${NOBODY}`)).body).toMatchObject({
      code: 'history_unavailable',
    });
    expect((await admin('overview')).status).toBe(200);
    postgres = await restartPostgres(postgres);
    await eventually('it is back', async () => (await admin('audit')).status === 200, PATIENCE_MS);
  });

  it('is told to be off where there is none', async () => {
    const without = await world.service({ ROLES: 'api', API_KEYS_FILE: file, SIGNER_KEYS: '' });
    for (const path of PATHS) {
      if (path.startsWith('settlements/')) continue;
      const { status, body } = await admin(path, operator.key, without.opsUrl);
      expect([path, status, body['code']]).toEqual([path, 501, 'history_off']);
    }
    const life = await admin(`settlements/${ids[0] ?? ''}`, operator.key, without.opsUrl);
    expect(life.body).toMatchObject({ history: { status: 'off' } });
    await without.stop();
  });

  describe('on the page, in a real browser', () => {
    let browser: Browser;

    beforeAll(async () => {
      // No door takes this; the page must stand it from wherever it comes.
      await query(`update x402.webhook_endpoints
        set description = '${HOSTILE}', url = 'https://shop.example/${HOSTILE}'`);
      await query(
        `update x402.webhook_deliveries set answer = '${HOSTILE}', problem = '${HOSTILE}'`,
      );
      browser = await Browser.start(1200, 1000);
    }, PATIENCE_MS);
    afterAll(() => browser.stop());

    const textOf = async (id: string): Promise<string> =>
      String(await browser.evaluate(`document.getElementById('${id}')?.textContent ?? ''`));
    const untilIn = (id: string, text: string): Promise<void> =>
      browser.until(
        `document.getElementById('${id}')?.textContent.includes(${JSON.stringify(text)}) === true`,
      );
    async function enter(url = service.opsUrl): Promise<void> {
      await browser.open(`${url}/admin`);
      await browser.until(`document.getElementById('enter') !== null`);
      await browser.evaluate(
        `document.getElementById('key').value = '${operator.key}'; document.getElementById('enter').requestSubmit()`,
      );
      await browser.until(`document.querySelector('.tiles') !== null`);
    }
    const go = (place: string): Promise<unknown> =>
      browser.evaluate(`location.hash = '#/${place}'; 0`);
    const linkOf = (id = ''): string => `#settlements a[href$="id=${id}"]`;
    const untilListed = (id = ''): Promise<void> =>
      browser.until(`document.querySelector('${linkOf(id)}') !== null`);
    const find = (name: string, value: string): Promise<unknown> =>
      browser.evaluate(`
        document.querySelector('form.fields [name="${name}"]').value = '${value}';
        document.querySelector('form.fields').requestSubmit()`);

    it('a search finds, and a click shows a life', async () => {
      await enter();
      await go('settlements');
      await untilListed(ids[0]);
      await find('search', newAccount().address);
      await untilIn('settlements', 'No settlement found.');
      await find('search', payer.address);
      await untilListed(ids[2]);
      await browser.evaluate(`document.querySelector('${linkOf(ids[2])}').click()`);
      await untilIn('life', ids[2] ?? '');
      const life = await textOf('life');
      for (const part of [
        'Accepted into the ledger',
        'Event settlement.finalized',
        payer.address,
      ]) {
        expect(life.toLowerCase()).toContain(part.toLowerCase());
      }
      await browser.until(`document.activeElement.tagName === 'H1'`);
    });

    it('a mistake is said in its place', async () => {
      await go('settlements');
      await untilListed(ids[0]);
      await find('payTo', 'nobody');
      await browser.until(
        `document.querySelector('#view .error')?.textContent === 'payTo must be an address: 0x and 40 hex digits.'`,
      );
      await find('payTo', '');
      await untilListed(ids[0]);
      expect(await browser.evaluate(`document.querySelector('#view .error') === null`)).toBe(true);
    });

    it('nothing is paid and not delivered where every seller was answered', async () => {
      await go('settlements?sale=unclaimed');
      await untilIn('settlements', 'No settlement found.');
      expect(await browser.evaluate(`document.querySelector('#view .error') === null`)).toBe(true);
    });

    it('totals are a chart, with the numbers beside it', async () => {
      await go('sellers');
      await browser.until(`document.querySelector('#totals canvas') !== null`);
      expect(await textOf('totals')).toContain(`eip155:${world.chainId}`);
      expect(await browser.evaluate(`document.querySelector('#totals .u-legend') !== null`)).toBe(
        true,
      );
      await untilIn('sellers', payTo.toLowerCase());
    });

    it('what strangers chose is text, in whole, and in the order it is written', async () => {
      const holdsText = async (): Promise<void> => {
        const html = `#view img, #view [onerror]`;
        expect(await browser.evaluate(`document.querySelectorAll('${html}').length`)).toBe(0);
        expect(await browser.evaluate(`globalThis.isHit === undefined`)).toBe(true);
        expect(await browser.evaluate(`document.body.textContent.includes('\\u202e')`)).toBe(false);
      };
      await go('webhooks');
      await untilIn('webhooks', SHOWN);
      await holdsText();
      await browser.evaluate(`document.querySelector('#webhooks tbody a').click()`);
      await untilIn('deliveries', SHOWN);
      await holdsText();
      await go(`settlement?id=${ids[2] ?? ''}`);
      await untilIn('life', SHOWN);
      await holdsText();
    });

    it('runs and actions are there', async () => {
      await go('reconciliation');
      await untilIn('runs', 'daily');
      await browser.evaluate(`document.querySelector('#runs tbody a').click()`);
      await untilIn('run', 'Run ');
      await go('audit');
      await untilIn('actions', 'lane_paused');
    });

    it('nothing was kept out by the policy of the page, and nothing failed', () => {
      // A mistake is answered by a 400, of which the browser tells.
      const complaints = browser.complaints.splice(0).filter((text) => !text.includes('400'));
      expect(complaints).toEqual([]);
    });

    it('a database that is away is said in its place, and the rest of the page goes on', async () => {
      await postgres.crash();
      await go('settlements');
      await untilIn('view', 'The history database is unavailable');
      // What Redis has is listed meanwhile.
      await untilListed(ids[0]);
      const freshness = await textOf('freshness');
      await browser.until(
        `!['', '${freshness}'].includes(document.getElementById('freshness').textContent)`,
      );
      await go('lanes');
      await browser.until(`document.querySelectorAll('.lane').length === 1`);
      await go(`settlement?id=${ids[0] ?? ''}`);
      await untilIn('life', 'The history database is unavailable');
      expect(await textOf('life')).toContain('Accepted into the ledger');
      postgres = await restartPostgres(postgres);
      await eventually('it is back', async () => (await admin('audit')).status === 200);
      await go(`settlements?payTo=${payTo}`);
      await untilListed(ids[0]);
      await browser.until(`document.querySelector('#view .error') === null`);
    });

    it('nothing stays after the sign-out', async () => {
      await browser.evaluate(`document.getElementById('leave').click()`);
      await browser.until(`document.getElementById('enter') !== null`);
      expect(await textOf('app')).not.toContain('0x');
      for (const id of ['settlements', 'view']) expect([id, await textOf(id)]).toEqual([id, '']);
    });

    it('without a history it says so', async () => {
      const without = await world.service({ ROLES: 'api', API_KEYS_FILE: file, SIGNER_KEYS: '' });
      await browser.open('about:blank');
      await enter(without.opsUrl);
      await go('settlements');
      await untilIn('view', 'DATABASE_URL');
      await untilListed(ids[0]);
      await without.stop();
    });
  });
});
