import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Service } from '../../sandbox/service.js';
import { createApiKey } from '../../src/operations/access/api-key.js';
import { findingsOf, troublesOf } from '../support/axe.js';
import { Browser } from '../support/browser.js';
import { eventually, post } from '../support/http.js';
import { eip3009Body, newAccount } from '../support/payments.js';
import { World } from '../support/world.js';

describe.each([390, 1280])('an operator at the console, %i pixels wide', (width) => {
  const operator = createApiKey('night-shift', ['admin']);
  const shop = createApiKey('shop', ['settle']);
  const folder = mkdtempSync(join(tmpdir(), 'x402-operator-'));
  const payTo = newAccount().address;
  let world: World;
  let service: Service;
  let browser: Browser;
  let settlementId: string;

  const untilText = (text: string): Promise<void> =>
    browser.until(`document.body.innerText.includes(${JSON.stringify(text)})`);
  const press = (selector: string): Promise<unknown> =>
    browser.evaluate(`document.querySelector(${JSON.stringify(selector)}).click()`);

  beforeAll(async () => {
    const file = join(folder, 'keys.json');
    writeFileSync(file, JSON.stringify({ version: 1, keys: [operator.record, shop.record] }));
    [world, browser] = await Promise.all([World.start(), Browser.start(width, 900)]);
    service = await world.service({
      API_KEYS_FILE: file,
      SETTLE_WAIT_MS: '1000',
      UNCLAIMED_AFTER_MS: '1000',
    });
    const payer = await world.payer();
    const options = { payer, chainId: world.chainId, token: world.usd, payTo, amount: 1000n };
    // The chain stands still while the seller waits for its answer, and goes on when the seller is gone.
    await world.client.setAutomine(false);
    const answer = await post(`${service.url}/settle`, await eip3009Body(options), {
      'X-API-Key': shop.key,
      'Idempotency-Key': 'an-order',
    });
    expect(answer.body).toMatchObject({ errorReason: 'settlement_pending' });
    settlementId = String(answer.headers.get('settlement-id'));
    await world.client.setAutomine(true);
  });
  afterAll(async () => {
    await browser.stop();
    await world.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('reads on the first page that a buyer paid and got nothing', async () => {
    await browser.open(`${service.opsUrl}/admin`);
    await browser.until(`document.getElementById('enter') !== null`);
    await browser.evaluate(`document.getElementById('key').value = '${operator.key}'`);
    await browser.evaluate(`document.getElementById('enter').requestSubmit()`);
    await eventually(
      'the notice',
      async () => {
        await world.client.mine({ blocks: 2 });
        return browser.evaluate(
          `document.body.innerText.includes('1 payment was made and not delivered')`,
        ) as Promise<boolean>;
      },
      30_000,
    );
    expect(await browser.evaluate(`document.body.innerText.includes('All well.')`)).toBe(false);
    expect(await troublesOf(browser)).toEqual([]);
  });

  it('finds the settlement, and reads what to do', async () => {
    await press('.notice.bad a');
    await browser.until(`document.querySelectorAll('#settlements tbody tr').length === 1`);
    await press('#settlements tbody a');
    await untilText('it sends the same settle again');
    await untilText(settlementId);
    expect(await troublesOf(browser)).toEqual([]);
  });

  it('closes it once it was refunded by hand, and all is well', async () => {
    await press('.notice.warn a');
    await browser.until(`document.querySelectorAll('#settlements tbody tr').length === 1`);
    await press('#settlements tbody button.quiet');
    await browser.until(`document.querySelector('dialog')?.open === true`);
    await untilText(settlementId);
    expect(await findingsOf(browser)).toEqual([]);
    await browser.evaluate(`document.querySelector('dialog form').requestSubmit()`);
    await untilText('No settlement found.');
    await browser.evaluate(`location.hash = '#/settlement?id=${settlementId}'; 0`);
    await untilText('There is nothing left to do.');
    const advice = `document.body.innerText.includes('it sends the same settle again')`;
    expect(await browser.evaluate(advice)).toBe(false);
    await browser.evaluate(`location.hash = '#/overview'; 0`);
    await untilText('All well.');
    expect(browser.complaints).toEqual([]);
  });
});
