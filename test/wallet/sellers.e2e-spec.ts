import { readdir, readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Address } from 'viem';
import { PERMIT2, USD_NAME, USD_VERSION } from '../../sandbox/deploy.js';
import { gzipBomb } from '../builders/platform/fetch/gzip-bomb.js';
import { eventually, post } from '../support/http.js';
import { newAccount } from '../support/payments.js';
import { TestSeller } from './test-seller.js';
import { WalletWorld } from './wallet-world.js';

/** A chain that V1 has a name for. */
const CHAIN_ID = 84_532;
const ONE = 10n ** 18n;
const SHORT_SECONDS = 4;
/** Long enough to be settled by a slow machine. */
const SETTLED_SECONDS = 9;
const PATIENCE_MS = 45_000;

type Serve = (request: IncomingMessage, response: ServerResponse) => Promise<void> | void;

describe('a wallet and sellers of each kind', () => {
  let wallets: WalletWorld;
  let seller: TestSeller;
  const servers: Server[] = [];

  beforeAll(async () => {
    wallets = await WalletWorld.start({}, CHAIN_ID);
    seller = await TestSeller.start(wallets.world, wallets.url);
  });
  afterAll(async () => {
    seller.stop();
    for (const server of servers) {
      server.close();
      server.closeAllConnections();
    }
    await wallets.stop();
  });

  async function serve(handle: Serve): Promise<string> {
    const server = createServer((request, response) => void handle(request, response));
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  }

  const pay = (agent: string, url: string, intentId: string) =>
    wallets.post('/v1/wallets/me/payments', { url, maxAmount: '1', intentId }, agent);
  const spent = async (agent: string, at = 0): Promise<string | undefined> => {
    const { body } = await wallets.send('GET', '/v1/wallets/me/policy', agent);
    return (body as { limits: { spent: { decimal: string } }[] }).limits[at]?.spent.decimal;
  };
  /** Transactions of purchases that the journal calls paid. */
  const paidInJournal = async (): Promise<unknown[]> => {
    const folder = join(wallets.dir, 'audit');
    const names = (await readdir(folder)).filter((name) => name.endsWith('.jsonl'));
    const files = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
    return files
      .flatMap((text) => text.split('\n'))
      .flatMap((line) => {
        const found = /"event":"paid".*?"transaction":"(\w*)"/.exec(line);
        return found === null ? [] : [found[1]];
      });
  };
  const terms = (payTo: Address) => ({
    scheme: 'exact',
    asset: wallets.world.usd,
    payTo,
    maxTimeoutSeconds: SHORT_SECONDS,
    extra: { name: USD_NAME, version: USD_VERSION },
  });

  it('tells of one that compresses its demand what is wrong, and reads none of it', async () => {
    const bomb = gzipBomb();
    const url = await serve((_request, response) => {
      response.writeHead(402, { 'content-encoding': 'gzip' }).end(bomb);
    });
    const { agent } = await wallets.fundedWallet();
    const { status, body } = await pay(agent, url, 'compressed');
    expect([status, body]).toEqual([
      422,
      expect.objectContaining({
        code: 'no_acceptable_offer',
        error: expect.stringContaining('although this wallet accepts no compression'),
      }),
    ]);
    expect(await spent(agent)).toBe('0');
  });

  it('pays one that speaks V1, through our own facilitator', async () => {
    const payTo = newAccount().address;
    const requirements = {
      ...terms(payTo),
      network: 'base-sepolia',
      maxAmountRequired: `${ONE}`,
      maxTimeoutSeconds: 60,
      resource: 'http://127.0.0.1/',
      description: '',
      mimeType: '',
    };
    const url = await serve(async (request, response) => {
      const sent = request.headers['x-payment'];
      if (typeof sent !== 'string') {
        const required = { x402Version: 1, error: 'payment', accepts: [requirements] };
        response.writeHead(402, { 'content-type': 'application/json' });
        response.end(JSON.stringify(required));
        return;
      }
      const paymentPayload = JSON.parse(Buffer.from(sent, 'base64').toString()) as unknown;
      const settled = await post(`${wallets.url}/settle`, {
        x402Version: 1,
        paymentPayload,
        paymentRequirements: requirements,
      });
      const receipt = Buffer.from(JSON.stringify(settled.body)).toString('base64');
      response.writeHead(settled.body['success'] === true ? 200 : 402, {
        'x-payment-response': receipt,
      });
      response.end('goods');
    });
    const { agent } = await wallets.fundedWallet();
    const bought = await pay(agent, url, 'v1');
    expect(bought.body).toMatchObject({ status: 'paid', body: 'goods', amount: { decimal: '1' } });
    expect(bought.body['transaction']).toMatch(/^0x[0-9a-f]{64}$/);
    expect(await wallets.world.balance(wallets.world.usd, payTo)).toBe(ONE);
  });

  it('pays by Permit2 once the owner has let it approve the token', async () => {
    const { agent, ownerToken, address } = await wallets.fundedWallet();
    const { chainId, coin, client } = wallets.world;
    const limit = {
      asset: `eip155:${chainId}/${coin}`,
      perPayment: `${ONE}`,
      budget: `${3n * ONE}`,
    };
    const approve = {
      method: 'eth_sendTransaction',
      caip2: `eip155:${chainId}`,
      params: { transaction: { to: coin, data: approveData(2n ** 255n) } },
    };
    const put = (scopes: string[]) =>
      wallets.send('PUT', '/v1/wallets/me/policy', ownerToken, { limits: [limit], scopes });
    await put([]);
    const refused = await wallets.post('/v1/wallets/me/rpc', approve, agent);
    expect(refused.body['rule']).toBe('scope_off');
    await put(['approve']);
    await client.setBalance({ address, value: ONE });
    const sent = await wallets.post('/v1/wallets/me/rpc', approve, agent, 'approval');
    const { hash } = (sent.body as { data: { hash: `0x${string}` } }).data;
    await client.waitForTransactionReceipt({ hash });

    const before = await seller.received(coin);
    const bought = await pay(agent, `${seller.url}/permit2`, 'by-permit2');
    expect(bought.body).toMatchObject({ status: 'paid', httpStatus: 200 });
    expect((await seller.received(coin)) - before).toBe(1);
    expect(await spent(agent)).toBe('1');
  });

  it('gets back what a final block after the deadline shows unused, and nothing else', async () => {
    const required = (maxTimeoutSeconds: number) => {
      const own = { ...terms(newAccount().address), network: `eip155:${CHAIN_ID}` };
      const requirements = { ...own, amount: `${ONE}`, maxTimeoutSeconds };
      const all = { x402Version: 2, accepts: [requirements], resource: { url: 'x' } };
      return { requirements, header: Buffer.from(JSON.stringify(all)).toString('base64') };
    };
    const [short, long] = [required(SHORT_SECONDS), required(SETTLED_SECONDS)];
    // Takes the payment, and neither settles nor serves.
    const idle = await serve((_, response) => {
      response.writeHead(402, { 'payment-required': short.header }).end();
    });
    // Settles, and says that it did not.
    const liar = await serve(async (request, response) => {
      const sent = request.headers['payment-signature'];
      if (typeof sent === 'string') {
        const paymentPayload = JSON.parse(Buffer.from(sent, 'base64').toString()) as unknown;
        await post(`${wallets.url}/settle`, {
          x402Version: 2,
          paymentPayload,
          paymentRequirements: long.requirements,
        });
      }
      response.writeHead(402, { 'payment-required': long.header }).end();
    });
    const [unused, used] = [await wallets.fundedWallet(), await wallets.fundedWallet()];
    expect((await pay(unused.agent, idle, 'unused')).body['status']).toBe('pending');
    await pay(used.agent, liar, 'used');
    expect(await wallets.world.balance(wallets.world.usd, long.requirements.payTo)).toBe(ONE);
    expect([await spent(unused.agent), await spent(used.agent)]).toEqual(['1', '1']);

    // By the wallet itself: no request looks them up.
    const shown = async (step: string): Promise<boolean> => {
      const metrics = await (await fetch(`${wallets.opsUrl}/metrics`)).text();
      return metrics.includes(`x402_wallet_budget_tokens_total{step="${step}"`);
    };
    await eventually('one charge is given back', () => shown('released'), PATIENCE_MS);
    await eventually('the other is shown spent', () => shown('spent'), PATIENCE_MS);
    const status = async (agent: string, intent: string): Promise<unknown> =>
      (await wallets.send('GET', `/v1/wallets/me/payments/${intent}`, agent)).body['status'];
    expect(await status(unused.agent, 'unused')).toBe('not_paid');
    expect(await status(used.agent, 'used')).toBe('paid_without_content');
    expect([await spent(unused.agent), await spent(used.agent)]).toEqual(['0', '1']);
    // The journal says so too: a loss of Redis changes neither.
    await wallets.flush();
    expect([await spent(unused.agent), await spent(used.agent)]).toEqual(['0', '1']);
  });

  it('believes none that says to be paid: not by an answer, nor by a transaction', async () => {
    const requirements = {
      ...terms(newAccount().address),
      network: `eip155:${CHAIN_ID}`,
      amount: `${ONE}`,
    };
    const demand = { x402Version: 2, accepts: [requirements], resource: { url: 'x' } };
    const base64 = (value: unknown): string =>
      Buffer.from(JSON.stringify(value)).toString('base64');
    const receipt = (transaction: unknown) => ({
      'payment-response': base64({ success: true, transaction, network: requirements.network }),
    });
    const sells = (status: number, headers: Record<string, string>) =>
      serve((request, response) => {
        const isPaying = 'payment-signature' in request.headers;
        response.writeHead(isPaying ? status : 402, {
          ...(isPaying ? headers : { 'payment-required': base64(demand) }),
        });
        response.end(isPaying ? 'goods' : '');
      });
    const before = await paidInJournal();
    const other = await wallets.fundedWallet();
    const honest = await pay(other.agent, `${seller.url}/report`, 'honest');
    const liars = {
      invented: await sells(200, receipt(`0x${'ab'.repeat(32)}`)),
      accepted: await sells(202, {}),
      empty: await sells(204, {}),
      foreign: await sells(200, receipt(honest.body['transaction'])),
    };
    const { agent } = await wallets.fundedWallet();
    const asked = async (intent: string) =>
      (await wallets.send('GET', `/v1/wallets/me/payments/${intent}`, agent)).body;
    for (const [intent, url] of Object.entries(liars)) {
      const { body } = await pay(agent, url, intent);
      expect([intent, body['status'], body['transaction']]).toEqual([
        intent,
        'presented',
        undefined,
      ]);
    }
    expect(await spent(agent)).toBe('4');
    for (const intent of Object.keys(liars)) {
      await eventually(
        `${intent} is proven unpaid`,
        async () => (await asked(intent))['status'] === 'not_paid',
        PATIENCE_MS,
      );
      expect(await asked(intent)).not.toHaveProperty('transaction');
    }
    expect(await spent(agent)).toBe('0');
    // The journal has the purchase that the chain shows, by its transaction, and no other.
    await eventually(
      'the honest one is noted',
      async () => {
        await wallets.send('GET', '/v1/wallets/me/payments/honest', other.agent);
        return (await paidInJournal()).includes(honest.body['transaction']);
      },
      PATIENCE_MS,
    );
    expect((await paidInJournal()).filter((one) => one !== honest.body['transaction'])).toEqual(
      before,
    );
  });
});

describe('a journal that is taken away from a running wallet', () => {
  it('ends all signing, says so, and is taken up again by the next process', async () => {
    const wallets = await WalletWorld.start({ ROLES: 'wallet' });
    const { agent, ownerToken } = await wallets.fundedWallet();
    const ready = async () => {
      const response = await fetch(`${wallets.url}/health/ready`);
      const { details } = (await response.json()) as { details: Record<string, unknown> };
      return [response.status, details['wallet_journal']];
    };
    expect(await ready()).toEqual([200, { status: 'up' }]);
    const bringBack = await wallets.hideJournal();
    expect(await ready()).toEqual([503, { status: 'down' }]);
    // The operators' port has the reason.
    const health = await fetch(`${wallets.service.opsUrl}/health`);
    const { details } = (await health.json()) as { details: Record<string, unknown> };
    expect(details['wallet_journal']).toMatchObject({ code: 'journal_stopped' });
    const rules = wallets.rules({ windowHours: 7 });
    const changed = await wallets.send('PUT', '/v1/wallets/me/policy', ownerToken, rules);
    expect([changed.status, changed.body['code']]).toEqual([503, 'unavailable']);
    await bringBack();
    // It does not write on behind what it could not write.
    expect((await ready())[0]).toBe(503);
    await wallets.service.stop('SIGTERM');
    await wallets.restart();
    expect(await ready()).toEqual([200, { status: 'up' }]);
    const policy = await wallets.send('GET', '/v1/wallets/me/policy', agent);
    expect(policy.body['windowHours']).toBe(24);
    await wallets.stop();
  });
});

/** ERC-20 `approve` of Permit2. */
function approveData(value: bigint): `0x${string}` {
  const word = (hex: string): string => hex.padStart(64, '0');
  return `0x095ea7b3${word(PERMIT2.slice(2).toLowerCase())}${word(value.toString(16))}`;
}
