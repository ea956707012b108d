import type { Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort } from '../../sandbox/processes.js';
import { demoSeller, listen } from '../../sandbox/seller.js';
import { ApiDescription } from '../support/api-description.js';
import { type Answer, get, post } from '../support/http.js';
import { newAccount } from '../support/payments.js';
import { ADMIN_KEY, signed, WalletWorld } from './wallet-world.js';

describe('the description of the wallet at /openapi.json', () => {
  let wallets: WalletWorld;
  let seller: Server;
  let report: string;
  let api: ApiDescription;
  let agent: string;
  let ownerToken: string;

  beforeAll(async () => {
    wallets = await WalletWorld.start();
    const { usd, coin, chainId } = wallets.world;
    const port = await freePort();
    const network = `eip155:${chainId}` as const;
    const payTo = newAccount().address;
    const app = demoSeller({ facilitatorUrl: wallets.url, network, payTo, usd, coin });
    seller = await listen(app, port);
    report = `http://127.0.0.1:${port}/report`;
    api = new ApiDescription((await get(`${wallets.url}/openapi.json`)).body);
    ({ agent, ownerToken } = await wallets.fundedWallet());
  });
  afterAll(async () => {
    seller.close();
    seller.closeAllConnections();
    await wallets.stop();
  });

  /** The answer has this status and is as described for it. */
  const expectDescribed = (method: string, path: string, status: number, answer: Answer): void => {
    const problems = api.problemsOf(method, path, answer.status, answer.body);
    expect([method, path, answer.status, problems]).toEqual([method, path, status, []]);
  };
  const send = (method: string, path: string, body?: unknown, token = agent): Promise<Answer> =>
    wallets.send(method, path, token === '' ? undefined : token, body);

  it('is true of signing in', async () => {
    const owner = newAccount();
    const begun = await send('POST', '/v1/init', true, '');
    expectDescribed('post', '/v1/init', 200, begun);
    const code = String(begun.body['user_code']);
    const device = { code: String(begun.body['code']) };
    const status = `/v1/status?code=${device.code}`;
    expectDescribed('get', '/v1/status', 200, await send('GET', status, undefined, ''));
    const asked = await send('POST', '/v1/approve/nonce', { code, address: owner.address }, '');
    expectDescribed('post', '/v1/approve/nonce', 200, asked);
    const approval = { code, ...(await signed(owner, String(asked.body['message']))) };
    expectDescribed('post', '/v1/approve', 200, await send('POST', '/v1/approve', approval, ''));
    expectDescribed('post', '/v1/approve', 401, await send('POST', '/v1/approve', approval, ''));
    const late = await send('POST', '/v1/approve/nonce', { code, address: owner.address }, '');
    expectDescribed('post', '/v1/approve/nonce', 409, late);
    const collected = await send('POST', '/v1/status', device, '');
    expect(collected.body['token']).toMatch(/^ey/);
    expectDescribed('post', '/v1/status', 200, collected);
    expectDescribed('post', '/v1/status', 400, await send('POST', '/v1/status', {}, ''));
    expectDescribed(
      'get',
      '/v1/status',
      404,
      await send('GET', '/v1/status?code=x', undefined, ''),
    );

    const nonce = await send('POST', '/v1/login/nonce', { address: owner.address }, '');
    expectDescribed('post', '/v1/login/nonce', 200, nonce);
    const login = await wallets.signedLogin(owner);
    const loggedIn = await send('POST', '/v1/login', login, '');
    expectDescribed('post', '/v1/login', 200, loggedIn);
    expectDescribed('post', '/v1/login', 401, await send('POST', '/v1/login', login, ''));
    expectDescribed('post', '/v1/login', 400, await send('POST', '/v1/login', { a: 1 }, ''));
    const all = '/v1/logout/all';
    const agentToken = String(collected.body['token']);
    expectDescribed('post', all, 403, await send('POST', all, undefined, agentToken));
    expectDescribed('post', '/v1/logout', 200, await send('POST', '/v1/logout', {}, agentToken));
    expectDescribed('post', '/v1/logout', 401, await send('POST', '/v1/logout', {}, agentToken));
    const token = String(loggedIn.body['token']);
    expectDescribed('post', all, 200, await send('POST', all, undefined, token));
  });

  it('is true of a purchase and of what can be looked up', async () => {
    const me = '/v1/wallets/me';
    const quote = { url: report };
    expect(api.requestProblems('post', `${me}/payments/quote`, quote)).toEqual([]);
    const quoted = await send('POST', `${me}/payments/quote`, quote);
    expectDescribed('post', `${me}/payments/quote`, 200, quoted);
    const purchase = { url: report, maxAmount: '0.10', intentId: 'one' };
    expect(api.requestProblems('post', `${me}/payments`, purchase)).toEqual([]);
    expect(api.requestProblems('post', `${me}/payments`, { ...purchase, more: 1 })).not.toEqual([]);
    const bought = await send('POST', `${me}/payments`, purchase);
    expect(bought.body['status']).toBe('paid');
    expectDescribed('post', `${me}/payments`, 200, bought);
    const other = { ...purchase, url: `${report}?other` };
    expectDescribed('post', `${me}/payments`, 409, await send('POST', `${me}/payments`, other));
    const dear = { ...purchase, intentId: 'dear', maxAmount: '0.01' };
    expectDescribed('post', `${me}/payments`, 403, await send('POST', `${me}/payments`, dear));
    expectDescribed('post', `${me}/payments`, 400, await send('POST', `${me}/payments`, {}));
    const large = { ...purchase, body: 'x'.repeat(1_100_000) };
    expectDescribed('post', `${me}/payments`, 413, await send('POST', `${me}/payments`, large));
    const away = { ...purchase, intentId: 'away', url: report.replace('report', 'none') };
    expectDescribed('post', `${me}/payments`, 200, await send('POST', `${me}/payments`, away));
    const one = `${me}/payments/{intentId}`;
    expectDescribed('get', one, 200, await send('GET', `${me}/payments/one`));
    expectDescribed('get', one, 404, await send('GET', `${me}/payments/two`));
    expectDescribed('get', `${me}/payments`, 200, await send('GET', `${me}/payments?limit=5`));
    expectDescribed('get', `${me}/payments`, 400, await send('GET', `${me}/payments?limit=a`));
    expectDescribed('get', me, 200, await send('GET', me));
    expectDescribed('get', me, 401, await send('GET', me, undefined, ''));
    expectDescribed('get', `${me}/balance`, 200, await send('GET', `${me}/balance`));
  });

  it('is true of rules and of the rpc', async () => {
    const path = '/v1/wallets/me/policy';
    const rules = wallets.rules();
    expect(api.requestProblems('put', path, rules)).toEqual([]);
    expect(api.requestProblems('put', path, { ...rules, limits: 1 })).not.toEqual([]);
    expectDescribed('put', path, 403, await send('PUT', path, rules));
    expectDescribed('put', path, 400, await send('PUT', path, { limits: 1 }, ownerToken));
    expectDescribed('put', path, 200, await send('PUT', path, rules, ownerToken));
    const owner = newAccount().address;
    const byAdmin = await send('PUT', `${path}?owner=${owner}`, rules, ADMIN_KEY);
    expectDescribed('put', path, 200, byAdmin);
    expectDescribed('get', path, 200, await send('GET', path));
    const { body: answered } = await send('GET', path);
    expect(api.requestProblems('put', path, answered)).toEqual([]);
    const back = await send('PUT', path, { ...answered, windowHours: 48 }, ownerToken);
    expectDescribed('put', path, 200, back);
    expect(back.body).toEqual({
      ...answered,
      revision: Number(answered['revision']) + 1,
      windowHours: 48,
    });
    // They were made from rules that are no longer in force.
    const stale = await send('PUT', path, answered, ownerToken);
    expectDescribed('put', path, 409, stale);
    expect((await send('GET', path)).body).toEqual(back.body);
    const rpc = '/v1/wallets/me/rpc';
    const caip2 = `eip155:${wallets.world.chainId}`;
    const balance = { method: 'eth_getBalance', caip2, params: {} };
    expect(api.requestProblems('post', rpc, balance)).toEqual([]);
    expectDescribed('post', rpc, 200, await send('POST', rpc, balance));
    const sign = { method: 'personal_sign', params: { message: 'hello' } };
    expectDescribed('post', rpc, 403, await send('POST', rpc, sign));
    expectDescribed('post', rpc, 400, await send('POST', rpc, { method: 'eth_accounts' }));
    const stop = '/v1/wallets/me/stop';
    expectDescribed('post', stop, 200, await send('POST', stop));
  });

  it('is true of payments that wait for their owner', async () => {
    const buyer = await wallets.fundedWallet();
    const policy = '/v1/wallets/me/policy';
    const asset = `eip155:${wallets.world.chainId}/${wallets.world.usd}`;
    const rules = { limits: [{ asset, perPayment: '9', budget: '9', askAbove: '0' }] };
    expect(api.requestProblems('put', policy, rules)).toEqual([]);
    const most = `${10n ** 18n}`;
    const limit = { asset, perPayment: most, budget: most, askAbove: '0' };
    const set = await send('PUT', policy, { limits: [limit] }, buyer.ownerToken);
    expectDescribed('put', policy, 200, set);
    const purchase = { url: report, maxAmount: '0.10', intentId: 'asked' };
    const payments = '/v1/wallets/me/payments';
    const waiting = await send('POST', payments, purchase, buyer.agent);
    expect(waiting.body['status']).toBe('awaiting_owner');
    expectDescribed('post', payments, 200, waiting);
    const asks = '/v1/wallets/me/asks';
    const listed = await send('GET', asks, undefined, buyer.agent);
    expectDescribed('get', asks, 200, listed);
    const [{ ask } = { ask: '' }] = (listed.body as { asks: { ask: string }[] }).asks;
    const one = '/v1/asks/{ask}';
    expectDescribed('get', one, 200, await send('GET', `/v1/asks/${ask}`, undefined, ''));
    expectDescribed('get', one, 404, await send('GET', '/v1/asks/none', undefined, ''));
    const asking = (address: string) => send('POST', `/v1/asks/${ask}/nonce`, { address }, '');
    expectDescribed('post', `${one}/nonce`, 403, await asking(newAccount().address));
    expectDescribed('post', `${one}/nonce`, 400, await asking('nobody'));
    const nonce = await asking(buyer.owner.address);
    expectDescribed('post', `${one}/nonce`, 200, nonce);
    const approval = await signed(buyer.owner, String(nonce.body['message']));
    const forged = { ...approval, signature: `0x${'11'.repeat(65)}` };
    const approving = (sent: unknown) => send('POST', `/v1/asks/${ask}/approve`, sent, '');
    expectDescribed('post', `${one}/approve`, 401, await approving(forged));
    expectDescribed('post', `${one}/approve`, 200, await approving(approval));
    expectDescribed('post', `${one}/approve`, 409, await approving(approval));
    const denied = await send('POST', `/v1/asks/${ask}/deny`, undefined, '');
    expectDescribed('post', `${one}/deny`, 200, denied);
    expectDescribed('get', one, 200, await send('GET', `/v1/asks/${ask}`, undefined, ''));
    expectDescribed('post', payments, 403, await send('POST', payments, purchase, buyer.agent));
  });

  it('is true of calls of tools', async () => {
    const path = '/v1/wallets/me/payments/tool';
    const call = { url: report, tool: 'forecast', maxAmount: '0.10', intentId: 'tool' };
    expect(api.requestProblems('post', path, { ...call, arguments: { city: 'Oslo' } })).toEqual([]);
    expect(api.requestProblems('post', path, { ...call, tool: 'a b' })).not.toEqual([]);
    expectDescribed('post', path, 400, await send('POST', path, { ...call, tool: 'a b' }));
    expectDescribed('post', path, 401, await send('POST', path, call, ''));
    // A page is no MCP server, and what is not public is not asked.
    expectDescribed('post', path, 502, await send('POST', path, call));
    const inner = { ...call, url: 'http://169.254.169.254/mcp' };
    const { status } = await send('POST', path, inner);
    expectDescribed('post', path, status, await send('POST', path, inner));
  });

  it('is true of the tokens of an owner', async () => {
    const holder = await wallets.fundedWallet();
    const tokens = '/v1/wallets/me/tokens';
    const listed = await send('GET', tokens, undefined, holder.ownerToken);
    expectDescribed('get', tokens, 200, listed);
    expectDescribed('get', tokens, 403, await send('GET', tokens, undefined, holder.agent));
    expectDescribed('get', tokens, 401, await send('GET', tokens, undefined, ''));
    interface Listed {
      tokens: { id: string; role: string }[];
    }
    const agents = (listed.body as unknown as Listed).tokens.find(({ role }) => role === 'agent');
    const end = (id: string, token: string) => send('DELETE', `${tokens}/${id}`, undefined, token);
    const one = `${tokens}/{id}`;
    expectDescribed('delete', one, 403, await end(agents?.id ?? '', holder.agent));
    expectDescribed('delete', one, 404, await end('none', holder.ownerToken));
    expectDescribed('delete', one, 200, await end(agents?.id ?? '', holder.ownerToken));
    expect((await send('GET', '/v1/wallets/me', undefined, holder.agent)).status).toBe(401);
  });

  it('is true of passkeys, off and on', async () => {
    const state = '/v1/passkeys';
    const made = { id: 'AAAA', attestationObject: 'oA', clientDataJSON: 'e30' };
    const options = `${state}/options`;
    expectDescribed('get', state, 200, await send('GET', state, undefined, ''));
    expectDescribed('post', options, 404, await send('POST', options, undefined, ''));
    expect(api.requestProblems('post', state, made)).toEqual([]);
    expectDescribed('post', state, 404, await send('POST', state, made, ''));
    const service = await wallets.another({
      ROLES: 'wallet',
      WALLET_PASSKEYS: 'true',
      WALLET_PUBLIC_URL: 'http://localhost',
    });
    const asked = (path: string, body: unknown) => post(`${service.url}${path}`, body);
    expectDescribed('post', options, 200, await asked(options, {}));
    expectDescribed('post', state, 401, await asked(state, made));
    expectDescribed('post', state, 400, await asked(state, { ...made, more: 1 }));
    const find = `${state}/find`;
    expect(api.requestProblems('post', find, { id: 'AAAA' })).toEqual([]);
    expectDescribed('post', find, 404, await asked(find, { id: 'AAAA' }));
    expectDescribed('post', find, 400, await asked(find, { id: '' }));
    await service.stop('SIGTERM');
  });

  it('describes /mcp, whose answers are messages of the protocol', async () => {
    expectDescribed('post', '/mcp', 401, await send('POST', '/mcp', {}, ''));
    expectDescribed('post', '/mcp', 403, await send('POST', '/mcp', {}, ownerToken));
    expectDescribed('post', '/mcp', 400, await send('POST', '/mcp', []));
    expectDescribed('post', '/mcp', 405, await send('GET', '/mcp'));
  });

  it('says nothing of the wallet where it does not run', async () => {
    const service = await wallets.another({ WALLET_PROVIDER: 'off' });
    const { paths } = new ApiDescription((await get(`${service.url}/openapi.json`)).body);
    const own = Object.keys(api.paths).filter((path) => !Object.hasOwn(paths, path));
    expect(own).toContain('/mcp');
    expect(own.filter((path) => !/^\/(mcp$|mcp\/token$|v1\/|oauth\/)/.test(path))).toEqual([]);
    expect(Object.keys(paths).some((path) => path.startsWith('/v1/wallets'))).toBe(false);
  });
});
