import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sandboxAccount } from '../../sandbox/accounts.js';
import { createApiKey } from '../../src/operations/access/api-key.js';
import { Browser } from '../support/browser.js';
import { post } from '../support/http.js';
import { eip3009Body, newAccount } from '../support/payments.js';
import { World } from '../support/world.js';
import { WalletWorld } from '../wallet/wallet-world.js';

/** Looks at the pages in a real browser, uses them, and writes `docs/images/*.png`. */

const imageOf = (name: string): string =>
  fileURLToPath(new URL(`../../docs/images/${name}.png`, import.meta.url));

/** Describes the API, and shows an operator what goes on. */
async function lookAtOperatorPages(browser: Browser, world: World): Promise<void> {
  const operator = createApiKey('night-shift', ['admin']);
  const shop = createApiKey('shop', ['verify', 'settle']);
  const keysFile = join(mkdtempSync(join(tmpdir(), 'x402-pages-')), 'keys.json');
  writeFileSync(keysFile, JSON.stringify({ version: 1, keys: [operator.record, shop.record] }));
  const service = await world.service({
    API_KEYS_FILE: keysFile,
    SIGNER_KEYS: [0, 3, 4].map((index) => sandboxAccount(index).key).join(','),
    BATCH_MAX_ITEMS: '1',
  });
  // One lane without gas money, so that the page has something to say.
  await world.client.setBalance({ address: sandboxAccount(4).address, value: 10n ** 12n });
  const payer = await world.payer();
  const pay = async (): Promise<void> => {
    const options = { payer, chainId: world.chainId, token: world.usd };
    const body = await eip3009Body({ ...options, payTo: newAccount().address });
    await post(`${service.url}/settle`, body, { 'X-API-Key': shop.key });
  };
  await Promise.all(Array.from({ length: 12 }, pay));

  await browser.open(`${service.url}/docs`);
  await browser.until(`document.querySelectorAll('details').length > 20`);
  await browser.evaluate(`document.querySelector('#settleV2LookUp').open = true`);
  await browser.screenshot(imageOf('docs'));

  await browser.open(`${service.opsUrl}/admin`);
  await browser.until(`document.getElementById('enter')?.hidden === false`);
  const enter = (key: string): Promise<unknown> =>
    browser.evaluate(
      `document.getElementById('key').value = '${key}'; document.getElementById('enter').requestSubmit()`,
    );
  await enter(shop.key);
  await browser.until(`document.getElementById('problem').hidden === false`);
  // The refusal of the wrong key is what the browser has to say up to here.
  const refusals = browser.complaints.splice(0);
  if (!refusals.every((text) => text.includes('403'))) throw new Error(refusals.join('\n'));

  await enter(operator.key);
  await browser.until(`document.querySelectorAll('.lane').length === 3`);
  await browser.evaluate(
    `[...document.querySelectorAll('.lane')].find((lane) => lane.textContent.includes('working')).querySelector('button').click()`,
  );
  await browser.until(`document.body.textContent.includes('Paused by night-shift')`);
  const traffic = Promise.all(Array.from({ length: 40 }, pay));
  await browser.until(`document.querySelector('.nonces i.used') !== null`);
  await browser.screenshot(imageOf('admin'));
  await traffic;
  if ((await browser.evaluate(`location.href`)) !== `${service.opsUrl}/admin`) {
    throw new Error('the address holds more than the page');
  }
}

/** An owner lets an agent in, with a wallet in the browser. */
async function lookAtApprovalPage(browser: Browser, wallets: WalletWorld): Promise<void> {
  const { body } = await wallets.post('/v1/init', 'true');
  const { code, user_code: userCode } = body;
  const owner = newAccount();
  await browser.provideWallet(owner);
  await browser.open(`${wallets.url}/wallet/approve?code=${String(userCode)}`);
  const click = (id: string): Promise<unknown> =>
    browser.evaluate(`document.getElementById('${id}').click()`);
  await browser.until(`document.getElementById('connect')?.hidden === false`);
  await click('connect');
  await browser.until(`document.getElementById('address').value === '${owner.address}'`);
  await browser.evaluate(`document.getElementById('ask').requestSubmit()`);
  await browser.until(`document.getElementById('approval').hidden === false`);
  await click('sign');
  await browser.until(`document.getElementById('signature').value.length === 132`);
  await browser.screenshot(imageOf('approve'));
  await browser.evaluate(`document.getElementById('approve').requestSubmit()`);
  await browser.until(`document.body.textContent.includes('The agent is in.')`);
  const { body: status } = await wallets.post('/v1/status', { code });
  if (status['status'] !== 'completed' || !('token' in status)) {
    throw new Error(`the agent hears ${JSON.stringify(Object.keys(status))}`);
  }
}

const world = await World.start({ blockTime: 0.45 });
const wallets = await WalletWorld.start();
const browser = await Browser.start(1200, 1000);
try {
  await lookAtOperatorPages(browser, world);
  await lookAtApprovalPage(browser, wallets);
  if (browser.complaints.length > 0) throw new Error(browser.complaints.join('\n'));
  console.log('docs/images/docs.png, docs/images/admin.png, docs/images/approve.png');
} finally {
  await browser.stop();
  await wallets.stop();
  await world.stop();
}
