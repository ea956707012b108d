import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort } from '../../sandbox/processes.js';
import { Browser } from '../support/browser.js';
import { newAccount } from '../support/payments.js';
import { connectionOf, GENERATIONS, RememberingClient } from './oauth-visitors.js';
import { OwnerInBrowser } from './owner-in-browser.js';
import { WalletWorld } from './wallet-world.js';

/** The end of a client's sign-in that runs on its owner's machine (RFC 8252, section 7.3). */
class Callback {
  readonly #heard: URL[] = [];
  #wake: (() => void) | undefined;

  private constructor(private readonly server: Server) {
    server.on('request', (request, response) => {
      this.#heard.push(new URL(request.url ?? '', this.url));
      response.setHeader('content-type', 'text/html');
      response.end('<link rel="icon" href="data:," />Back to your application.');
      this.#wake?.();
    });
  }

  static async start(): Promise<Callback> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new Callback(server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/callback`;
  }

  async next(): Promise<URLSearchParams> {
    while (this.#heard.length === 0) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return this.#heard.shift()?.searchParams ?? new URLSearchParams();
  }

  stop(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}

describe('an application that is let in by OAuth, with its owner at a real browser', () => {
  let wallets: WalletWorld;
  let callback: Callback;
  let person: OwnerInBrowser;
  let issuer: string;

  beforeAll(async () => {
    const port = await freePort();
    issuer = `http://127.0.0.1:${port}`;
    const settings = { WALLET_OAUTH: 'true', WALLET_PUBLIC_URL: issuer };
    wallets = await WalletWorld.start(settings, undefined, port);
    callback = await Callback.start();
    person = await OwnerInBrowser.start(newAccount());
  });
  afterAll(async () => {
    await person.stop();
    callback.stop();
    await wallets.stop();
  });

  describe.each(GENERATIONS)('%s', (generation) => {
    it('finds the way, pays no more once the owner has ended it', async () => {
      const known = new RememberingClient(callback.url);
      const connect = () => connectionOf(generation, `${issuer}/mcp`, known);
      const first = connect();
      await expect(first.begin()).rejects.toThrow();

      await person.open(known.asked ?? '');
      await person.untilShown('request');
      const message = await person.readMessage();
      expect(message).toContain('"Test client", answered at a program on your own machine');
      expect(message).toContain(person.owner.address);
      await person.sign();
      await first.finish(await callback.next());

      const second = connect();
      await second.begin();
      const tool = () => second.client.callTool({ name: 'wallet_get', arguments: {} });
      const owner = person.owner.address.toLowerCase();
      expect(await tool()).toMatchObject({ structuredContent: { owner } });
      const before = known.given?.refresh_token;
      known.spoil();
      expect(await tool()).toMatchObject({ structuredContent: { owner } });
      expect(known.given?.refresh_token).not.toBe(before);

      await person.signIn(issuer);
      const rows = await person.rows('access');
      const line = rows.find((row) => row.startsWith('Application “Test client”'));
      expect(line).toContain('wallet:read, wallet:pay');
      expect(line).not.toContain('never');
      await person.end('Test client');
      expect((await person.rows('access')).join('\n')).not.toContain('Test client');
      await expect(tool()).rejects.toThrow();
      const refused = await fetch(`${issuer}/mcp`, {
        method: 'POST',
        headers: { authorization: `Bearer ${known.given?.access_token ?? ''}` },
      });
      expect(refused.status).toBe(401);
      await second.client.close();
      expect(person.browser.complaints).toEqual([]);
    });
  });

  it('hears of a no, and the page says nothing else', async () => {
    const known = new RememberingClient(callback.url);
    await expect(
      connectionOf('the client of 2026', `${issuer}/mcp`, known).begin(),
    ).rejects.toThrow();
    await person.open(known.asked ?? '');
    await person.untilShown('request');
    await person.click('deny');
    expect((await callback.next()).get('error')).toBe('access_denied');
  });

  it('opens nothing in another browser than the one that came with the request', async () => {
    const known = new RememberingClient(callback.url);
    await expect(
      connectionOf('the client of 2026', `${issuer}/mcp`, known).begin(),
    ).rejects.toThrow();
    const visit = await fetch(known.asked ?? '', { redirect: 'manual' });
    // The link of a consent that an attacker began, sent to the owner.
    await person.open(visit.headers.get('location') ?? '');
    await person.untilSaid('This request has ended, or belongs to another browser. Start again.');
    expect(await person.browser.evaluate(`document.getElementById('request') === null`)).toBe(true);
    // The refusal that the browser noted.
    person.browser.complaints.splice(0);
  });
});

describe('an application that is let in by an owner with a passkey', () => {
  let wallets: WalletWorld;
  let callback: Callback;
  let browser: Browser;
  let issuer: string;

  beforeAll(async () => {
    const port = await freePort();
    // Passkeys are made for a name; a browser takes this one without TLS.
    issuer = `http://localhost:${port}`;
    const settings = { WALLET_OAUTH: 'true', WALLET_PASSKEYS: 'true', WALLET_PUBLIC_URL: issuer };
    wallets = await WalletWorld.start(settings, undefined, port);
    callback = await Callback.start();
    browser = await Browser.start(1200, 900);
    await browser.provideAuthenticator();
  });
  afterAll(async () => {
    await browser.stop();
    callback.stop();
    await wallets.stop();
  });

  const shown = (id: string) =>
    browser.until(`document.getElementById('${id}')?.checkVisibility() === true`);
  const click = async (id: string): Promise<void> => {
    await shown(id);
    await browser.evaluate(`document.getElementById('${id}').click()`);
  };

  /** Names the owner by its passkey, reads what is to be signed, and signs it. @returns owner and message. */
  const signBy = async (button: string): Promise<readonly [owner: string, message: string]> => {
    await click(button);
    await shown('approval');
    const owner = String(await browser.evaluate(`document.getElementById('signer').textContent`));
    const message = await browser.evaluate(`document.getElementById('message').innerText`);
    await click('passkey-sign');
    return [owner, String(message)];
  };

  it('whose owner has made one on the page of the wallet', async () => {
    await browser.open(`${issuer}/wallet`);
    await signBy('passkey-new');
    await shown('leave');
  });

  it.each(GENERATIONS)('has a token for its wallet: the client of %s', async (generation) => {
    const known = new RememberingClient(callback.url);
    const connect = () => connectionOf(generation, `${issuer}/mcp`, known);
    const first = connect();
    await expect(first.begin()).rejects.toThrow();

    await browser.open(String(known.asked ?? ''));
    await shown('request');
    const [owner, message] = await signBy('passkey');
    expect(message).toContain('"Test client", answered at a program on your own machine');
    await first.finish(await callback.next());

    const second = connect();
    await second.begin();
    const asked = second.client.callTool({ name: 'wallet_get', arguments: {} });
    expect(await asked).toMatchObject({ structuredContent: { owner } });
    expect(known.given?.access_token).toMatch(/\S/);
    await second.client.close();
  });
});
