import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findingsOf } from '../support/axe.js';
import { Browser } from '../support/browser.js';
import {
  aLane,
  aSettlement,
  ConsoleServer,
  OPERATOR_KEY,
  PAYEE,
  SIGNER,
} from './console-server.js';

const PAGES = [
  'overview',
  'settlements',
  'lanes',
  'sellers',
  'webhooks',
  'reconciliation',
  'catalogue',
  'audit',
];

describe.each([
  [1280, 1000],
  [390, 844],
])('the console of operators, %i pixels wide', (width, height) => {
  let server: ConsoleServer;
  let browser: Browser;

  const textOf = async (selector: string): Promise<string> =>
    String(await browser.evaluate(`document.querySelector('${selector}')?.textContent ?? ''`));
  const untilText = (text: string): Promise<void> =>
    browser.until(`document.body.textContent.includes(${JSON.stringify(text)})`);
  const go = (page: string): Promise<unknown> => browser.evaluate(`location.hash = '#/${page}'; 0`);
  const placeOf = async (): Promise<string> => String(await browser.evaluate('location.hash'));
  const fill = (name: string, value: string): Promise<unknown> =>
    browser.evaluate(`document.querySelector('form.fields [name="${name}"]').value = '${value}'`);
  const submit = (): Promise<unknown> =>
    browser.evaluate(`document.querySelector('form.fields').requestSubmit()`);
  const press = (selector: string): Promise<unknown> =>
    browser.evaluate(`document.querySelector('${selector}').click()`);
  const findings = (): Promise<readonly string[]> => findingsOf(browser);
  const isAsWideAsTheWindow = (): Promise<unknown> =>
    browser.evaluate('document.documentElement.scrollWidth <= innerWidth');

  beforeAll(async () => {
    server = await ConsoleServer.start();
    browser = await Browser.start(width, height);
    await browser.open(server.url);
    await browser.until(`document.getElementById('enter') !== null`);
  });
  afterAll(async () => {
    await browser.stop();
    server.stop();
  });

  async function signIn(key: string): Promise<void> {
    await browser.evaluate(
      `document.getElementById('key').value = '${key}'; document.getElementById('enter').requestSubmit()`,
    );
  }

  it('refuses an unknown key', async () => {
    expect(await findings()).toEqual([]);
    await signIn('x402_wrong');
    await untilText('This API key is not known here.');
    expect(await browser.evaluate(`document.getElementById('view') === null`)).toBe(true);
    expect(browser.complaints.splice(0).every((text) => text.includes('401'))).toBe(true);
  });

  it('says that all is well, with the figures of the day', async () => {
    await signIn(OPERATOR_KEY);
    await untilText('All well.');
    await untilText('120.4 USDT');
    const tiles = await textOf('.tiles');
    for (const part of ['Settled1,204', 'Refused0', 'Success rate100 %', 'Time to settle1.3 s']) {
      expect(tiles).toContain(part);
    }
    expect(tiles).toMatch(/Paid, not delivered0/);
    expect(tiles).toMatch(/BNB a day.*lasts about 199 days/);
  });

  it('keeps the operator signed in when the tab is loaded again, and the key out of the address', async () => {
    await browser.open(`${server.url}?again`);
    await untilText('All well.');
    expect(String(await browser.evaluate('location.href'))).not.toContain(OPERATOR_KEY);
  });

  it('shows a payment that was made and not delivered, on every page that counts it', async () => {
    const unclaimed = aSettlement('unclaimed', Date.now() - 800_000, { sale: 'open' });
    const at = new Date().toISOString();
    Object.assign(unclaimed['times'] as object, { unclaimed: at });
    server.state.unclaimed = [unclaimed];
    await untilText('1 payment was made and not delivered');
    expect(await textOf('.tile.bad')).toContain('0.1 USDT');
    await press('.notice.bad a');
    await browser.until(`document.querySelectorAll('#settlements tbody tr').length === 1`);
    expect(await placeOf()).toContain('sale=unclaimed');
    await untilText('not delivered yet');
    await press('#settlements tbody a');
    await untilText('it sends the same settle again');
    server.state.unclaimed = [];
  });

  it('says nothing of a payment that an operator closed as delivered by hand', async () => {
    const closed = aSettlement('closed', Date.now() - 800_000, { sale: 'open' });
    server.state.unclaimed = [closed];
    await go('settlements?sale=unclaimed');
    await browser.until(`document.querySelectorAll('#settlements tbody tr').length === 1`);
    expect(await textOf('#settlements')).not.toContain('not delivered yet');
    server.state.unclaimed = [];
  });

  it('filters by what stands in the address', async () => {
    await go('settlements');
    await browser.until(`document.querySelectorAll('#settlements tbody tr').length === 20`);
    await fill('state', 'expired');
    await fill('payTo', PAYEE);
    await submit();
    await untilText('No settlement found.');
    expect(await placeOf()).toBe(`#/settlements?payTo=${PAYEE}&state=expired`);
    expect(server.asked.some((url) => url.includes(`payTo=${PAYEE}&state=expired`))).toBe(true);
    await browser.evaluate('history.back()');
    await browser.until(`document.querySelectorAll('#settlements tbody tr').length === 20`);
    expect(await browser.evaluate(`document.querySelector('[name="payTo"]').value`)).toBe('');
    await go(`settlements?state=finalized`);
    await browser.until(`document.querySelector('[name="state"]').value === 'finalized'`);
  });

  it('keeps the typed text while the list is live', async () => {
    await fill('search', '0x12');
    const before = await textOf('#freshness');
    await browser.until(
      `document.getElementById('freshness').textContent !== ${JSON.stringify(before)}`,
    );
    expect(await browser.evaluate(`document.querySelector('[name="search"]').value`)).toBe('0x12');
  });

  it('tells the life of a settlement in its order', async () => {
    await go('settlements');
    await browser.until(`document.querySelectorAll('#settlements tbody tr').length === 20`);
    await press('#settlements tbody tr:nth-child(3) a');
    await browser.until(`document.querySelectorAll('.timeline li').length === 6`);
    expect(await textOf('.timeline')).toMatch(
      /Request received.*Accepted.*signed \+ 40 ms.*Included in a block \+ 1.3 s.*Finished/s,
    );
    expect(await textOf('.facts')).toContain('0.1 USDT');
    expect(await browser.evaluate('document.activeElement.tagName')).toBe('H1');
    expect(await isAsWideAsTheWindow()).toBe(true);
    expect(await findings()).toEqual([]);
  });

  it('shows whole addresses, copies them, and links to the explorer', async () => {
    await go('lanes');
    await browser.until(`document.querySelector('.lane') !== null`);
    expect(await textOf('.lane h3')).toContain(SIGNER);
    await browser.evaluate(`document.addEventListener('copy', () => {
      globalThis.copied = document.activeElement.value ?? '';
    }); Object.defineProperty(navigator, 'clipboard', { value: {
      writeText: (text) => { globalThis.copied = text; return Promise.resolve(); } } }); 0`);
    await press(`[aria-label="Copy ${SIGNER}"]`);
    await browser.until(`globalThis.copied === '${SIGNER}'`);
    await browser.until(`document.querySelector('.copied').textContent === 'Copied'`);
    expect(await browser.evaluate(`document.querySelector('.lane a.icon').href`)).toBe(
      `https://bscscan.com/address/${SIGNER}`,
    );
  });

  it('asks before a lane is paused, and is left by Escape or Cancel', async () => {
    await press('.lane .buttons button');
    await browser.until(`document.querySelector('dialog')?.open === true`);
    expect(await textOf('dialog')).toContain(SIGNER);
    expect(await findings()).toEqual([]);
    await press('dialog button[type=button]');
    await browser.until(`document.querySelector('dialog') === null`);
    expect(server.asked.some((url) => url.includes('pause'))).toBe(false);
  });

  it('names the lane that is out of gas', async () => {
    server.state.lanes = [
      aLane(SIGNER),
      aLane(`0x${'dd'.repeat(20)}`, { trouble: 'no_gas', balance: '0', settlementsLeft: 0 }),
    ];
    await go('overview');
    await untilText('(no_gas). Out of gas.');
    expect(await textOf('#view')).not.toContain('All well.');
    server.state.lanes = [aLane(SIGNER)];
    await untilText('All well.');
  });

  it.each(PAGES)('%s fits the window and has no serious finding of axe', async (page) => {
    await go(page);
    await browser.until(
      `document.querySelector('nav [aria-current]')?.textContent.toLowerCase() === '${page}'`,
    );
    await browser.until(`document.querySelector('#view [aria-busy]') === null`);
    expect(await findings()).toEqual([]);
    expect(await isAsWideAsTheWindow()).toBe(true);
  });

  it('says in one line how what is off is turned on', async () => {
    server.state.history = {
      enabled: false,
      webhooks: false,
      reconciles: false,
      catalogue: false,
    };
    for (const [page, name] of [
      ['webhooks', 'WEBHOOK_KEY'],
      ['reconciliation', 'RECONCILE_AT'],
      ['sellers', 'DATABASE_URL'],
      ['catalogue', 'DATABASE_URL'],
      ['audit', 'DATABASE_URL'],
    ] as const) {
      await go(page);
      await browser.until(
        `document.querySelector('.off')?.textContent.includes('${name}') === true &&
          document.querySelectorAll('#view form, #view table').length === 0`,
      );
    }
    await go('settlements');
    await browser.until(`document.querySelectorAll('#settlements tbody tr').length === 20`);
    expect(await textOf('.off')).toContain('DATABASE_URL');
  });

  it('signs out, and shows nothing any more', async () => {
    await press('#leave');
    await browser.until(`document.getElementById('enter') !== null`);
    expect(await textOf('body')).not.toContain(PAYEE);
    await browser.open(`${server.url}?out`);
    await browser.until(`document.getElementById('enter') !== null`);
    expect(await browser.evaluate('sessionStorage.length')).toBe(0);
  });

  it('was kept from nothing by the policy of the page, and complained of nothing', () => {
    expect(browser.complaints).toEqual([]);
  });
});
