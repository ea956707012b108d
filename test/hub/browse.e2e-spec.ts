import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Browser } from '../support/browser.js';
import { type Hub, HubWorld } from '../support/hub-world.js';

/** Names come from outside. */
const HOSTILE = '<img src=x onerror="document.title=\'taken\'">';

describe('a public hub for everybody', () => {
  let world: HubWorld;
  let hub: Hub;
  let browser: Browser;

  beforeAll(async () => {
    world = await HubWorld.start();
    hub = await world.hub();
    await hub.upload({
      owner: 'alice',
      id: 'chat_1',
      message: '{"content":"hello"}',
      bucket: 'talks',
    });
    await hub.upload({
      owner: 'alice',
      id: 'chat_2',
      message: 'there',
      bucket: 'talks',
      kind: 'knowledgebase',
    });
    await hub.store('alice', HOSTILE, '<b>bold</b>');
    await hub.store('bob', 'long', 'x'.repeat(70_000));
    browser = await Browser.start(1200, 900);
  });
  afterAll(async () => {
    await browser.stop();
    await world.stop();
  });

  const textOf = (id: string): Promise<unknown> =>
    browser.evaluate(`document.getElementById('${id}').innerText`);
  const go = async (place: Readonly<Record<string, string>>, shown: string): Promise<void> => {
    await browser.open('about:blank');
    await browser.open(`${hub.url}/hub/browse#${new URLSearchParams(place).toString()}`);
    await browser.until(`document.getElementById('${shown}') !== null`);
  };

  it('counts what came by day, by GET and by form', async () => {
    const expected = [
      {
        Day: `${new Date().toISOString().slice(0, 10)}T00:00:00Z`,
        DailyAccounts: 2,
        DailyBuckets: 3,
        DailyNeedles: 4,
        DailyVolumes: 2,
        TotalAccounts: 2,
        TotalBuckets: 3,
        TotalNeedles: 4,
        TotalVolumes: 2,
      },
    ];
    expect((await hub.get('/api/stat')).json).toEqual(expected);
    expect((await hub.post('/api/stat', 'count=1')).json).toEqual(expected);
  });

  it('shows owners and the newest files', async () => {
    await go({}, 'owners');
    expect(await textOf('owners')).toMatch(/bob[^]*alice/);
    expect(await textOf('files')).toContain('knowledgebase');
  });

  it('leads from an owner to buckets, conversations and contents', async () => {
    await go({ owner: 'alice' }, 'conversations');
    expect(await textOf('buckets')).toContain('talks');
    expect(await textOf('conversations')).toMatch(/chat\s+2/);
    await browser.evaluate(`document.querySelector('#buckets tbody a').click()`);
    await browser.until(`document.getElementById('buckets') === null`);
    await go({ owner: 'alice', bucket: 'talks' }, 'files');
    await browser.evaluate(
      `[...document.querySelectorAll('#files a')].find((one) => one.textContent === 'chat_1').click()`,
    );
    await browser.until(`document.getElementById('content') !== null`);
    expect(await textOf('content')).toContain('"content": "hello"');
  });

  it('shows what was said as text', async () => {
    await go({ owner: 'alice', name: HOSTILE }, 'content');
    await browser.until(`document.getElementById('files') !== null`);
    expect(await textOf('files')).toContain(HOSTILE);
    expect(await textOf('content')).toContain('<b>bold</b>');
    expect(await browser.evaluate(`document.querySelector('img, b') === null`)).toBe(true);
    expect(await browser.evaluate('document.title')).not.toBe('taken');
  });

  it('shows the beginning of what is long', async () => {
    await go({ owner: 'bob', name: 'long' }, 'content');
    expect(await textOf('content')).toContain('The first 65536 of 70000 bytes.');
  });

  it('is not to be had of a private hub', async () => {
    const own = await HubWorld.start();
    try {
      const closed = await own.hub({ HUB_MODE: 'private' });
      expect((await closed.get('/hub/browse')).status).toBe(404);
      const stat = await closed.get('/api/stat');
      expect([stat.status, stat.json]).toEqual([
        403,
        { Type: 'hub', Message: 'a private hub has no statistics' },
      ]);
    } finally {
      await own.stop();
    }
  });
});
