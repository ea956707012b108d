import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Hub, type HubAnswer, HubWorld } from '../support/hub-world.js';
import { newAccount } from '../support/payments.js';
import { strictHeaders } from '../support/strict-signature.js';
import { OwnerInBrowser } from '../wallet/owner-in-browser.js';

const SETTINGS = {
  HUB_MODE: 'private',
  HUB_AUTH: 'strict',
  HUB_VERSIONS: '2',
  HUB_QUOTA_BYTES: '2048',
  HUB_SALES: 'true',
  HUB_SALES_SECRET: 'a secret of at least thirty-two characters',
  HUB_PUBLIC_URL: 'https://files.example/api',
  HUB_FACILITATOR_URL: 'http://127.0.0.1:9',
};
const ASSET = `0x${'44'.repeat(20)}`;
/** Names are any text of an uploader. */
const HOSTILE = [
  '<img src=x onerror="document.title=\'taken\'">',
  'javascript:document.title=1',
  '\u202Etxt.exe',
  'a & b + c?d=e#f%20',
];

/** Invisible characters are shown by their numbers. */
const shownAs = (name: string): string => name.replace('\u202E', '⟨U+202E⟩');

describe('the page of an owner of files, in a browser', () => {
  let world: HubWorld;
  let hub: Hub;
  let person: OwnerInBrowser;
  const stranger = newAccount();

  const send = async (method: string, path: string, sent: object, account = person.owner) => {
    const body = JSON.stringify(sent);
    const headers = await strictHeaders(account, { method, path, body });
    expect((await hub.ask(path, { method, headers, body })).status).toBe(200);
  };
  const store = (id: string, message: string, account = person.owner, more = {}): Promise<void> =>
    send('POST', '/api/upload', { owner: account.address, id, message, ...more }, account);
  const textOf = async (id: string): Promise<string> =>
    String(await person.browser.evaluate(`document.getElementById('${id}').textContent.trim()`));
  const read = async (link?: string): Promise<HubAnswer> => {
    const url = new URL(link ?? (await textOf('link')));
    return hub.get(url.pathname + url.search);
  };
  const open = async (name: string): Promise<void> => {
    const lines = `[...document.querySelectorAll('#list tbody tr')]`;
    const line = `${lines}.find((one) => one.cells[0].textContent.trim() === ${JSON.stringify(shownAs(name))})`;
    await person.browser.evaluate(`${line}.querySelector('button').click()`);
    await person.browser.until(
      `document.getElementById('name')?.textContent === ${JSON.stringify(shownAs(name))}`,
    );
  };
  const submit = (id: string): Promise<unknown> =>
    person.browser.evaluate(`document.getElementById('${id}').requestSubmit()`);
  const fill = (id: string, text: string): Promise<unknown> =>
    person.browser.evaluate(`document.getElementById('${id}').value = ${JSON.stringify(text)}`);
  const confirm = async (): Promise<void> => {
    await person.browser.until(`document.querySelector('dialog')?.open === true`);
    await person.browser.evaluate(`document.querySelector('dialog form').requestSubmit()`);
  };
  const share = async (): Promise<void> => {
    const before = await textOf('link');
    await fill('hours', '1');
    await submit('share');
    await person.browser.until(
      `document.getElementById('link').textContent !== ${JSON.stringify(before)}`,
    );
  };

  beforeAll(async () => {
    world = await HubWorld.start();
    hub = await world.hub(SETTINGS);
    person = await OwnerInBrowser.start(newAccount());
    await store('note', 'first');
    await store('note', 'second');
    for (const name of HOSTILE) await store(name, 'whatever');
    await store('theirs', 'not mine', stranger);
    await store('sold', '<b>dear</b>', person.owner, { contentType: 'text/html' });
    await send('PUT', '/api/price', {
      owner: person.owner.address,
      file: 'sold',
      network: 'eip155:97',
      asset: ASSET,
      amount: '70',
      accessSeconds: 60,
    });
  });
  beforeEach(async () => {
    await person.open(`${hub.url}/hub`);
    await person.click('connect');
    await person.untilShown('files');
  });
  afterAll(async () => {
    await person.stop();
    await world.stop();
  });

  it('shows what is stored under its address, and as text whatever it is called', async () => {
    const rows = await person.rows('list');
    const names = rows.map((row) => row.split(' | ')[0]);
    expect(names.sort()).toEqual(['note', 'sold', ...HOSTILE.map(shownAs)].sort());
    expect(await textOf('owner')).toBe(person.owner.address);
    expect(await person.browser.evaluate('document.title')).toBe('Files · x402-settle');
    expect(
      await person.browser.evaluate(`document.querySelectorAll('main img, main a').length`),
    ).toBe(0);
    for (const name of HOSTILE) await open(name);
    // A file that is not for sale has no price, which is an answer that browsers log.
    const noted = person.browser.complaints.filter((text) => !text.includes('/api/price?'));
    expect(noted).toEqual([]);
  });

  it('says how much of the quota is used, and of every file its type and what it costs', async () => {
    // Of the quota all counts that was ever stored.
    const bytes = 'first'.length + 'second'.length + HOSTILE.length * 8 + '<b>dear</b>'.length;
    expect(await textOf('used')).toBe(`Used: ${bytes} B of 2.0 KiB.`);
    const rows = (await person.rows('list')).map((row) => row.split(' | '));
    const columns = new Map(rows.map(([name = '', ...cells]) => [name, cells.slice(3, 5)]));
    expect(columns.get('sold')).toEqual([
      'text/html',
      `70 smallest units of ${ASSET.slice(0, 10)}…${ASSET.slice(-6)} on eip155:97`,
    ]);
    expect(columns.get('note')).toEqual(['text/plain', '']);
    expect(await person.browser.evaluate(`document.getElementById('one') === null`)).toBe(true);
  });

  it('shows what a name stood for before', async () => {
    await open('note');
    const rows = await person.rows('versions');
    expect(rows.map((row) => row.split(' | ').slice(1, 3))).toEqual([
      ['6 B', 'text/plain'],
      ['5 B', 'text/plain'],
    ]);
    expect(await textOf('price')).toBe('Not for sale.');
  });

  it('takes one link back and leaves the others: of this visit by a button, any by its address', async () => {
    await open('note');
    const links: string[] = [];
    for (const at of [1, 2, 3]) {
      await share();
      await person.browser.until(`document.querySelectorAll('#made tbody tr').length === ${at}`);
      links.push(await textOf('link'));
    }
    const [first = '', second = '', third = ''] = links;
    const statuses = () => Promise.all(links.map(async (link) => (await read(link)).status));
    expect(await statuses()).toEqual([200, 200, 200]);
    await person.browser.evaluate(`document.querySelector('#made tbody button').click()`);
    await person.untilSaid('Link revoked.');
    expect(await statuses()).toEqual([410, 200, 200]);
    expect(await person.rows('made')).toHaveLength(2);
    expect(await textOf('link')).toBe(third);

    await person.open(`${hub.url}/hub`);
    await person.click('connect');
    await person.untilShown('files');
    expect(await person.rows('made')).toEqual([]);
    await fill('address', second);
    await submit('one-link');
    await person.untilSaid('Link revoked.');
    expect(await statuses()).toEqual([410, 410, 200]);
    await fill('address', 'javascript:alert(1)');
    await submit('one-link');
    await person.untilSaid('This is no share link.');
    expect(first).not.toBe(second);
  });

  it('shares a file by a link, and takes all links back', async () => {
    await open('note');
    await share();
    const answer = await read();
    expect([answer.status, answer.text]).toEqual([200, 'second']);
    const link = new URL(await textOf('link'));
    await person.browser.evaluate(`document.getElementById('take-back').click()`);
    await confirm();
    await person.untilSaid(
      'All links are revoked. Links that you create in the next five minutes do not work.',
    );
    expect((await hub.get(link.pathname + link.search)).status).toBe(410);
  });

  it('says and sets how long files are kept', async () => {
    await fill('days', '30');
    await submit('retention');
    await person.untilSaid('Files are deleted after 30 days.');
    await fill('days', '1');
    await person.browser.evaluate(`document.getElementById('ask-days').click()`);
    await person.browser.until(`document.getElementById('days').value === '30'`);
    await fill('days', '1e9');
    await submit('retention');
    await person.untilSaid('A whole number up to 999999 is expected.');
  });

  it('gives a file up', async () => {
    const name = HOSTILE[3] ?? '';
    await open(name);
    await person.click('delete');
    await confirm();
    await person.untilSaid('Deleted.');
    const names = (await person.rows('list')).map((row) => row.split(' | ')[0]);
    expect(names).not.toContain(name);
    expect(names).toContain('note');
  });

  it('says that a price is not known, and never that there is none, while it cannot be asked', async () => {
    await person.browser.evaluate(`window.fetch = ((real) => (url, options) =>
      String(url).includes('/api/price?')
        ? Promise.resolve(new Response('{}', { status: 503 }))
        : real(url, options))(window.fetch)`);
    await open('note');
    expect(await textOf('price')).toMatch(/^The price is not known now:/);
  });

  it('says what the hub says no with', async () => {
    await open('note');
    await hub.service.stop('SIGKILL');
    await submit('share');
    await person.click('refresh');
    await person.browser.until(`document.querySelector('#outcome.error') !== null`);
    expect(await textOf('outcome')).toBe('The service does not answer. Try again.');
  });
});
