import type { Server } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts';
import { type Buyer, stockBuyer } from '../../sandbox/buyer.js';
import { freePort } from '../../sandbox/processes.js';
import { demoSeller, listen, PRICE } from '../../sandbox/seller.js';
import type { Service } from '../../sandbox/service.js';
import { eventually } from '../support/http.js';
import { newAccount } from '../support/payments.js';
import { World } from '../support/world.js';

/** Through the stock middleware, which knows nothing of us but the URL. */
describe('a buyer whose first purchase did not end well', () => {
  let world: World;
  let service: Service;
  let seller: Server;
  let url: string;
  let buyer: Buyer;
  const payTo = newAccount().address;

  beforeEach(async () => {
    world = await World.start();
    service = await world.service({ SETTLE_WAIT_MS: '1500' });
    const port = await freePort();
    const network = `eip155:${world.chainId}` as const;
    const { usd, coin } = world;
    seller = await listen(
      demoSeller({ facilitatorUrl: service.url, network, payTo, usd, coin }),
      port,
    );
    url = `http://127.0.0.1:${port}/report`;
    const key = generatePrivateKey();
    await world.fund(privateKeyToAddress(key), PRICE);
    buyer = stockBuyer(key, world.anvil.url);
  });
  afterEach(async () => {
    seller.close();
    await world.stop();
  });

  const sendAgain = (): Promise<Response> =>
    fetch(url, { headers: { 'payment-signature': buyer.lastPayment ?? '' } });

  const isPaid = async (): Promise<boolean> => (await world.balance(world.usd, payTo)) === PRICE;

  it('gets the content for the same header once the payment has landed, and only once', async () => {
    await world.client.setAutomine(false);
    const first = await buyer.buy(url);
    expect(first.status).toBe(402);
    expect(first.receipt).toMatchObject({ success: false, errorReason: 'settlement_pending' });
    expect(first.receipt?.transaction).toMatch(/^0x[0-9a-f]{64}$/);

    await world.client.setAutomine(true);
    await world.client.mine({ blocks: 1 });
    await eventually('the payment has landed', isPaid);

    const second = await sendAgain();
    expect(second.status).toBe(200);
    expect(await second.json()).toMatchObject({ report: 'All is well.' });
    expect((await sendAgain()).status).toBe(402);
    expect(await isPaid()).toBe(true);
  });

  it('gets the content for the same header after the service was killed, and only once', async () => {
    await world.client.setAutomine(false);
    const failing = buyer.buy(url).catch(() => undefined);
    await eventually('sent', async () => (await world.client.getTxpoolStatus()).pending === 1);
    await service.stop('SIGKILL');
    await failing;

    await world.client.setAutomine(true);
    await world.client.mine({ blocks: 1 });
    expect(await isPaid()).toBe(true);
    service = await world.service({}, Number(new URL(service.url).port));

    await eventually('sold', async () => (await sendAgain()).status === 200, 15_000);
    expect((await sendAgain()).status).toBe(402);
    expect(await isPaid()).toBe(true);
  });
});
