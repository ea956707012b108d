import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/http.js';
import { GENERATIONS, mcpAgent } from './mcp-agents.js';
import { SERVERS, ToolSeller } from './tool-seller.js';
import { WalletWorld } from './wallet-world.js';

const ARGUMENTS = { city: 'Oslo' };

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
        ...{ url: seller.url(), tool: 'forecast', arguments: ARGUMENTS, maxAmount: '1', intentId },
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
      ...{ ...wanted, maxAmount: '0', intentId: 'price' },
    });
    expect([dear.isError, dear.data]).toMatchObject([
      true,
      { refusal: { rule: 'max_amount', error: expect.stringContaining('It costs 1 SUSD') } },
    ]);
    const bought = await agent.call('payment_call_tool', {
      ...{ ...wanted, maxAmount: '1', intentId: 'bought' },
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
    expect((await call(agent, 'lied')).body['status']).toBe('paid');
    expect((await seller.received()) - before).toBe(0);
    expect([seller.shown.size, await spent(agent)]).toEqual([1, '1']);
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
