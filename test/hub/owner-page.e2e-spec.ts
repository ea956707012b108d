import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Hub, type HubAnswer, HubWorld } from '../support/hub-world.js';
import { newAccount } from '../support/payments.js';
import { strictHeaders } from '../support/strict-signature.js';
import { OwnerInBrowser } from '../wallet/owner-in-browser.js';

const SETTINGS = {
  ...{ HUB_MODE: 'private', HUB_AUTH: 'strict', HUB_VERSIONS: '2' },
};
/** Names are whatever somebody has said. */
const HOSTILE = [
  '<img src=x onerror="document.title=\'taken\'">',
  'javascript:document.title=1',
  '\u202Etxt.exe',
  'a & b + c?d=e#f%20',
];

describe('the page of an owner of files, in a browser', () => {
  let world: HubWorld;
  let hub: Hub;
  let person: OwnerInBrowser;
  const stranger = newAccount();

  const store = async (id: string, message: string, account = person.owner): Promise<void> => {
    const body = JSON.stringify({ owner: account.address, id, message });
    const headers = await strictHeaders(account, { method: 'POST', path: '/api/upload', body });
    expect((await hub.post('/api/upload', body, headers)).status).toBe(200);
  };
  const textOf = async (id: string): Promise<string> =>
    String(await person.browser.evaluate(`document.getElementById('${id}').textContent`));
  const read = async (): Promise<HubAnswer> => {
    const url = new URL(await textOf('link'));
    return hub.get(url.pathname + url.search);
  };
  const open = async (name: string): Promise<void> => {
    const lines = `[...document.querySelectorAll('#list tbody tr')]`;
    const line = `${lines}.find((one) => one.cells[0].textContent === ${JSON.stringify(name)})`;
    await person.browser.evaluate(`${line}.querySelector('button').click()`);
    await person.browser.until(
      `document.getElementById('name').textContent === ${JSON.stringify(name)} &&
        document.getElementById('one').checkVisibility()`,
    );
  };
  const submit = (id: string): Promise<unknown> =>
    person.browser.evaluate(`document.getElementById('${id}').requestSubmit()`);
  const fill = (id: string, text: string): Promise<unknown> =>
    person.browser.evaluate(`document.getElementById('${id}').value = ${JSON.stringify(text)}`);
  const share = async (): Promise<void> => {
    await fill('hours', '1');
    await submit('share');
    await person.browser.until(`document.getElementById('link').textContent !== ''`);
  };

  beforeAll(async () => {
    world = await HubWorld.start();
    hub = await world.hub(SETTINGS);
    person = await OwnerInBrowser.start(newAccount());
    await store('note', 'first');
    await store('note', 'second');
    for (const name of HOSTILE) await store(name, 'whatever');
    await store('theirs', 'not mine', stranger);
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
    expect(names.sort()).toEqual(['note', ...HOSTILE].sort());
    expect(await textOf('owner')).toBe(person.owner.address);
    expect(await person.browser.evaluate('document.title')).toBe('x402 file hub');
    expect(await person.browser.evaluate(`document.querySelectorAll('img, a').length`)).toBe(0);
    for (const name of HOSTILE) await open(name);
    // What is not for sale has no price, which is an answer that browsers note.
    const noted = person.browser.complaints.filter((text) => !text.includes('/api/price?'));
    expect(noted).toEqual([]);
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

  it('shares a file by a link, and takes all links back', async () => {
    await open('note');
    await share();
    const answer = await read();
    expect([answer.status, answer.text]).toEqual([200, 'second']);
    const link = new URL(await textOf('link'));
    await person.click('take-back');
    await person.untilSaid('They are taken back.');
    expect((await hub.get(link.pathname + link.search)).status).toBe(410);
  });

  it('says and sets how long files are kept', async () => {
    await fill('days', '30');
    await submit('retention');
    await person.untilSaid('Files are given up after 30 days.');
    await fill('days', '');
    await person.click('ask-days');
    await person.browser.until(`document.getElementById('days').value === '30'`);
    await fill('days', '1e9');
    await submit('retention');
    await person.untilSaid('A whole number up to 999999 is expected.');
  });

  it('gives a file up', async () => {
    const name = HOSTILE[3] ?? '';
    await open(name);
    await person.click('give-up');
    await person.untilSaid('It is given up.');
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
    await person.browser.until(`document.getElementById('outcome').textContent !== ''`);
    expect(await textOf('outcome')).toMatch(/fetch|work/i);
  });
});
