import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sandboxAccount } from '../../sandbox/accounts.js';
import { startPostgres } from '../../sandbox/postgres.js';
import { createApiKey } from '../../src/operations/access/api-key.js';
import { Browser } from '../support/browser.js';
import { post } from '../support/http.js';
import { eip3009Body, newAccount } from '../support/payments.js';
import { World } from '../support/world.js';
import { WalletWorld } from '../wallet/wallet-world.js';

/** Looks at the pages in a real browser, uses them, and writes `docs/images/*.png`. */

const imageOf = (name: string): string =>
  fileURLToPath(new URL(`../../docs/images/${name}.png`, import.meta.url));

const WIDTHS = [
  ['', 1200, 1000],
  ['-390', 390, 844],
] as const;

/** The same page at both widths, light and dark. */
async function takePictures(browser: Browser, name: string): Promise<void> {
  for (const [suffix, width, height] of WIDTHS) {
    await browser.resize(width, height);
    for (const scheme of ['light', 'dark'] as const) {
      await browser.prefer(scheme);
      await browser.screenshot(imageOf(`${name}${suffix}${scheme === 'dark' ? '-dark' : ''}`));
    }
  }
  await browser.prefer('light');
  await browser.resize(1200, 1000);
}

/** Describes the API, and walks through the console as an operator does. */
async function lookAtOperatorPages(
  browser: Browser,
  world: World,
  databaseUrl: string,
): Promise<void> {
  const operator = createApiKey('night-shift', ['admin']);
  const shop = createApiKey('shop', ['verify', 'settle']);
  const keysFile = join(mkdtempSync(join(tmpdir(), 'x402-pages-')), 'keys.json');
  writeFileSync(keysFile, JSON.stringify({ version: 1, keys: [operator.record, shop.record] }));
  const service = await world.service({
    ROLES: 'api,worker,history',
    API_KEYS_FILE: keysFile,
    DATABASE_URL: databaseUrl,
    SIGNER_KEYS: [0, 3, 4].map((index) => sandboxAccount(index).key).join(','),
    BATCH_MAX_ITEMS: '1',
    // Tokens that are named are shown by their symbols.
    MIN_AMOUNTS: `eip155:${world.chainId}/${world.usd}=1`,
    [`EXPLORER_URL_${world.chainId}`]: 'https://explorer.example',
  });
  const payer = await world.payer();
  const sellers = [newAccount(), newAccount(), newAccount()];
  const pay = async (_: unknown, index: number): Promise<void> => {
    const amount = 10n ** 17n * BigInt(1 + (index % 4));
    const options = { payer, chainId: world.chainId, token: world.usd, amount };
    const payTo = sellers[index % sellers.length]?.address ?? newAccount().address;
    const body = await eip3009Body({ ...options, payTo });
    await post(`${service.url}/settle`, body, { 'X-API-Key': shop.key });
  };
  await Promise.all(Array.from({ length: 12 }, pay));

  await browser.open(`${service.url}/docs`);
  await browser.until(`document.querySelectorAll('details').length > 20`);
  await browser.evaluate(`document.querySelector('#settleV2LookUp').open = true`);
  await browser.screenshot(imageOf('docs'));

  await browser.open(`${service.opsUrl}/admin`);
  await browser.until(`document.getElementById('enter') !== null`);
  const enter = (key: string): Promise<unknown> =>
    browser.evaluate(
      `document.getElementById('key').value = '${key}'; document.getElementById('enter').requestSubmit()`,
    );
  await enter(shop.key);
  await browser.until(`document.querySelector('.error') !== null`);
  // The refusal of the wrong key is what the browser has to say up to here.
  const refusals = browser.complaints.splice(0);
  if (!refusals.every((text) => text.includes('403'))) throw new Error(refusals.join('\n'));

  const go = async (place: string, isThere: string): Promise<void> => {
    await browser.evaluate(`location.hash = '#/${place}'; 0`);
    await browser.until(isThere);
  };
  await enter(operator.key);
  await browser.until(`document.body.textContent.includes('All well.')`);
  await browser.until(`document.querySelector('.tiles').textContent.includes('SUSD')`);
  await browser.until(`document.querySelectorAll('#view tbody tr').length > 8`);
  await takePictures(browser, 'admin');

  await go('settlements', `document.querySelectorAll('#settlements tbody tr').length >= 12`);
  await browser.evaluate(`document.querySelector('#settlements tbody tr:last-child a').click()`);
  await browser.until(`document.querySelectorAll('.timeline li').length > 4`);
  await takePictures(browser, 'admin-settlement');

  // One lane without gas money and one paused, so that there is something to say.
  await world.client.setBalance({ address: sandboxAccount(4).address, value: 10n ** 12n });
  await go('lanes', `document.querySelectorAll('.lane').length === 3`);
  await browser.evaluate(
    `[...document.querySelectorAll('.lane')].find((lane) => !lane.textContent.toLowerCase().includes('${sandboxAccount(4).address.toLowerCase()}')).querySelector('.buttons button').click()`,
  );
  await browser.until(`document.querySelector('dialog')?.open === true`);
  await browser.evaluate(`document.querySelector('dialog form').requestSubmit()`);
  await browser.until(`document.body.textContent.includes('Paused by night-shift')`);
  // It is seen to be out of gas when it is to send something.
  const traffic = Promise.all(Array.from({ length: 60 }, pay));
  await browser.until(`document.body.textContent.includes('Out of gas.')`);
  await browser.until(`document.querySelector('.nonces i.used') !== null`);
  await takePictures(browser, 'admin-lanes');
  await traffic;
  await browser.evaluate(`document.getElementById('leave').click()`);
  if (String(await browser.evaluate(`location.href`)).includes(operator.key)) {
    throw new Error('the address holds the key');
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

const [world, postgres] = await Promise.all([World.start({ blockTime: 0.45 }), startPostgres()]);
const wallets = await WalletWorld.start();
const browser = await Browser.start(1200, 1000);
try {
  await lookAtOperatorPages(browser, world, postgres.url);
  await lookAtApprovalPage(browser, wallets);
  if (browser.complaints.length > 0) throw new Error(browser.complaints.join('\n'));
  console.log('docs/images: docs, admin*, approve');
} finally {
  await browser.stop();
  await wallets.stop();
  await world.stop();
  await postgres.stop();
}
