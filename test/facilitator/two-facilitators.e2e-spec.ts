import { randomUUID } from 'node:crypto';
import {
  createServer,
  type IncomingMessage,
  request as requestTo,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { HTTPFacilitatorClient } from '@x402/core/server';
import type { PaymentPayload, PaymentRequirements } from '@x402/core/types';
import { ExactEvmScheme } from '@x402/evm/exact/server';
import { x402ResourceServer } from '@x402/express';
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAddress } from 'viem/accounts';
import { freePort } from '../../sandbox/processes.js';
import { type SandboxRedis, startRedis } from '../../sandbox/redis.js';
import { eip3009Body, newAccount } from '../support/payments.js';
import { World } from '../support/world.js';

/** The way to a facilitator. It notes what is asked, can be shut, and can lose answers of settles. */
class Way {
  asked: string[] = [];
  losesSettles = false;
  #server: Server | undefined;
  #port = 0;

  constructor(private readonly target: string) {}

  async open(): Promise<void> {
    const server = createServer((request, response) => {
      this.#pass(request, response);
    });
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve));
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  async shut(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }

  /** @param order - the idempotency key of every settle. */
  client(order: string): HTTPFacilitatorClient {
    const settle = { 'Idempotency-Key': order };
    return new HTTPFacilitatorClient({
      url: `http://127.0.0.1:${this.#port}`,
      timeoutMs: 25_000,
      createAuthHeaders: () => Promise.resolve({ verify: {}, settle, supported: {} }),
    });
  }

  #pass(request: IncomingMessage, response: ServerResponse): void {
    const { url: path = '', method, headers } = request;
    this.asked.push(path);
    const onwards = requestTo(this.target + path, { method, headers }, (answer) => {
      if (this.losesSettles && path === '/settle') {
        // The facilitator has answered, and its answer is lost.
        answer.resume().once('end', () => request.socket.destroy());
        return;
      }
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    request.pipe(onwards);
  }
}

/** What the stock resource server does with two facilitators; docs/sellers.md tells sellers. */
describe('a seller with two facilitators', () => {
  const payTo = newAccount().address;
  let world: World;
  /** The ledger of the second one. */
  let redis: SandboxRedis;
  let ways: readonly [Way, Way];
  let server: x402ResourceServer;
  let payer: PrivateKeyAccount;

  beforeAll(async () => {
    world = await World.start();
    redis = await startRedis(await freePort());
    payer = await world.payer();
    const others = { REDIS_URL: redis.url, SIGNER_KEYS: generatePrivateKey() };
    await world.client.setBalance({
      address: privateKeyToAddress(others.SIGNER_KEYS),
      value: 10n ** 18n,
    });
    const [first, second] = await Promise.all([world.service(), world.service(others)]);
    ways = [new Way(first.url), new Way(second.url)];
  });
  beforeEach(async () => {
    for (const way of ways) {
      await way.open();
      way.asked = [];
      way.losesSettles = false;
    }
    const order = randomUUID();
    server = new x402ResourceServer(ways.map((way) => way.client(order)));
    server.register(`eip155:${world.chainId}`, new ExactEvmScheme());
  });
  afterEach(async () => {
    for (const way of ways) await way.shut();
  });
  afterAll(async () => {
    await world.stop();
    await redis.stop('SIGKILL');
  });

  async function payment(): Promise<[PaymentPayload, PaymentRequirements]> {
    const { chainId, usd: token } = world;
    const body = await eip3009Body({ payer, chainId, token, payTo });
    return [body.paymentPayload as PaymentPayload, body.paymentRequirements as never];
  }
  const received = (): Promise<bigint> => world.balance(world.usd, payTo);

  it('takes the kinds of the second where the first is away at its start, and stays with it', async () => {
    const [first, second] = ways;
    await first.shut();
    await server.initialize();
    await first.open();
    const [payload, terms] = await payment();
    expect(await server.verifyPayment(payload, terms)).toMatchObject({ isValid: true });
    expect(await server.settlePayment(payload, terms)).toMatchObject({ success: true });
    expect(first.asked).toEqual([]);
    expect(second.asked).toEqual(['/supported', '/verify', '/settle']);
  });

  it('asks no second one where the first goes away later', async () => {
    const [first, second] = ways;
    await server.initialize();
    await first.shut();
    const [payload, terms] = await payment();
    await expect(server.verifyPayment(payload, terms)).rejects.toThrow('fetch failed');
    await expect(server.settlePayment(payload, terms)).rejects.toThrow('fetch failed');
    expect(second.asked).toEqual(['/supported']);
    await first.open();
    expect(await server.verifyPayment(payload, terms)).toMatchObject({ isValid: true });
  });

  it('is told the truth of a settle whose answer was lost by the same one, and pays once', async () => {
    const [first, second] = ways;
    await server.initialize();
    const [payload, terms] = await payment();
    const before = await received();
    first.losesSettles = true;
    await expect(server.settlePayment(payload, terms)).rejects.toThrow('fetch failed');
    first.losesSettles = false;
    expect((await received()) - before).toBe(BigInt(terms.amount));
    // Another request of the seller, as of a buyer that comes back with the payment.
    expect(await server.settlePayment(payload, terms)).toMatchObject({ success: true });
    expect((await received()) - before).toBe(BigInt(terms.amount));
    expect(second.asked).toEqual(['/supported']);
  });
});
