import type { Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Address, getAddress, type Hex } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { SIGNER } from '../../sandbox/accounts.js';
import { stockBuyer } from '../../sandbox/buyer.js';
import { CALL_PRICE, tradeByChannel } from '../../sandbox/channel-trade.js';
import { freePort } from '../../sandbox/processes.js';
import { demoSeller, listen, PRICE } from '../../sandbox/seller.js';
import type { Service } from '../../sandbox/service.js';
import { buyByV1 } from '../../sandbox/v1.js';
import { post } from '../support/http.js';
import { newAccount, v1Body } from '../support/payments.js';
import { World } from '../support/world.js';

describe('a purchase with the stock clients', () => {
  let world: World;
  let service: Service;
  let seller: Server;
  let sellerUrl: string;
  const payTo = newAccount().address;

  beforeAll(async () => {
    world = await World.start({ blockTime: 0.3 });
    service = await world.service();
    const port = await freePort();
    const network = `eip155:${world.chainId}` as const;
    const { usd, coin } = world;
    const facilitatorUrl = service.url;
    seller = await listen(demoSeller({ facilitatorUrl, network, payTo, usd, coin }), port);
    sellerUrl = `http://127.0.0.1:${port}`;
  });
  afterAll(async () => {
    seller.close();
    await world.stop();
  });

  it('says to a person with a browser how the report is bought', async () => {
    const headers = { Accept: 'text/html', 'User-Agent': 'Mozilla/5.0' };
    const response = await fetch(`${sellerUrl}/report`, { headers });
    expect(response.status).toBe(402);
    expect(await response.text()).toContain('<pre>npm run pay</pre>');
  });

  async function purchase(
    resource: string,
    token: Address,
    prepare?: (account: ReturnType<typeof privateKeyToAccount>) => Promise<void>,
  ): Promise<void> {
    const key = generatePrivateKey();
    const account = privateKeyToAccount(key);
    await world.fund(account.address, PRICE);
    await prepare?.(account);
    const payeeBefore = await world.balance(token, payTo);

    const bought = await stockBuyer(key, world.anvil.url).buy(`${sellerUrl}/${resource}`);

    expect(bought.status).toBe(200);
    expect(JSON.parse(bought.body)).toMatchObject({ report: 'All is well.' });
    expect(bought.receipt).toMatchObject({
      success: true,
      network: `eip155:${world.chainId}`,
      payer: account.address,
    });
    expect(await world.balance(token, account.address)).toBe(0n);
    expect((await world.balance(token, payTo)) - payeeBefore).toBe(PRICE);
    const hash = bought.receipt?.transaction as `0x${string}`;
    const receipt = await world.client.getTransactionReceipt({ hash });
    expect(receipt.status).toBe('success');
    expect(getAddress(receipt.from)).toBe(getAddress(SIGNER.address));
  }

  it('pays by EIP-3009', () => purchase('report', world.usd));

  it('pays by Permit2 where the payer has approved it', () =>
    purchase('permit2', world.coin, (account) => approveWithGas(account)));

  it('pays by Permit2 with a sponsored approval', () => purchase('sponsored', world.usd));

  const tradeOf = (buyer: Hex, seller: Hex, calls: number) =>
    tradeByChannel({
      facilitatorUrl: service.url,
      rpcUrl: world.anvil.url,
      client: world.client,
      network: `eip155:${world.chainId}`,
      usd: world.usd,
      buyer,
      seller,
      calls,
    });

  it('pays many calls by a channel, which are claimed in one transaction', async () => {
    const calls = 20;
    const [buyer, seller] = [generatePrivateKey(), generatePrivateKey()];
    const [payer, receiver] = [privateKeyToAccount(buyer), privateKeyToAccount(seller)];
    await world.fund(payer.address, CALL_PRICE * BigInt(calls));

    const { transactions, gasEach } = await tradeOf(buyer, seller, calls);

    expect(transactions.map(({ what }) => what)).toEqual(['deposit', 'claim', 'payout']);
    expect(new Set(transactions.map(({ hash }) => hash)).size).toBe(3);
    expect(gasEach * calls).toBeGreaterThan(21_000 * 3);
    expect(await world.balance(world.usd, payer.address)).toBe(0n);
    expect(await world.balance(world.usd, receiver.address)).toBe(CALL_PRICE * BigInt(calls));
  });

  it('says which call by a channel was not paid, and why', async () => {
    await expect(tradeOf(generatePrivateKey(), generatePrivateKey(), 3)).rejects.toThrow(
      /^Call 1 was not paid: .*insufficient_balance/,
    );
  });

  it('pays by V1 at the route of the sandbox', async () => {
    const key = generatePrivateKey();
    await world.fund(privateKeyToAccount(key).address, PRICE);
    const url = `${sellerUrl}/v1/report`;
    const bought = await buyByV1(url, key);
    expect([bought.status, bought.body]).toEqual([200, expect.stringContaining('All is well.')]);
    const hash = bought.receipt?.transaction as `0x${string}`;
    expect((await world.client.getTransactionReceipt({ hash })).status).toBe('success');
    expect((await buyByV1(url, key)).body).toContain('insufficient');
    for (const nonsense of ['nonsense', Buffer.from('{}').toString('base64')]) {
      expect((await fetch(url, { headers: { 'x-payment': nonsense } })).status).toBe(402);
    }
  });

  async function approveWithGas(account: ReturnType<typeof privateKeyToAccount>): Promise<void> {
    await world.client.setBalance({ address: account.address, value: 10n ** 18n });
    await world.approvePermit2(account, world.coin, PRICE);
  }

  it('turns a buyer without money away with the reason', async () => {
    const bought = await stockBuyer(generatePrivateKey(), world.anvil.url).buy(
      `${sellerUrl}/report`,
    );
    expect([bought.status, bought.refusal]).toEqual([
      402,
      expect.stringContaining('insufficient_balance'),
    ]);
  });
});

describe('a V1 payment as BNB clients post it', () => {
  let world: World;
  let service: Service;

  beforeAll(async () => {
    world = await World.start({ chainId: 56, blockTime: 0.3 });
    service = await world.service();
  });
  afterAll(() => world.stop());

  it.each(['/v1', ''])('verifies and settles with network "bsc" at "%s"', async (base) => {
    const payer = await world.payer();
    const payTo = newAccount().address;
    const body = await v1Body({
      payer,
      chainId: 56,
      network: 'bsc',
      token: world.usd,
      payTo,
      amount: 5000n,
    });

    const verified = await post(`${service.url}${base}/verify`, body);
    expect(verified.status).toBe(200);
    expect(verified.body).toEqual({ isValid: true, payer: payer.address });

    const settled = await post(`${service.url}${base}/settle`, body);
    expect(settled.status).toBe(200);
    expect(settled.body).toMatchObject({ success: true, network: 'bsc', payer: payer.address });
    expect(await world.balance(world.usd, payTo)).toBe(5000n);
  });

  it('lists V1 kinds by short name at /v1, V2 kinds by CAIP-2 at /v2, both at the root', async () => {
    const kinds = async (base: string): Promise<unknown> =>
      ((await (await fetch(`${service.url}${base}/supported`)).json()) as { kinds: unknown }).kinds;
    const v1 = { x402Version: 1, scheme: 'exact', network: 'bsc' };
    const v2 = { x402Version: 2, scheme: 'exact', network: 'eip155:56' };
    expect(await kinds('/v1')).toEqual([v1]);
    const extra = { facilitatorAddress: SIGNER.address };
    const upto = { ...v2, scheme: 'upto', extra };
    const channels = { ...v2, scheme: 'batch-settlement' };
    expect(await kinds('/v2')).toEqual([v2, upto, channels]);
    expect(await kinds('')).toEqual([v2, upto, channels, v1]);
  });

  it('refuses a body of the other version as data', async () => {
    const body = await v1Body({
      payer: newAccount(),
      chainId: 56,
      network: 'bsc',
      token: world.usd,
      payTo: newAccount().address,
    });
    const verified = await post(`${service.url}/v2/verify`, body);
    expect(verified.status).toBe(200);
    expect(verified.body).toMatchObject({ isValid: false, invalidReason: 'invalid_x402_version' });
    const settled = await post(`${service.url}/v2/settle`, body);
    expect(settled.status).toBe(200);
    expect(settled.body).toMatchObject({
      success: false,
      errorReason: 'invalid_x402_version',
      transaction: '',
      network: 'bsc',
    });
  });
});
