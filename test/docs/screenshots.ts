import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sandboxAccount } from '../../sandbox/accounts.js';
import { stockBuyerAs } from '../../sandbox/buyer.js';
import { startPostgres } from '../../sandbox/postgres.js';
import { freePort } from '../../sandbox/processes.js';
import { createApiKey } from '../../src/operations/access/api-key.js';
import { Browser } from '../support/browser.js';
import { post } from '../support/http.js';
import { eip3009Body, newAccount } from '../support/payments.js';
import { connectionOf, REDIRECT, RememberingClient } from '../wallet/oauth-visitors.js';
import { OwnerInBrowser } from '../wallet/owner-in-browser.js';
import { TestSeller } from '../wallet/test-seller.js';
import { WalletWorld } from '../wallet/wallet-world.js';

/**
 * `npm run screenshots`: uses each page in a real browser as its people do, and writes `docs/images/*.png`, at the width of
 * a desk and of a phone, light and dark.
 */

const ONE = 10n ** 18n;
const WIDE = [1280, 1000] as const;
const NARROW = [390, 844] as const;

const imageOf = (name: string): string =>
  fileURLToPath(new URL(`../../docs/images/${name}.png`, import.meta.url));

const operator = createApiKey('night-shift', ['admin']);
const shop = createApiKey('shop', ['verify', 'settle']);

/** The same page at both widths, light and dark. */
async function takePictures(browser: Browser, name: string): Promise<void> {
  for (const [width, height] of [WIDE, NARROW]) {
    await browser.resize(width, height);
    await browser.evaluate('scrollTo(0, 0)');
    for (const scheme of ['light', 'dark'] as const) {
      await browser.prefer(scheme);
      const suffix = width === NARROW[0] ? '-390' : '';
      await browser.screenshot(imageOf(`${name}${suffix}${scheme === 'dark' ? '-dark' : ''}`));
    }
  }
  await browser.prefer('light');
  await browser.resize(...WIDE);
}

const folder = mkdtempSync(join(tmpdir(), 'x402-pages-'));

/** Everything that has a page, in one process. */
function settingsFor(databaseUrl: string, usd: string, chainId: number): Record<string, string> {
  const keysFile = join(folder, 'keys.json');
  writeFileSync(keysFile, JSON.stringify({ version: 1, keys: [operator.record, shop.record] }));
  return {
    ROLES: 'all',
    API_KEYS_FILE: keysFile,
    // The demo seller has no key, nor has an owner of files.
    OPEN_SCOPES: 'verify,settle,hub',
    DATABASE_URL: databaseUrl,
    WEBHOOK_KEY: 'a key of these pictures, of no value at all',
    RECONCILE_AT: '03:30',
    CATALOGUE_ALLOW: '127.0.0.1',
    DOCTOR: 'true',
    DOCTOR_ALLOW: '127.0.0.1',
    HUB_MODE: 'public',
    HUB_DATA_DIR: join(folder, 'hub'),
    HUB_ADDRESS: sandboxAccount(0).address,
    SIGNER_KEYS: [0, 3, 4].map((index) => sandboxAccount(index).key).join(','),
    BATCH_MAX_ITEMS: '1',
    // Tokens that are named are shown by their symbols.
    MIN_AMOUNTS: `eip155:${chainId}/${usd}=1`,
    [`EXPLORER_URL_${chainId}`]: 'https://explorer.example',
  };
}

/** What everybody may open: the start, the API, the marketplace, the seller check. */
async function lookAtPublicPages(
  browser: Browser,
  wallets: WalletWorld,
  seller: TestSeller,
): Promise<void> {
  const { world, url } = wallets;
  const payer = await world.payer();
  const buyer = stockBuyerAs(payer, world.anvil.url);
  for (let purchases = 0; purchases < 3; purchases += 1) await buyer.buy(`${seller.url}/report`);

  await browser.open(url);
  await browser.until(`document.querySelector('.light')?.textContent === 'All systems work.'`);
  await browser.until(`document.querySelector('#status tbody') !== null`);
  await takePictures(browser, 'home');

  await browser.open(`${url}/docs`);
  await browser.until(`document.querySelectorAll('details').length > 20`);
  await takePictures(browser, 'docs');

  const isListed = async (): Promise<boolean> => {
    const { items } = (await (await fetch(`${url}/discovery/resources`)).json()) as {
      readonly items: readonly unknown[];
    };
    return items.length > 0;
  };
  while (!(await isListed())) await new Promise((resolve) => setTimeout(resolve, 250));
  await browser.open(`${url}/discovery`);
  await browser.until(`document.querySelector('article') !== null`);
  await takePictures(browser, 'discovery');

  await browser.open(`${url}/doctor`);
  await browser.until(`document.querySelector('#ask [name=url], #ask [type=url]') !== null`);
  await browser.evaluate(`(() => {
    document.querySelector('#ask [type=url]').value = '${seller.url}/report';
    document.getElementById('ask').requestSubmit();
  })()`);
  await browser.until(`document.getElementById('report') !== null`);
  await takePictures(browser, 'doctor');

  await browser.open(`${url}/nowhere`);
  await takePictures(browser, 'not-found');
  // The status of the page itself.
  const notFound = browser.complaints.splice(0);
  if (!notFound.every((text) => text.includes('404'))) throw new Error(notFound.join('\n'));
}

/** Walks through the console as an operator does. */
async function lookAtConsole(browser: Browser, wallets: WalletWorld): Promise<void> {
  const { world, url, opsUrl } = wallets;
  const payer = await world.payer();
  const sellers = [newAccount(), newAccount(), newAccount()];
  const pay = async (_: unknown, index: number): Promise<void> => {
    const amount = 10n ** 17n * BigInt(1 + (index % 4));
    const options = { payer, chainId: world.chainId, token: world.usd, amount };
    const payTo = sellers[index % sellers.length]?.address ?? newAccount().address;
    const body = await eip3009Body({ ...options, payTo });
    await post(`${url}/settle`, body, { 'X-API-Key': shop.key });
  };
  await Promise.all(Array.from({ length: 12 }, pay));

  await browser.open(`${opsUrl}/admin`);
  await browser.until(`document.getElementById('enter') !== null`);
  await takePictures(browser, 'admin-sign-in');
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
    await browser.until(`document.querySelector('#view [aria-busy="true"]') === null`);
  };
  await enter(operator.key);
  await browser.until(`document.body.textContent.includes('All well.')`);
  await browser.until(`document.querySelector('.tiles').textContent.includes('SUSD')`);
  await browser.until(`document.querySelectorAll('#view tbody tr').length > 8`);
  await takePictures(browser, 'admin');

  await go('settlements', `document.querySelectorAll('#settlements tbody tr').length >= 12`);
  await takePictures(browser, 'admin-settlements');
  await browser.evaluate(`document.querySelector('#settlements tbody tr:last-child a').click()`);
  await browser.until(`document.querySelectorAll('.timeline li').length > 4`);
  await takePictures(browser, 'admin-settlement');
  for (const page of ['sellers', 'webhooks', 'reconciliation', 'catalogue', 'audit']) {
    await go(
      page,
      `document.querySelector('nav [aria-current]')?.textContent.toLowerCase() === '${page}'`,
    );
    await takePictures(browser, `admin-${page}`);
  }

  // One lane without gas balance and one paused, so that there is something to say.
  const poor = sandboxAccount(4).address;
  await world.client.setBalance({ address: poor, value: 10n ** 12n });
  await go('lanes', `document.querySelectorAll('.lane').length === 3`);
  await browser.evaluate(
    `[...document.querySelectorAll('.lane')].find((lane) => !lane.textContent.toLowerCase().includes('${poor.toLowerCase()}')).querySelector('.buttons button').click()`,
  );
  await browser.until(`document.querySelector('dialog')?.open === true`);
  await browser.evaluate(`document.querySelector('dialog form').requestSubmit()`);
  await browser.until(`document.body.textContent.includes('Paused by night-shift')`);
  // It is seen to be out of gas when it is to send something.
  const traffic = Promise.all(Array.from({ length: 60 }, pay));
  await browser.until(`document.body.textContent.includes('Out of gas.')`);
  await takePictures(browser, 'admin-lanes');
  await traffic;
  await browser.evaluate(`document.getElementById('leave').click()`);
  if (String(await browser.evaluate(`location.href`)).includes(operator.key)) {
    throw new Error('the address holds the key');
  }
}

/** An owner lets an agent in, asks it to wait for an approval, and looks after the wallet. */
async function lookAtWallet(wallets: WalletWorld, seller: TestSeller): Promise<void> {
  const { owner, ownerToken, agent } = await wallets.fundedWallet(40n * ONE);
  const person = await OwnerInBrowser.start(owner);
  const { browser } = person;
  try {
    const { body } = await wallets.post('/v1/init', 'true');
    await person.open(`${wallets.url}/wallet/approve?code=${String(body['user_code'])}`);
    await person.readMessage();
    await takePictures(browser, 'approve');
    await person.sign();
    await browser.until(`document.querySelector('main a[href$="wallet"]') !== null`);

    const asset = `eip155:${wallets.world.chainId}/${wallets.world.usd}`;
    const limit = { asset, perPayment: `${2n * ONE}`, budget: `${10n * ONE}` };
    const pay = (intentId: string) =>
      wallets.post(
        '/v1/wallets/me/payments',
        { url: `${seller.url}/report`, maxAmount: '2', intentId },
        agent,
      );
    await wallets.send('PUT', '/v1/wallets/me/policy', ownerToken, { limits: [limit] });
    await pay('report-of-monday');
    const rules = { limits: [{ ...limit, askAbove: `${ONE / 2n}` }] };
    await wallets.send('PUT', '/v1/wallets/me/policy', ownerToken, rules);
    const { ask } = (await pay('report-of-tuesday')).body as { readonly ask: { url: string } };
    await person.open(`${wallets.url}/wallet/ask${new URL(ask.url).search}`);
    await person.readMessage();
    await takePictures(browser, 'ask');
    await person.signIn(wallets.url);
    await browser.until(`document.getElementById('asks')?.innerText.includes('1 SUSD') === true`);
    await takePictures(browser, 'wallet');
    if (browser.complaints.length > 0) throw new Error(browser.complaints.join('\n'));
  } finally {
    await person.stop();
  }
}

/** An owner of files uploads one, and everybody may browse. */
async function lookAtFiles(wallets: WalletWorld): Promise<void> {
  const person = await OwnerInBrowser.start(newAccount());
  const { browser } = person;
  const file = join(folder, 'report.md');
  writeFileSync(file, '# A report\n');
  try {
    await person.open(`${wallets.url}/hub`);
    await person.click('connect');
    await person.untilShown('files');
    await browser.chooseFile('#file', file);
    await browser.until(`document.getElementById('file-name').value === 'report.md'`);
    await browser.evaluate(`document.getElementById('upload').requestSubmit()`);
    await person.untilSaid('Stored "report.md".');
    await takePictures(browser, 'hub');
    await person.open(`${wallets.url}/hub/browse`);
    await browser.until(`document.querySelectorAll('main tbody tr').length > 0`);
    await takePictures(browser, 'hub-browse');
    if (browser.complaints.length > 0) throw new Error(browser.complaints.join('\n'));
  } finally {
    await person.stop();
  }
}

/** An owner makes a passkey, and an application asks to be let in. */
async function lookAtConsent(): Promise<void> {
  const port = await freePort();
  // Passkeys are made for a name; a browser takes this one without TLS.
  const issuer = `http://localhost:${port}`;
  const settings = { WALLET_OAUTH: 'true', WALLET_PASSKEYS: 'true', WALLET_PUBLIC_URL: issuer };
  const wallets = await WalletWorld.start(settings, undefined, port);
  const browser = await Browser.start(...WIDE);
  try {
    await browser.provideAuthenticator();
    await browser.open(`${issuer}/wallet`);
    await browser.until(`document.getElementById('passkey-new')?.checkVisibility() === true`);
    await takePictures(browser, 'wallet-sign-in');
    await browser.evaluate(`document.getElementById('passkey-new').click()`);
    await browser.until(`document.getElementById('message')?.checkVisibility() === true`);
    await takePictures(browser, 'passkey');
    await browser.evaluate(`document.getElementById('passkey-sign').click()`);
    await browser.until(`document.getElementById('leave')?.checkVisibility() === true`);
    const known = new RememberingClient(REDIRECT);
    const client = connectionOf('the client of 2026', `${issuer}/mcp`, known);
    await client.begin().then(
      () => {
        throw new Error('an application was let in without its owner');
      },
      () => undefined,
    );
    await browser.open(String(known.asked ?? ''));
    await browser.until(`document.getElementById('request')?.checkVisibility() === true`);
    await takePictures(browser, 'consent');
    // Chrome's advice to take RSA as well, which the wallet does not.
    const complaints = browser.complaints.filter((text) => !text.includes('pubKeyCredParams'));
    if (complaints.length > 0) throw new Error(complaints.join('\n'));
  } finally {
    await browser.stop();
    await wallets.stop();
  }
}

const postgres = await startPostgres();
const wallets = await WalletWorld.start(({ usd, chainId }) =>
  Promise.resolve(settingsFor(postgres.url, usd, chainId)),
);
const seller = await TestSeller.start(wallets.world, wallets.url);
const browser = await Browser.start(...WIDE);
try {
  await lookAtPublicPages(browser, wallets, seller);
  await lookAtConsole(browser, wallets);
  if (browser.complaints.length > 0) throw new Error(browser.complaints.join('\n'));
  await lookAtWallet(wallets, seller);
  await lookAtFiles(wallets);
  await lookAtConsent();
  console.log('docs/images: written');
} finally {
  await browser.stop();
  seller.stop();
  await wallets.stop();
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
}
