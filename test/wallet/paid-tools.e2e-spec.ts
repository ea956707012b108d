import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { USD_NAME, USD_VERSION } from '../../sandbox/deploy.js';
import { eventually, post } from '../support/http.js';
import { newAccount } from '../support/payments.js';
import { GENERATIONS, mcpAgent } from './mcp-agents.js';
import { SERVERS, ToolSeller } from './tool-seller.js';
import { WalletWorld } from './wallet-world.js';

const ARGUMENTS = { city: 'Oslo' };
const ONE = 10n ** 18n;

/** A message of JSON-RPC; one without an id wants no answer. */
interface Sent {
  readonly id?: unknown;
  readonly method: string;
  readonly params?: { readonly _meta?: Readonly<Record<string, unknown>> };
}

/**
 * Tools of other MCP servers. The reference's own wrapper for MCP is in no package registry: the seller is the
 * official server with the stock resource server, and answers as that wrapper does.
 */
describe('a paid tool of another MCP server', () => {
  let wallets: WalletWorld;
  let seller: ToolSeller;
  const servers: Server[] = [];

  beforeAll(async () => {
    wallets = await WalletWorld.start({ WALLET_FETCH_TIMEOUT_MS: '8000' });
    seller = await ToolSeller.start(wallets.world, wallets.url);
  });
  beforeEach(() => {
    seller.mischief = {};
    seller.shown.clear();
  });
  afterAll(async () => {
    seller.stop();
    for (const server of servers) {
      server.close();
      server.closeAllConnections();
    }
    await wallets.stop();
  });

  const call = (agent: string, intentId: string, more: Record<string, unknown> = {}) =>
    wallets.post(
      '/v1/wallets/me/payments/tool',
      {
        url: seller.url(),
        tool: 'forecast',
        arguments: ARGUMENTS,
        maxAmount: '1',
        intentId,
        ...more,
      },
      agent,
    );
  const spent = async (agent: string): Promise<string | undefined> => {
    const { body } = await wallets.send('GET', '/v1/wallets/me/policy', agent);
    return (body as { limits: { spent: { decimal: string } }[] }).limits[0]?.spent.decimal;
  };
  const statusOf = async (agent: string, intentId: string): Promise<unknown> =>
    (await wallets.send('GET', `/v1/wallets/me/payments/${intentId}`, agent)).body['status'];

  it.each(SERVERS)('is bought from an official server: %s', async (kind) => {
    const { agent } = await wallets.fundedWallet();
    const before = await seller.received();
    const url = seller.url(kind);
    const { status, body } = await call(agent, 'bought', { url });
    expect([status, body]).toMatchObject([
      200,
      { status: 'paid', url, method: 'tools/call forecast', httpStatus: 200 },
    ]);
    expect(JSON.parse(String(body['body']))).toEqual({
      content: [{ type: 'text', text: 'Rain in Oslo.' }],
    });
    expect(body['transaction']).toMatch(/^0x[0-9a-f]{64}$/);
    expect((await seller.received()) - before).toBe(1);
    expect(await spent(agent)).toBe('1');
  });

  it('ends the sessions that it has opened', () =>
    eventually('both calls have', () => Promise.resolve(seller.ended >= 2), 10_000));

  it.each(GENERATIONS)('is called by an agent over MCP of %s', async (generation) => {
    const { agent: token } = await wallets.fundedWallet();
    const agent = await mcpAgent(generation, 'HTTP', wallets.url, token);
    const wanted = { url: seller.url(), tool: 'forecast', arguments: ARGUMENTS };
    const dear = await agent.call('payment_call_tool', {
      ...wanted,
      maxAmount: '0',
      intentId: 'price',
    });
    expect([dear.isError, dear.data]).toMatchObject([
      true,
      { refusal: { rule: 'max_amount', error: expect.stringContaining('The price is 1 SUSD') } },
    ]);
    const bought = await agent.call('payment_call_tool', {
      ...wanted,
      maxAmount: '1',
      intentId: 'bought',
    });
    expect([bought.isError, bought.data['status']]).toEqual([false, 'paid']);
    await agent.close();
  });

  it('is paid once for one intent, whatever the order of the arguments', async () => {
    const { agent } = await wallets.fundedWallet();
    const more = { arguments: { city: 'Oslo', days: [{ a: 1, b: 2 }] } };
    const same = { arguments: { days: [{ b: 2, a: 1 }], city: 'Oslo' } };
    const before = await seller.received();
    const answers = await Promise.all([1, 2, 3].map(() => call(agent, 'same', more)));
    expect(answers.map(({ body }) => body['status'])).toEqual(['paid', 'paid', 'paid']);
    expect((await call(agent, 'same', same)).body['status']).toBe('paid');
    expect((await call(agent, 'same', { arguments: { city: 'Rome' } })).status).toBe(409);
    expect((await seller.received()) - before).toBe(1);
    expect(await spent(agent)).toBe('1');
  });

  it('is held to the rules, and to maxAmount', async () => {
    const { agent, ownerToken } = await wallets.fundedWallet();
    expect((await call(agent, 'dear', { maxAmount: '0.5' })).body['rule']).toBe('max_amount');
    await wallets.send('PUT', '/v1/wallets/me/policy', ownerToken, {
      ...wallets.rules({ otherPayees: false }),
    });
    expect((await call(agent, 'payee')).body['rule']).toBe('payee_not_listed');
    expect([seller.shown.size, await spent(agent)]).toEqual([0, '0']);
  });

  it('costs nothing where nothing is demanded, and says what is wrong with a call', async () => {
    const { agent } = await wallets.fundedWallet();
    const free = await call(agent, 'free', { tool: 'time', arguments: {} });
    expect(free.body).toMatchObject({ status: 'free', httpStatus: 200 });
    const unknown = await call(agent, 'unknown', { tool: 'nothing' });
    expect(unknown.body['status']).toBe('free');
    expect(Number(unknown.body['httpStatus'])).toBeGreaterThanOrEqual(400);
    const none = await call(agent, 'none', { url: `${wallets.url}/health/live` });
    expect(none.body['code']).toBe('fetch_failed');
    const inner = await call(agent, 'inner', { url: 'http://169.254.169.254/mcp' });
    expect(inner.body['code']).toBe('fetch_refused');
    expect(await spent(agent)).toBe('0');
  });

  it('that raises its price once it is paid gets no second payment', async () => {
    const { agent } = await wallets.fundedWallet();
    seller.mischief = { raisesTo: 5n * 10n ** 18n };
    expect((await call(agent, 'raised', { maxAmount: '10' })).body['status']).toBe('pending');
    expect((await call(agent, 'raised', { maxAmount: '10' })).body['status']).toBe('pending');
    expect([seller.shown.size, await spent(agent)]).toEqual([1, '1']);
  });

  it.each([
    ['demands payment twice', { demandsTwice: true }],
    ['answers nothing', { answers: 'nothing' }],
    ['answers too much', { answers: 'too much' }],
    ['answers what is too deep', { answers: 'garbage' }],
  ] as const)(
    'that has settled and %s is paid once, and the chain says so',
    async (_, mischief) => {
      const { agent } = await wallets.fundedWallet();
      const before = await seller.received();
      seller.mischief = mischief;
      const first = await call(agent, 'broken');
      expect(['pending', 'paid_without_content']).toContain(first.body['status']);
      await eventually(
        'the chain shows it',
        async () => (await statusOf(agent, 'broken')) === 'paid_without_content',
        30_000,
      );
      seller.mischief = {};
      expect(['paid', 'pending', 'paid_without_content']).toContain(
        (await call(agent, 'broken')).body['status'],
      );
      expect((await seller.received()) - before).toBe(1);
      expect([seller.shown.size, await spent(agent)]).toEqual([1, '1']);
    },
  );

  it('that lies of success has the payment, and the budget is charged until the chain shows it unused', async () => {
    const { agent } = await wallets.fundedWallet();
    const before = await seller.received();
    seller.mischief = { lies: true };
    const lied = await call(agent, 'lied');
    expect([lied.body['status'], lied.body['transaction']]).toEqual(['presented', undefined]);
    expect(await statusOf(agent, 'lied')).toBe('presented');
    expect((await seller.received()) - before).toBe(0);
    expect([seller.shown.size, await spent(agent)]).toEqual([1, '1']);
  });

  describe('that answers with an error and a receipt', () => {
    /** Speaks the protocol by hand: demands as an error, and answers what is paid for with another. */
    const broken = async (receiptOf: (payment: unknown) => Promise<unknown>) => {
      const payTo = newAccount().address;
      const requirements = {
        scheme: 'exact',
        network: `eip155:${wallets.world.chainId}`,
        amount: `${ONE}`,
        asset: wallets.world.usd,
        payTo,
        maxTimeoutSeconds: 60,
        extra: { name: USD_NAME, version: USD_VERSION },
      };
      const demand = { x402Version: 2, accepts: [requirements], resource: { url: 'mcp://tool' } };
      const state = { isMended: false, shown: new Set<string>() };
      const answerTo = async ({ method, params }: Sent): Promise<Record<string, unknown>> => {
        if (method === 'initialize') {
          const serverInfo = { name: 'broken', version: '1' };
          return { result: { protocolVersion: '2025-11-25', capabilities: {}, serverInfo } };
        }
        const paymentPayload = params?._meta?.['x402/payment'];
        const message = 'Payment required';
        if (paymentPayload === undefined) return { error: { code: 402, message, data: demand } };
        state.shown.add(JSON.stringify(paymentPayload));
        const settle = { x402Version: 2, paymentPayload, paymentRequirements: requirements };
        if (state.isMended) {
          const { body } = await post(`${wallets.url}/settle`, settle);
          const content = [{ type: 'text', text: 'Rain.' }];
          return { result: { content, _meta: { 'x402/payment-response': body } } };
        }
        const data = { 'x402/payment-response': await receiptOf(settle) };
        return { error: { code: -32_603, message: 'It broke.', data } };
      };
      const server = createServer((request, response) => {
        void json(request).then(async (sent) => {
          const { id } = sent as Sent;
          if (id === undefined) return response.writeHead(202).end();
          response.setHeader('content-type', 'application/json');
          const answer = await answerTo(sent as Sent);
          return response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
        });
      });
      servers.push(server);
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
      const received = () => wallets.world.balance(wallets.world.usd, payTo);
      return { url, state, received };
    };

    it('is paid, and said to be once the chain shows it: the error is what was bought', async () => {
      const { agent } = await wallets.fundedWallet();
      const tool = await broken(
        async (settle) => (await post(`${wallets.url}/settle`, settle)).body,
      );
      const first = await call(agent, 'error', { url: tool.url });
      expect(['pending', 'paid']).toContain(first.body['status']);
      await eventually(
        'the chain shows it',
        async () => (await statusOf(agent, 'error')) === 'paid',
        30_000,
      );
      const again = await call(agent, 'error', { url: tool.url });
      expect(again.body).toMatchObject({ status: 'paid', httpStatus: 400 });
      expect(String(again.body['body'])).toContain('It broke.');
      expect(again.body['transaction']).toMatch(/^0x[0-9a-f]{64}$/);
      expect([tool.state.shown.size, await tool.received()]).toEqual([1, ONE]);
    });

    it('and has not settled does not end the purchase: the same payment buys the answer', async () => {
      const { agent } = await wallets.fundedWallet();
      const lie = { success: true, transaction: `0x${'ab'.repeat(32)}` };
      const tool = await broken(() => Promise.resolve(lie));
      const first = await call(agent, 'lie', { url: tool.url });
      expect([first.body['status'], await tool.received()]).toEqual(['pending', 0n]);
      expect(await statusOf(agent, 'lie')).toBe('pending');
      tool.state.isMended = true;
      const second = await call(agent, 'lie', { url: tool.url });
      expect(second.body).toMatchObject({ status: 'paid', httpStatus: 200 });
      expect(String(second.body['body'])).toContain('Rain.');
      expect([tool.state.shown.size, await tool.received(), await spent(agent)]).toEqual([
        1,
        ONE,
        '1',
      ]);
    });
  });

  it('is waited for as long as any other answer, byte by byte too', async () => {
    const { agent } = await wallets.fundedWallet();
    const slow = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const timer = setInterval(() => response.write(':'), 50);
      response.on('close', () => {
        clearInterval(timer);
      });
    });
    servers.push(slow);
    await new Promise<void>((resolve) => slow.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(slow.address() as AddressInfo).port}/mcp`;
    const begun = Date.now();
    const answer = await call(agent, 'slow', { url });
    expect(answer.body['code']).toBe('fetch_failed');
    expect(Date.now() - begun).toBeLessThan(20_000);
  });

  it('is charged once where the wallet is killed between signing and answer', async () => {
    const { agent } = await wallets.fundedWallet();
    const before = await seller.received();
    const { service } = wallets;
    seller.mischief = { before: () => void service.stop('SIGKILL') };
    const facilitator = await wallets.another({ ROLES: 'api,worker' });
    const shop = await ToolSeller.start(wallets.world, facilitator.url);
    shop.mischief = seller.mischief;
    const url = shop.url();
    await expect(call(agent, 'killed', { url })).rejects.toThrow();
    shop.mischief = {};
    await wallets.restart();
    // What the first call was answered is lost with it; that it was paid is not.
    await call(agent, 'killed', { url });
    const ends = ['paid', 'paid_without_content'];
    await eventually(
      'it is known to be paid',
      async () => ends.includes(String(await statusOf(agent, 'killed'))),
      30_000,
    );
    expect([shop.shown.size, await shop.received(), await spent(agent)]).toEqual([1, 1, '1']);
    expect((await seller.received()) - before).toBe(0);
    shop.stop();
    await facilitator.stop();
  });
});
