import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { troublesOf } from '../support/axe.js';
import { type Hub, HubWorld } from '../support/hub-world.js';
import { newAccount } from '../support/payments.js';
import { OwnerInBrowser } from '../wallet/owner-in-browser.js';

const ASSET = `0x${'44'.repeat(20)}`;
const SETTINGS = {
  HUB_AUTH: 'strict',
  HUB_SALES: 'true',
  HUB_SALES_SECRET: 'a secret of at least thirty-two characters',
  HUB_PUBLIC_URL: 'https://files.example/api',
  HUB_FACILITATOR_URL: 'http://127.0.0.1:9',
};

describe.each([
  ['private', 390],
  ['public', 1280],
])('an owner of files in a %s hub, %i pixels wide', (mode, width) => {
  const dir = mkdtempSync(join(tmpdir(), 'x402-files-'));
  let world: HubWorld;
  let hub: Hub;
  let person: OwnerInBrowser;

  const evaluate = (expression: string): Promise<unknown> => person.browser.evaluate(expression);
  const textOf = async (id: string): Promise<string> =>
    String(await evaluate(`document.getElementById('${id}').textContent.trim()`));
  const submit = (id: string, fields: Readonly<Record<string, string>> = {}): Promise<unknown> =>
    evaluate(`(() => {
      const form = document.getElementById('${id}');
      for (const [name, value] of Object.entries(${JSON.stringify(fields)})) {
        form.querySelector('[name="' + name + '"]').value = value;
      }
      form.requestSubmit();
    })()`);

  beforeAll(async () => {
    world = await HubWorld.start();
    hub = await world.hub({ HUB_MODE: mode, ...SETTINGS });
    person = await OwnerInBrowser.start(newAccount());
    await person.browser.resize(width, 900);
    writeFileSync(join(dir, 'report.md'), '# A report\n');
  });
  afterAll(async () => {
    await person.stop();
    await world.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  it('comes in with one click', async () => {
    await person.open(`${hub.url}/hub`);
    await person.untilShown('connect');
    expect(await troublesOf(person.browser)).toEqual([]);
    await person.click('connect');
    await person.untilShown('files');
    expect(await textOf('list')).toBe('No files yet.');
    expect(await troublesOf(person.browser)).toEqual([]);
  });

  it('uploads a file, under the name that it has', async () => {
    await person.browser.chooseFile('#file', join(dir, 'report.md'));
    await person.browser.until(`document.getElementById('file-name').value === 'report.md'`);
    await submit('upload');
    await person.untilSaid('Stored "report.md".');
    const [row = ''] = await person.rows('list');
    expect(row).toMatch(/^report\.md .*\| 11 B \|/);
  });

  it('shares it: by a link of a private hub, which it revokes; a public one shows it to all', async () => {
    await evaluate(`document.querySelector('#list tbody button').click()`);
    await person.untilShown('one');
    if (mode === 'public') {
      const address = await textOf('address-of-file');
      expect(await (await fetch(address)).text()).toBe('# A report\n');
      return;
    }
    await submit('share', { hours: '1' });
    await person.browser.until(`document.getElementById('link').textContent !== ''`);
    const link = await textOf('link');
    expect(await (await fetch(link)).text()).toBe('# A report\n');
    await evaluate(`document.querySelector('#made tbody button').click()`);
    await person.untilSaid('Link revoked.');
    expect((await fetch(link)).status).toBe(410);
  });

  it('puts a price on it, and takes it away', async () => {
    expect(await textOf('price')).toBe('Not for sale.');
    await submit('sell', {
      network: 'eip155:97',
      asset: ASSET,
      amount: '70',
      accessHours: '2',
    });
    await person.untilSaid('The price is set. Buyers pay at the address of the file.');
    const query = new URLSearchParams({ owner: person.owner.address, file: 'report.md' });
    const { json } = await hub.get(`/api/price?${query.toString()}`);
    expect(json).toMatchObject({ amount: '70', asset: ASSET, accessSeconds: 7200 });
    expect(await textOf('price')).toContain('For sale: 70 smallest units');
    await evaluate(`document.querySelector('#sell').closest('details').open = true`);
    expect(await troublesOf(person.browser)).toEqual([]);
    await person.click('unsell');
    await person.untilSaid('It is not for sale any more.');
  });

  it('has no dead end without a wallet in the browser', async () => {
    await person.browser.withoutWallet(`${hub.url}/hub`);
    await person.browser.until(`document.getElementById('missing') !== null`);
    const links = (await evaluate(
      `[...document.querySelectorAll('main a')].map(({ pathname }) => pathname)`,
    )) as readonly string[];
    expect(links).toEqual(mode === 'public' ? ['/docs', '/hub/browse'] : ['/docs']);
    expect(await troublesOf(person.browser)).toEqual([]);
    if (mode === 'private') return;
    const place = new URLSearchParams({ owner: person.owner.address, bucket: 'b'.repeat(100) });
    await person.open(`${hub.url}/hub/browse#${place.toString()}`);
    await person.browser.until(`document.querySelector('#lists section') !== null`);
    expect(await troublesOf(person.browser)).toEqual([]);
  });
});
