import { createServer, type Server } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect } from '@jest/globals';
import { Redis } from 'ioredis';
import { type Address, getAddress, type Hex } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { type SandboxAccount, sandboxAccount } from '../../sandbox/accounts.js';
import { type Buyer, stockBuyer } from '../../sandbox/buyer.js';
import { freePort } from '../../sandbox/processes.js';
import { demoSeller, listen, PRICE } from '../../sandbox/seller.js';
import type { Service } from '../../sandbox/service.js';
import { mint } from '../../sandbox/tokens.js';
import { listKey } from '../../src/settlement/ledger/keys.js';
import { deployMoody, setMood } from '../support/hostile-tokens.js';
import { type Answer, eventually, get, post } from '../support/http.js';
import { deep, it } from '../support/part.js';
import { type Body, charging, eip3009Body, newAccount, uptoBody } from '../support/payments.js';
import { World } from '../support/world.js';

const MAXIMUM = 1000n;

/** Those who fund payers have one line of account nonces. */
async function oneByOne<T>(count: number, make: (index: number) => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  for (let index = 0; index < count; index += 1) made.push(await make(index));
  return made;
}

describe('the scheme upto', () => {
  let world: World;
  const payTo = newAccount().address;
  const [one, two] = [sandboxAccount(0), sandboxAccount(11)];
  let database = 0;
  const services: Service[] = [];

  beforeAll(async () => {
    world = await World.start({ blockTime: 0.3 });
  });
  afterAll(() => world.stop());

  const stopServices = async (): Promise<void> => {
    await Promise.all(services.splice(0).map((service) => service.stop('SIGKILL')));
  };

  /** Services that share a ledger of their own. */
  async function aService(more: Record<string, string> = {}): Promise<Service> {
    const service = await world.service({
      REDIS_URL: `${world.redis.url}/${database}`,
      SIGNER_KEYS: `${one.key},${two.key}`,
      ...more,
    });
    services.push(service);
    return service;
  }
  function anotherLedger(): void {
    database += 1;
  }

  const settle = ({ url }: Service, body: Body): Promise<Answer> => post(`${url}/settle`, body);
  const verify = ({ url }: Service, body: Body): Promise<Answer> => post(`${url}/verify`, body);

  async function aBody(
    { address: facilitator }: Pick<SandboxAccount, 'address'>,
    charged?: string,
    more: { validFor?: number } = {},
  ): Promise<Body> {
    const payer = await world.payer({ approves: true });
    const { chainId, coin: token } = world;
    const options = { payer, chainId, token, payTo: newAccount().address, facilitator };
    return uptoBody({ ...options, ...more, amount: MAXIMUM, ...(charged && { charged }) });
  }

  const paidTo = ({ paymentRequirements: { asset, payTo: payee } }: Body): Promise<bigint> =>
    world.balance(asset as Address, payee as Address);

  async function senderOf({ body }: Answer): Promise<Address> {
    const hash = body['transaction'] as Hex;
    return getAddress((await world.client.getTransaction({ hash })).from);
  }

  describe('with the stock client and the stock seller', () => {
    let seller: Server;
    let sellerUrl: string;
    let buyer: Buyer;
    let payer: Address;

    beforeAll(async () => {
      anotherLedger();
      const { url: facilitatorUrl } = await aService();
      const network = `eip155:${world.chainId}` as const;
      const port = await freePort();
      const { usd, coin } = world;
      seller = await listen(demoSeller({ facilitatorUrl, network, payTo, usd, coin }), port);
      sellerUrl = `http://127.0.0.1:${port}`;
    });
    beforeEach(async () => {
      const key = generatePrivateKey();
      payer = privateKeyToAccount(key).address;
      await world.fund(payer, PRICE);
      buyer = stockBuyer(key, world.anvil.url);
    });
    afterAll(async () => {
      seller.close();
      seller.closeAllConnections();
      await stopServices();
    });

    // The buyer has approved nothing: its permit for the maximum is presented with the payment.
    it.each<[string, string, bigint]>([
      ['the maximum where nothing is said', 'all', PRICE],
      ['a share', '40%', (PRICE * 4n) / 10n],
      ['an amount', '12345', 12_345n],
      ['the maximum itself', PRICE.toString(), PRICE],
    ])('charges %s', async (_, charge, charged) => {
      const before = await world.balance(world.usd, payTo);
      const bought = await buyer.buy(`${sellerUrl}/upto?charge=${encodeURIComponent(charge)}`);
      expect(bought.status).toBe(200);
      expect(bought.receipt).toMatchObject({ success: true, amount: charged.toString(), payer });
      expect((await world.balance(world.usd, payTo)) - before).toBe(charged);
      expect(await world.balance(world.usd, payer)).toBe(PRICE - charged);
      // The same header once more buys nothing.
      const again = await fetch(`${sellerUrl}/upto?charge=1`, {
        headers: { 'payment-signature': buyer.lastPayment ?? '' },
      });
      expect(again.status).toBe(402);
      expect((await world.balance(world.usd, payTo)) - before).toBe(charged);
    });

    it('delivers what costs nothing without a transaction, once', async () => {
      const bought = await buyer.buy(`${sellerUrl}/upto?charge=0`);
      expect(bought.status).toBe(200);
      expect(bought.receipt).toMatchObject({ success: true, amount: '0', transaction: '' });
      expect(await world.balance(world.usd, payer)).toBe(PRICE);
      for (const charge of ['0', 'all']) {
        const again = await fetch(`${sellerUrl}/upto?charge=${charge}`, {
          headers: { 'payment-signature': buyer.lastPayment ?? '' },
        });
        expect(again.status).toBe(402);
      }
      expect(await world.balance(world.usd, payer)).toBe(PRICE);
    });

    it.each([
      ['above the maximum', (PRICE + 1n).toString()],
      ['garbage', 'ten'],
      ['a negative amount', '-5'],
    ])('charges nothing where the seller asks for %s', async (_, charge) => {
      const bought = await buyer.buy(`${sellerUrl}/upto?charge=${charge}`);
      expect(bought.status).toBe(402);
      expect(await world.balance(world.usd, payer)).toBe(PRICE);
    });
  });

  describe('asked directly', () => {
    let service: Service;
    beforeAll(async () => {
      anotherLedger();
      service = await aService();
    });
    afterAll(stopServices);

    it('verifies the maximum, settles less, and says how it stands', async () => {
      const body = await aBody(one);
      const payer = expect.stringMatching(/^0x/);
      expect((await verify(service, body)).body).toEqual({ isValid: true, payer });
      expect((await verify(service, charging(body, '400'))).body).toMatchObject({
        invalidReason: 'permit2_amount_mismatch',
      });
      const settled = await settle(service, charging(body, '400'));
      expect(settled.body).toMatchObject({ success: true, amount: '400' });
      expect(await paidTo(body)).toBe(400n);
      const id = settled.headers.get('settlement-id') ?? '';
      const network = `eip155:${world.chainId}`;
      const status = await get(`${service.url}/v2/settlements/${id}?network=${network}`);
      expect(status.body).toMatchObject({ paid: true, payment: { scheme: 'upto', amount: '400' } });
    });

    it('settles the amount of the first that asks, and no other, also at once', async () => {
      const body = await aBody(one);
      const amounts = ['100', '200', '300', '400', '500', '100', '200', '300'];
      const answers = await Promise.all(
        amounts.map((amount) => settle(service, charging(body, amount))),
      );
      const successes = answers.filter((answer) => answer.body['success']);
      expect(successes).toHaveLength(1);
      expect(await paidTo(body)).toBe(BigInt(successes[0]?.body['amount'] as string));
      const others = answers.filter((answer) => !answer.body['success']);
      expect(new Set(others.map((answer) => answer.body['errorReason']))).toEqual(
        new Set(['duplicate_settlement']),
      );
      expect((await settle(service, charging(body, '0'))).body).toMatchObject({
        errorReason: 'duplicate_settlement',
      });
    });

    it('never settles for more what was settled for nothing', async () => {
      const body = await aBody(one);
      const free = await settle(service, charging(body, '0'));
      expect(free.body).toMatchObject({ success: true, amount: '0', transaction: '' });
      const more = await settle(service, charging(body, '400'));
      expect(more.body).toMatchObject({
        success: false,
        errorReason: 'duplicate_settlement',
        transaction: '',
      });
      expect((await verify(service, body)).body).toMatchObject({
        invalidReason: 'duplicate_settlement',
      });
      expect(await paidTo(body)).toBe(0n);
    });

    deep('refuses what it cannot collect, with the reason', async () => {
      const stranger = await aBody(newAccount());
      const mismatch = { invalidReason: 'upto_facilitator_mismatch' };
      expect((await verify(service, stranger)).body).toMatchObject(mismatch);
      expect((await settle(service, charging(stranger, '0'))).body).toMatchObject({
        errorReason: 'upto_facilitator_mismatch',
      });
      const above = await settle(service, await aBody(one, '1001'));
      expect(above.body).toMatchObject({
        errorReason: 'invalid_upto_evm_payload_settlement_exceeds_amount',
      });
      // A handler that took longer than the payment is good for.
      const late = await aBody(one, '5', { validFor: 8 });
      expect((await verify(service, charging(late, '1000'))).body).toMatchObject({ isValid: true });
      await new Promise((resolve) => setTimeout(resolve, 3000));
      expect((await settle(service, late)).body).toMatchObject({
        success: false,
        errorReason: 'permit2_deadline_expired',
        transaction: '',
      });
    });

    it('settles what the payer still has, though it is less than the maximum', async () => {
      const payer = await world.payer({ balance: 500n, approves: true });
      const { chainId, coin: token } = world;
      const facilitator = one.address;
      const options = { payer, chainId, token, payTo: newAccount().address, facilitator };
      const body = await uptoBody({ ...options, amount: MAXIMUM });
      expect((await verify(service, body)).body).toMatchObject({
        invalidReason: 'permit2_insufficient_balance',
      });
      expect((await settle(service, charging(body, '500'))).body).toMatchObject({ success: true });
      expect(await paidTo(body)).toBe(500n);
    });
  });

  describe('on the lane that it names', () => {
    afterEach(stopServices);

    it('is sent by that signer alone, beside payments that any lane may send', async () => {
      anotherLedger();
      const service = await aService();
      const { chainId, usd: token } = world;
      const bound = await oneByOne(12, async (index) => {
        const lane = index % 3 === 0 ? one : two;
        return { lane, body: await aBody(lane, `${100 + index}`) };
      });
      const free = await oneByOne(6, async () =>
        eip3009Body({ payer: await world.payer(), chainId, token, payTo }),
      );
      const [answers, others] = await Promise.all([
        Promise.all(bound.map(({ body }) => settle(service, body))),
        Promise.all(free.map((body) => settle(service, body))),
      ]);
      for (const [index, answer] of answers.entries()) {
        const { lane, body } = bound[index] ?? { lane: one, body: answer.body as never };
        expect(answer.body).toMatchObject({ success: true, amount: `${100 + index}` });
        expect(await senderOf(answer)).toBe(getAddress(lane.address));
        expect(await paidTo(body)).toBe(BigInt(100 + index));
      }
      expect(others.map(({ body }) => body['success'])).toEqual(others.map(() => true));
    });

    deep('is settled although a worker dies, by the next one that holds the lane', async () => {
      anotherLedger();
      const api = await aService({ ROLES: 'api' });
      const workers = [await aService({ ROLES: 'worker' }), await aService({ ROLES: 'worker' })];
      const bodies = await oneByOne(16, (index) => aBody(index % 2 === 0 ? one : two, '300'));
      const settling = Promise.all(bodies.map((body) => settle(api, body)));
      await new Promise((resolve) => setTimeout(resolve, 250));
      await workers[0]?.stop('SIGKILL');
      const answers = await settling;
      for (const [index, answer] of answers.entries()) {
        expect(answer.body).toMatchObject({ success: true, amount: '300' });
        const lane = index % 2 === 0 ? one : two;
        expect(await senderOf(answer)).toBe(getAddress(lane.address));
      }
      const paid = await Promise.all(bodies.map(paidTo));
      expect(paid).toEqual(bodies.map(() => 300n));
    });

    deep(
      'waits while that lane is paused, is told so in time, and is settled afterwards',
      async () => {
        anotherLedger();
        const service = await aService({ SETTLE_WAIT_MS: '1500' });
        const redis = new Redis(`${world.redis.url}/${database}`);
        const paused = listKey(world.chainId, 'paused');
        await redis.hset(paused, one.address.toLowerCase(), '{}');
        const body = await aBody(one, '300');
        const begun = Date.now();
        expect((await settle(service, body)).body).toMatchObject({
          success: false,
          errorReason: 'settlement_not_sent',
          transaction: '',
        });
        expect(Date.now() - begun).toBeLessThan(3000);
        // The other lane is not kept from its work, and does not take it.
        expect((await settle(service, await aBody(two, '300'))).body).toMatchObject({
          success: true,
        });
        expect(await paidTo(body)).toBe(0n);
        await redis.hdel(paused, one.address.toLowerCase());
        redis.disconnect();
        await eventually('settled', async () => {
          const answer = await settle(service, body);
          return answer.body['success'] === true;
        });
        expect(await paidTo(body)).toBe(300n);
      },
    );

    deep(
      'is served by a signer that retires, which is offered no more and takes nothing else',
      async () => {
        anotherLedger();
        const service = await aService({ RETIRING_SIGNERS: one.address });
        const { body } = await get(`${service.url}/supported`);
        expect(body).toMatchObject({ signers: { 'eip155:*': [two.address] } });
        expect(JSON.stringify(body)).not.toContain(one.address);
        const { chainId, usd: token } = world;
        const others = await oneByOne(4, async () =>
          settle(service, await eip3009Body({ payer: await world.payer(), chainId, token, payTo })),
        );
        for (const answer of others) expect(await senderOf(answer)).toBe(getAddress(two.address));
        const bound = await aBody(one);
        expect((await verify(service, bound)).body).toMatchObject({ isValid: true });
        const settled = await settle(service, charging(bound, '300'));
        expect(settled.body).toMatchObject({ success: true, amount: '300' });
        expect(await senderOf(settled)).toBe(getAddress(one.address));
      },
    );
  });

  describe('for a token that nobody vouches for', () => {
    const unsafe = { BATCH_SAFE_ASSETS: `eip155:1/${newAccount().address}` };
    afterEach(stopServices);

    it('is proved before it is sent', async () => {
      anotherLedger();
      const service = await aService(unsafe);
      const body = await aBody(one);
      expect((await verify(service, body)).body).toMatchObject({ isValid: true });
      const settled = await settle(service, charging(body, '300'));
      expect(settled.body).toMatchObject({ success: true, amount: '300' });
    });

    deep('is proved from its own account on a node without eth_simulateV1', async () => {
      anotherLedger();
      const node = await aNodeWithout('eth_simulateV1', world.anvil.url);
      const service = await aService({ ...unsafe, [`RPC_URLS_${world.chainId}`]: node.url });
      const body = await aBody(one);
      expect((await verify(service, body)).body).toMatchObject({ isValid: true });
      const settled = await settle(service, charging(body, '300'));
      expect(settled.body).toMatchObject({ success: true, amount: '300' });
      // A token that takes the call and moves nothing is found out.
      const token = await deployMoody(world.client, 'does_nothing');
      const payer = await world.payer();
      await world.client.setBalance({ address: payer.address, value: 10n ** 18n });
      await mint(world.client, token, payer.address, 10n ** 24n);
      await world.approvePermit2(payer, token, 10n ** 24n);
      const { chainId } = world;
      const idle = await uptoBody({ payer, chainId, token, payTo, facilitator: one.address });
      expect((await verify(service, idle)).body).toMatchObject({
        isValid: false,
        invalidReason: 'permit2_simulation_failed',
      });
      await setMood(world.client, token, 'honest');
      expect((await verify(service, idle)).body).toMatchObject({ isValid: true });
      node.close();
    });
  });
});

interface Node {
  readonly url: string;
  close(): void;
}

/** The same node without one of its methods. */
async function aNodeWithout(method: string, url: string): Promise<Node> {
  const refuse = ({ id }: { id?: unknown }): object => ({
    jsonrpc: '2.0',
    id,
    error: { code: -32_601, message: 'the method does not exist' },
  });
  const forward = async (call: { method?: string; id?: unknown }): Promise<unknown> =>
    call.method === method ? refuse(call) : (await post(url, call)).body;
  const server = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const calls = JSON.parse(Buffer.concat(chunks).toString()) as object;
      const answer = Array.isArray(calls)
        ? await Promise.all(calls.map((call: object) => forward(call)))
        : await forward(calls);
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(answer));
    })();
  });
  const port = await freePort();
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
