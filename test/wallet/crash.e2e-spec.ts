import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { USD_NAME, USD_VERSION } from '../../sandbox/deploy.js';
import { eventually, post } from '../support/http.js';
import { newAccount } from '../support/payments.js';
import { WalletWorld } from './wallet-world.js';

const ONE = 10n ** 18n;

/** A seller whose answers a test decides on, and that notes each payment it is shown. */
class Seller {
  readonly payments: string[] = [];
  isSilent = true;
  readonly #server: Server;

  constructor(requirements: Readonly<Record<string, unknown>>) {
    const required = { x402Version: 2, accepts: [requirements], resource: { url: 'x' } };
    const header = Buffer.from(JSON.stringify(required)).toString('base64');
    this.#server = createServer((request, response) => {
      const payment = request.headers['payment-signature'];
      if (typeof payment !== 'string') {
        response.writeHead(402, { 'payment-required': header }).end();
        return;
      }
      this.payments.push(payment);
      if (!this.isSilent) response.end('goods');
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

describe('a wallet process that is killed while it pays', () => {
  let wallets: WalletWorld;
  let seller: Seller;
  let url: string;

  beforeAll(async () => {
    wallets = await WalletWorld.start({ ROLES: 'wallet' });
    seller = new Seller({
      scheme: 'exact',
      network: `eip155:${wallets.world.chainId}`,
      asset: wallets.world.usd,
      amount: ONE.toString(),
      payTo: newAccount().address,
      maxTimeoutSeconds: 300,
      extra: { name: USD_NAME, version: USD_VERSION },
    });
    url = await seller.listen();
  });
  afterAll(async () => {
    seller.close();
    await wallets.stop();
  });

  it.each([
    ['with Redis as it was', () => Promise.resolve()],
    ['with Redis lost too', () => wallets.flush()],
  ])('presents the same payment afterwards and counts it once, %s', async (what, lose) => {
    const { agent } = await wallets.fundedWallet();
    const before = seller.payments.length;
    seller.isSilent = true;
    const order = { url, maxAmount: '1', intentId: what.replaceAll(' ', '-') };
    const cutOff = wallets.post('/v1/wallets/me/payments', order, agent).catch(() => 'cut off');
    await eventually('the payment is presented', () => seller.payments.length > before);
    const killed = wallets.service;
    await killed.stop('SIGKILL');
    expect(await cutOff).toBe('cut off');
    await lose();

    seller.isSilent = false;
    await wallets.restart();
    const authorization = { authorization: `Bearer ${agent}` };
    const again = await post(`${wallets.url}/v1/wallets/me/payments`, order, authorization);

    expect(again.body).toMatchObject({ status: 'paid', body: 'goods' });
    const shown = seller.payments.slice(before);
    expect(shown).toHaveLength(2);
    expect(new Set(shown).size).toBe(1);
    const policy = await wallets.send('GET', '/v1/wallets/me/policy', agent);
    expect(policy.body).toMatchObject({ limits: [{ spent: { decimal: '1' } }, {}] });
  });
});
