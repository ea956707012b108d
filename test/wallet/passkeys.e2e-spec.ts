import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { freePort } from '../../sandbox/processes.js';
import { Browser } from '../support/browser.js';
import { WalletWorld } from './wallet-world.js';

type Json = Record<string, unknown>;

describe('an owner with a passkey, in a browser', () => {
  let wallets: WalletWorld;
  let site: string;
  let browser: Browser;
  let owner: string;

  beforeAll(async () => {
    const port = await freePort();
    // Passkeys are made for a name; a browser takes this one without TLS.
    site = `http://localhost:${port}`;
    const settings = { WALLET_PASSKEYS: 'true', WALLET_PUBLIC_URL: site };
    wallets = await WalletWorld.start(settings, undefined, port);
    browser = await Browser.start(1200, 900);
    await browser.provideAuthenticator();
  });
  afterAll(async () => {
    await browser.stop();
    await wallets.stop();
  });

  const shown = (id: string) =>
    browser.until(`document.getElementById('${id}')?.checkVisibility() === true`);
  const click = async (id: string): Promise<void> => {
    await shown(id);
    await browser.evaluate(`document.getElementById('${id}').click()`);
  };
  const addressOnPage = () => browser.evaluate(`document.getElementById('signer').textContent`);
  const signIn = async (): Promise<void> => {
    await browser.open(`${site}/wallet`);
    await click('passkey');
    await click('passkey-sign');
    await shown('wallet');
  };

  it('makes one, and signs in with it', async () => {
    await browser.open(`${site}/wallet`);
    await click('passkey-new');
    await shown('approval');
    owner = String(await addressOnPage());
    await click('passkey-sign');
    await shown('wallet');
    expect(await browser.evaluate(`document.getElementById('owner').textContent`)).toBe(owner);
    // Chromium would like RSA, too, for authenticators that have no ES256.
    const isOfAlgorithms = (text: string): boolean => text.includes('pubKeyCredParams');
    expect(browser.complaints.filter((text) => !isOfAlgorithms(text))).toEqual([]);
  });

  it('is found again by the browser, and known after Redis was lost', async () => {
    await wallets.flush();
    await signIn();
    expect(await browser.evaluate(`document.getElementById('owner').textContent`)).toBe(owner);
  });

  it('is known after a failover that lost it, though nothing else was', async () => {
    const redis = new Redis(wallets.world.redis.url);
    await redis.hdel('x402:wl:pk', `k:${owner}`);
    // As a server of another run names what it holds.
    await redis.set('x402:wl:gen', 'another');
    redis.disconnect();
    await signIn();
    expect(await browser.evaluate(`document.getElementById('owner').textContent`)).toBe(owner);
  });

  it('lets an agent in', async () => {
    const { body } = await wallets.post('/v1/init', 'true');
    await browser.open(String(body['auth_url']));
    await click('passkey');
    await click('passkey-sign');
    await browser.until(`document.body.textContent.includes('The agent is in.')`);
    const collected = await wallets.post('/v1/status', { code: body['code'] });
    const agent = String(collected.body['token']);
    expect((await wallets.send('GET', '/v1/wallets/me', agent)).body).toMatchObject({ owner });
  });

  describe('refuses', () => {
    /** What the passkey answers to a message, as the page makes it. */
    const assertionOf = async (message: string): Promise<Json> => {
      await browser.open(`${site}/wallet`);
      await shown('passkey');
      return (await browser.evaluate(`(async () => {
        const { findPasskey, signByPasskey } = await import('${site}/pages/passkeys.js');
        const { id } = await findPasskey();
        return signByPasskey(id, ${JSON.stringify(message)});
      })()`)) as Json;
    };
    const messageFor = async (address: string): Promise<string> =>
      String((await wallets.post('/v1/login/nonce', { address })).body['message']);
    const login = async (sent: object): Promise<number> =>
      (await wallets.post('/v1/login', sent)).status;

    it('an answer to another message, another owner’s name, and the same a second time', async () => {
      const message = await messageFor(owner);
      const assertion = await assertionOf(message);
      const other = await messageFor(owner);
      expect(await login({ address: owner, message: other, assertion })).toBe(401);
      const stranger = `0x${'ab'.repeat(20)}`;
      const named = await messageFor(stranger);
      const forged = await assertionOf(named);
      expect(await login({ address: stranger, message: named, assertion: forged })).toBe(401);
      const broken = { ...assertion, signature: String(forged['signature']) };
      expect(await login({ address: owner, message, assertion: broken })).toBe(401);
      expect(await login({ address: owner, message, assertion })).toBe(200);
      expect(await login({ address: owner, message, assertion })).toBe(401);
    });

    it('what is no answer of an authenticator', async () => {
      const message = await messageFor(owner);
      const junk = {
        id: 'AAAA',
        authenticatorData: 'AAAA',
        clientDataJSON: 'e30',
        signature: 'AA',
      };
      const real = await assertionOf(message);
      for (const [assertion, status] of [
        [junk, 401],
        [{ ...real, authenticatorData: 'AAAA' }, 401],
        [{ ...real, clientDataJSON: 'e30' }, 401],
        [{ ...real, more: 1 }, 400],
        [{ ...real, signature: 'A'.repeat(300) }, 400],
      ] as const) {
        expect(await login({ address: owner, message, assertion })).toBe(status);
      }
      expect(await login({ address: owner, message })).toBe(400);
    });

    it('a passkey that was made for no request of ours, and one that is no passkey', async () => {
      const made = { id: 'AAAA', attestationObject: 'oA', clientDataJSON: 'e30' };
      expect((await wallets.post('/v1/passkeys', made)).status).toBe(401);
      expect((await wallets.post('/v1/passkeys', { ...made, id: 'A'.repeat(2000) })).status).toBe(
        400,
      );
      expect((await wallets.post('/v1/passkeys/find', { id: 'AAAA' })).status).toBe(404);
    });
  });

  // The browser has two from here on.
  it('is in the journal once it has signed something, and not before', async () => {
    const noted = async (): Promise<string[]> => {
      const folder = join(wallets.dir, 'audit');
      const names = (await readdir(folder)).filter((name) => name.endsWith('.jsonl'));
      const files = names.map((name) => readFile(join(folder, name), 'utf8'));
      return (await Promise.all(files))
        .join('')
        .split('\n')
        .filter((line) => line.includes('passkey_added'));
    };
    const before = (await noted()).length;
    await browser.open(`${site}/wallet`);
    await click('passkey-new');
    await shown('approval');
    const stranger = String(await addressOnPage());
    expect((await noted()).length).toBe(before);
    await click('passkey-sign');
    await shown('wallet');
    expect(await browser.evaluate(`document.getElementById('owner').textContent`)).toBe(stranger);
    expect((await noted()).length).toBe(before + 1);
  });
});

describe('passkeys that are off', () => {
  let wallets: WalletWorld;

  beforeAll(async () => {
    wallets = await WalletWorld.start();
  });
  afterAll(() => wallets.stop());

  it('are said to be off, and are neither made nor taken', async () => {
    expect((await wallets.send('GET', '/v1/passkeys')).body).toEqual({ isOn: false });
    expect((await wallets.post('/v1/passkeys/options', {})).status).toBe(404);
    const address = `0x${'ab'.repeat(20)}`;
    const asked = await wallets.post('/v1/login/nonce', { address });
    const assertion = { id: 'AAAA', authenticatorData: 'A', clientDataJSON: 'A', signature: 'A' };
    const sent = { address, message: String(asked.body['message']), assertion };
    expect((await wallets.post('/v1/login', sent)).status).toBe(401);
  });
});
