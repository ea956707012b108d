import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { freePort } from '../../sandbox/processes.js';
import { createApiKey } from '../../src/operations/access/api-key.js';
import { type Hub, HubWorld } from '../support/hub-world.js';
import { newAccount } from '../support/payments.js';
import { shareLinkOf } from '../support/share-link.js';
import { strictHeaders } from '../support/strict-signature.js';
import { OwnerInBrowser } from '../wallet/owner-in-browser.js';

const MINE = 'what the operator takes down';
/** Where a script of a stranger's file would be seen to have run. */
const RUN = `document.title='taken';new Image().src='/taken'`;
const PAGE = `<html xmlns="http://www.w3.org/1999/xhtml"><body><p>hostile</p><script>${RUN}</script></body></html>`;
const PICTURE = `<svg xmlns="http://www.w3.org/2000/svg" onload="${RUN}"><script>${RUN}</script></svg>`;
/** Media types that browsers run something of, and what is shown as text though it is a page. */
const HOSTILE: readonly (readonly [type: string, content: string, how: 'attachment' | 'inline'])[] =
  [
    ['text/html', PAGE, 'attachment'],
    ['application/xhtml+xml', PAGE, 'attachment'],
    ['image/svg+xml', PICTURE, 'attachment'],
    ['text/xml', PICTURE, 'attachment'],
    ['text/javascript', RUN, 'attachment'],
    ['application/pdf', '%PDF-1.4 (app.alert)', 'attachment'],
    ['multipart/related', PAGE, 'attachment'],
    ['text/plain', PAGE, 'inline'],
    ['image/png', PAGE, 'inline'],
  ];
const NAMES = [
  'javascript:document.title=1',
  '"; filename="evil.html',
  'evil.html\r\nX-Evil: 1',
  '<script>x</script>.svg',
  '../../evil.html',
];

describe('what the page of an owner is refused, and what strangers store, in a browser', () => {
  const operator = createApiKey('night-shift', ['admin', 'hub']);
  const dir = mkdtempSync(join(tmpdir(), 'x402-owner-page-'));
  let world: HubWorld;
  let hub: Hub;
  let opsUrl: string;
  let person: OwnerInBrowser;

  const store = async (id: string, message: string, contentType?: string): Promise<void> => {
    const body = JSON.stringify({ owner: person.owner.address, id, message, contentType });
    const headers = await strictHeaders(person.owner, {
      method: 'POST',
      path: '/api/upload',
      body,
    });
    const keyed = { ...headers, 'X-API-Key': operator.key };
    expect((await hub.post('/api/upload', body, keyed)).status).toBe(200);
  };
  const addressOf = async (name: string): Promise<string> =>
    `${hub.url}/api/shared?link=${await shareLinkOf(person.owner, name)}`;
  const textOf = async (id: string): Promise<string> =>
    String(await person.browser.evaluate(`document.getElementById('${id}').textContent`));
  const typeKey = (key: string): Promise<unknown> =>
    person.browser.evaluate(`(() => {
      const field = document.getElementById('key');
      field.value = '${key}';
      field.dispatchEvent(new Event('input', { bubbles: true }));
    })()`);
  const enter = async (key = operator.key): Promise<void> => {
    await person.open(`${hub.url}/hub`);
    await person.untilShown('connect');
    await typeKey(key);
  };
  const untilSaid = (words: string): Promise<void> =>
    person.browser.until(
      `document.getElementById('outcome').textContent.includes(${JSON.stringify(words)})`,
    );

  beforeAll(async () => {
    const keys = join(dir, 'keys.json');
    writeFileSync(keys, JSON.stringify({ version: 1, keys: [operator.record] }));
    const opsPort = await freePort();
    opsUrl = `http://127.0.0.1:${opsPort}`;
    world = await HubWorld.start();
    hub = await world.hub({
      HUB_MODE: 'private',
      HUB_AUTH: 'strict',
      OPS_PORT: String(opsPort),
      API_KEYS_FILE: keys,
    });
    person = await OwnerInBrowser.start(newAccount());
    await store('mine', MINE);
    await store('other', 'another text');
    for (const [type, content] of HOSTILE) await store(`as ${type}`, content, type);
  });
  beforeEach(() => enter());
  afterAll(async () => {
    await person.stop();
    await world.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  it('says who it takes for whom where the wallet has signed with another key (401), and shows nothing', async () => {
    const stranger = newAccount();
    await person.browser.evaluate(`(() => {
      const real = ethereum.request;
      ethereum.request = async (request) => request.method === 'eth_requestAccounts'
        ? ['${stranger.address}']
        : real(request);
    })()`);
    await person.click('connect');
    await untilSaid('verify');
    expect(await person.browser.evaluate(`document.getElementById('files') === null`)).toBe(true);
    expect(await person.rows('list')).toEqual([]);
    const noted = person.browser.complaints.splice(0).join();
    expect(noted).toContain('401');
  });

  it('says that an API key is wanted (401), and goes on with one', async () => {
    await enter('');
    await person.click('connect');
    await person.browser.until(`document.querySelector('#outcome.error') !== null`);
    expect(await textOf('outcome')).toMatch(/api.key/i);
    expect(await person.browser.evaluate(`document.getElementById('files') === null`)).toBe(true);
    await typeKey(operator.key);
    await person.click('connect');
    await person.untilShown('files');
    expect(await textOf('outcome')).toBe('');
  });

  it('says what the operator has taken down, and why; who has a link to it is told so, too (451)', async () => {
    const sha256 = createHash('sha256').update(MINE).digest('hex');
    const body = JSON.stringify({ sha256, reason: 'a court has ordered it' });
    const headers = { 'X-API-Key': operator.key };
    const path = `${opsUrl}/admin/api/hub/takedown`;
    expect((await fetch(path, { method: 'POST', headers, body })).status).toBe(200);

    await person.click('connect');
    await person.untilShown('files');
    const rows = await person.rows('list');
    const [row = ''] = rows.filter((one) => one.startsWith('mine |'));
    expect(row).toContain('taken down by the operator: a court has ordered it');
    expect(rows.filter((one) => one.includes('taken down'))).toHaveLength(1);

    const lines = `[...document.querySelectorAll('#list tbody tr')]`;
    const line = `${lines}.find((one) => one.cells[0].textContent.trim() === 'mine')`;
    await person.browser.evaluate(`${line}.querySelector('button').click()`);
    await person.untilShown('share');
    await person.browser.evaluate(`document.getElementById('share').requestSubmit()`);
    await person.browser.until(`document.getElementById('link').textContent !== ''`);
    const link = await textOf('link');
    const answer = await fetch(link);
    expect([answer.status, await answer.text()]).toEqual([451, expect.stringContaining('court')]);
    expect((await fetch(await addressOf('other'))).status).toBe(200);
    await person.open(link);
    await person.browser.until(`document.body?.textContent.includes('taken_down')`);
    expect(await person.browser.evaluate(`document.contentType`)).toBe('application/json');
  });

  it.each(HOSTILE)(
    'runs nothing of a file of %s, wherever a browser is led to it',
    async (...file) => {
      const [type, , how] = file;
      const address = await addressOf(`as ${type}`);
      const answer = await fetch(address, { headers: { accept: 'text/html,*/*;q=0.8' } });
      expect(answer.headers.get('content-type')).toBe(type);
      expect(answer.headers.get('content-disposition')).toBe(
        `${how}; filename="as ${type.replaceAll(/[\\"%;]/g, '_')}"`,
      );
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
      expect(answer.headers.get('content-security-policy')).toBe("default-src 'none'; sandbox");

      await person.browser.watchRequests();
      person.browser.requests.length = 0;
      await person.open(address);
      await new Promise((resolve) => setTimeout(resolve, 300));
      if (how === 'inline' && type === 'text/plain') {
        expect(await person.browser.evaluate('[document.contentType, self.origin]')).toEqual([
          'text/plain',
          'null',
        ]);
        expect(await person.browser.evaluate('document.body.textContent')).toContain('<script>');
      }
      // What is an attachment is a download: the page that was there stays.
      if (how === 'attachment') {
        expect(await person.browser.evaluate('location.pathname')).toBe('/hub');
      }
      expect(await person.browser.evaluate('document.title')).not.toBe('taken');
      expect(person.browser.requests.filter((url) => url.includes('/taken'))).toEqual([]);
    },
  );

  it.each(['text/html', 'image/svg+xml', 'text/javascript'])(
    'runs nothing of a file of %s where somebody’s page holds it',
    async (type) => {
      const address = JSON.stringify(await addressOf(`as ${type}`));
      // A page without a policy of its own, as anybody's is; the hub's own lets no frame in.
      await person.open('about:blank');
      await person.browser.until(`location.href === 'about:blank'`);
      await person.browser.watchRequests();
      person.browser.requests.length = 0;
      await person.browser.evaluate(`new Promise((resolve) => {
        for (const tag of ['iframe', 'object', 'embed', 'img']) {
          const held = document.createElement(tag);
          held.setAttribute(tag === 'object' ? 'data' : 'src', ${address});
          document.body.append(held);
        }
        setTimeout(resolve, 500);
      })`);
      expect(person.browser.requests.some((url) => url.includes('/api/shared'))).toBe(true);
      expect(await person.browser.evaluate('document.title')).not.toBe('taken');
      expect(person.browser.requests.filter((url) => url.includes('/taken'))).toEqual([]);
    },
  );

  it.each(NAMES)('is called %j in one header, which ends where it is to', async (name) => {
    await store(name, PAGE, 'text/html');
    const { headers, status } = await fetch(await addressOf(name));
    expect([status, headers.get('x-evil')]).toEqual([200, null]);
    const given = headers.get('content-disposition') ?? '';
    expect(given).toMatch(
      /^attachment; filename="[^"\\]*"(; filename\*=UTF-8''[\w%.~!$&+^`|-]*)?$/,
    );
  });
});
