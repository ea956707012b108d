import { spawn } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { request as rawRequest, type Server } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { freePort } from '../../sandbox/processes.js';
import { demoSeller, listen } from '../../sandbox/seller.js';
import { eventually } from '../support/http.js';
import { newAccount } from '../support/payments.js';
import {
  GENERATIONS,
  heard,
  type McpAgent,
  mcpAgent,
  STDIO,
  type ToolResult,
  TRANSPORTS,
} from './mcp-agents.js';
import { ADMIN_KEY, WalletWorld } from './wallet-world.js';

const ONE = 10n ** 18n;
const EVERY_WAY = GENERATIONS.flatMap((generation) =>
  TRANSPORTS.map((transport) => [generation, transport] as const),
);
/** Hints as they are true: reads only, destroys, twice is once, meets the world. */
const HINTS: Readonly<Record<string, readonly [boolean, boolean, boolean, boolean]>> = {
  wallet_get: [true, false, true, false],
  wallet_balance: [true, false, true, true],
  wallet_fund: [true, false, true, false],
  service_search: [true, false, true, true],
  service_details: [true, false, true, true],
  payment_quote: [true, false, true, true],
  payment_pay: [false, true, true, true],
  payment_call_tool: [false, true, true, true],
  payment_status: [true, false, true, true],
  payment_history: [true, false, true, false],
  policy_get: [true, false, true, false],
  hub_put: [false, true, true, true],
  hub_put_url: [false, false, false, true],
  hub_get: [true, false, true, true],
  hub_list: [true, false, true, true],
  hub_share: [false, false, false, true],
  hub_unshare: [false, true, true, true],
  hub_delete: [false, true, false, true],
};

describe('the wallet over MCP', () => {
  let wallets: WalletWorld;
  let seller: Server;
  let report: string;
  const payTo = newAccount().address;
  const agents: McpAgent[] = [];

  beforeAll(async () => {
    wallets = await WalletWorld.start({
      LOG_LEVEL: 'trace',
      // No server is there: the offered tools do not depend on it.
      WALLET_CATALOGUE_URL: 'http://127.0.0.1:9',
      WALLET_HUB_URL: 'http://127.0.0.1:9',
      WALLET_HUB_ADDRESS: newAccount().address,
    });
    const { usd, coin, chainId } = wallets.world;
    const port = await freePort();
    const network = `eip155:${chainId}` as const;
    const options = { facilitatorUrl: wallets.url, network, payTo, usd, coin, price: ONE };
    seller = await listen(demoSeller(options), port);
    report = `http://127.0.0.1:${port}/report`;
  });
  afterAll(async () => {
    for (const agent of agents) await agent.close();
    seller.close();
    seller.closeAllConnections();
    await wallets.stop();
  });

  const connect = async (
    token: string,
    [generation, transport]: (typeof EVERY_WAY)[number] = ['2026-07-28', 'HTTP'],
  ): Promise<McpAgent> => {
    const agent = await mcpAgent(generation, transport, wallets.url, token);
    agents.push(agent);
    return agent;
  };
  const refusalOf = ({ isError, data, text }: ToolResult) => {
    expect(isError).toBe(true);
    expect(JSON.parse(text)).toEqual(data);
    return data['refusal'] as Record<string, unknown>;
  };
  const received = () => wallets.world.balance(wallets.world.usd, payTo);
  const purchase = (intentId: string, more: object = {}) => ({
    url: report,
    maxAmount: '1',
    intentId,
    ...more,
  });

  describe.each(EVERY_WAY)('to a client of %s over %s', (generation, transport) => {
    let agent: McpAgent;
    let address: string;
    const ajv = new Ajv2020({ strict: false });

    beforeAll(async () => {
      const wallet = await wallets.fundedWallet();
      address = wallet.address.toLowerCase();
      agent = await connect(wallet.agent, [generation, transport]);
    });

    /** The result is what the tool's own schema says. */
    const call = async (name: string, given?: Record<string, unknown>): Promise<ToolResult> => {
      const result = await agent.call(name, given);
      const tool = (await agent.tools()).find((one) => one.name === name);
      const validate = ajv.compile(tool?.outputSchema ?? {});
      expect([name, validate(result.data), validate.errors]).toEqual([name, true, null]);
      expect(JSON.parse(result.text)).toEqual(result.data);
      return result;
    };

    it('speaks its protocol and lists its tools, each with schemas and every hint', async () => {
      expect(agent.protocol).toBe(generation);
      const tools = await agent.tools();
      expect(tools.map(({ name }) => name)).toEqual(Object.keys(HINTS));
      for (const { name, inputSchema, outputSchema, annotations } of tools) {
        const [readOnlyHint, destructiveHint, idempotentHint, openWorldHint] = HINTS[name] ?? [];
        expect([name, annotations]).toEqual([
          name,
          { readOnlyHint, destructiveHint, idempotentHint, openWorldHint },
        ]);
        expect(inputSchema).toMatchObject({ type: 'object', additionalProperties: false });
        expect(outputSchema).toMatchObject({ type: 'object', additionalProperties: false });
        expect(ajv.compile(outputSchema ?? {})({})).toBe(false);
      }
    });

    it('quotes, pays through our own facilitator, and gives content and receipt', async () => {
      expect((await call('wallet_get')).data).toMatchObject({ custody: 'local', active: true });
      const funding = await call('wallet_fund', { token: 'SUSD', amount: '2.5' });
      expect(funding.data['qrText']).toMatch(
        /^ethereum:0x\w{40}@\d+\/transfer\?address=0x\w{40}&uint256=2500000000000000000$/,
      );
      expect(funding.pictures).toMatchObject([{ type: 'image', mimeType: 'image/png' }]);
      expect(funding.data).not.toHaveProperty('qr');
      const quoted = await call('payment_quote', { url: report });
      expect(quoted.data).toMatchObject({
        httpStatus: 402,
        offers: [{ isAllowed: true, amount: { atomic: `${ONE}`, decimal: '1', symbol: 'SUSD' } }],
      });
      const before = await received();
      const paid = await call('payment_pay', purchase('first'));
      expect(paid).toMatchObject({ isError: false, data: { status: 'paid', httpStatus: 200 } });
      expect(JSON.parse(String(paid.data['body']))).toMatchObject({ report: 'All is well.' });
      expect(paid.data['transaction']).toMatch(/^0x[0-9a-f]{64}$/);
      expect((await received()) - before).toBe(ONE);

      const { data } = await call('payment_status', { intentId: 'first' });
      expect(data).toEqual(paid.data);
      const history = await call('payment_history', {});
      expect(history.data).toMatchObject({ payments: [{ intentId: 'first', status: 'paid' }] });
      expect(JSON.stringify(history.data)).not.toContain('All is well');
      expect((await call('policy_get')).data).toMatchObject({
        limits: [{ spent: { atomic: `${ONE}`, decimal: '1' }, left: { decimal: '9' } }, {}],
      });
      const { data: held } = await call('wallet_balance');
      expect(held).toMatchObject({
        address,
        balances: [{ decimal: '999999' }, {}],
        unreadable: [],
      });
    });

    it('refuses with the rule, and says who changes it', async () => {
      const dear = refusalOf(await call('payment_pay', purchase('dear', { maxAmount: '0.99' })));
      expect(dear).toMatchObject({ code: 'policy_violation', rule: 'max_amount' });
      expect(dear['howToChange']).toMatch(/maxAmount/);
      const unknown = refusalOf(await call('payment_status', { intentId: 'never-seen' }));
      expect(unknown).toEqual({ code: 'not_found', error: 'There is no such intent.' });
      const inside = purchase('inside', { url: 'http://169.254.169.254/latest' });
      expect(refusalOf(await call('payment_pay', inside))['code']).toBe('fetch_refused');
    });

    it.each([
      ['payment_pay', {}],
      ['payment_pay', { url: 7, maxAmount: '1', intentId: 'x' }],
      ['payment_pay', { url: 'http://a', maxAmount: '-1', intentId: 'x' }],
      ['payment_pay', { url: 'http://a', maxAmount: '1e9', intentId: 'x' }],
      ['payment_pay', { url: 'http://a', maxAmount: '1', intentId: '../x' }],
      ['payment_pay', { url: 'http://a', maxAmount: '1', intentId: 'x', amount: '5' }],
      ['payment_quote', { url: 'x'.repeat(3000) }],
      ['payment_quote', { url: 'http://a', method: 'POST' }],
      ['payment_history', { limit: 1e9 }],
      ['policy_get', { active: true }],
    ])('refuses nonsense for %s: %j', async (name, given) => {
      const before = await received();
      const { isError, text } = await agent.call(name, given);
      expect(isError).toBe(true);
      expect(text).toMatch(/^Input validation error/);
      expect(await received()).toBe(before);
    });

    it('has no other tool', async () => {
      await expect(agent.call('sign_typed_data', {})).rejects.toThrow(/not found/);
    });
  });

  it('gives exactly 10 of 20 parallel payments of 1.00 from a budget of 10.00', async () => {
    const { agent: token, ownerToken } = await wallets.fundedWallet();
    await wallets.send('PUT', '/v1/wallets/me/policy', ownerToken, wallets.rules());
    const first = await connect(token);
    const second = await connect(token, ['2025-11-25', 'stdio']);
    const before = await received();
    const done = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        (index % 2 === 0 ? first : second).call('payment_pay', purchase(`parallel-${index}`)),
      ),
    );
    const refused = done.filter(({ isError }) => isError).map(refusalOf);
    expect(done.filter(({ data }) => data['status'] === 'paid')).toHaveLength(10);
    expect(refused).toHaveLength(10);
    for (const refusal of refused) {
      expect(refusal).toMatchObject({ code: 'policy_violation', rule: 'budget' });
      expect(refusal['howToChange']).toMatch(/^The owner .*"budget"/);
    }
    expect((await received()) - before).toBe(10n * ONE);
    const quote = await first.call('payment_quote', { url: report });
    expect(quote.data).toMatchObject({ offers: [{ isAllowed: false, rule: 'budget' }] });
  });

  it('pays once for one intent, in parallel, again, and by any client of the wallet', async () => {
    const { agent: token } = await wallets.fundedWallet();
    const clients = await Promise.all(EVERY_WAY.map((way) => connect(token, way)));
    const before = await received();
    const answers = await Promise.all(
      [...clients, ...clients].map((client) => client.call('payment_pay', purchase('same'))),
    );
    expect(new Set(answers.map(({ data }) => data['transaction'])).size).toBe(1);
    expect((await received()) - before).toBe(ONE);
    const other = purchase('same', { url: `${report}?other` });
    for (const client of clients) {
      expect(refusalOf(await client.call('payment_pay', other))['code']).toBe('conflict');
    }
  });

  it('refuses above the limit of one payment, and when the owner has stopped the wallet', async () => {
    const { agent: token, ownerToken } = await wallets.fundedWallet();
    const agent = await connect(token);
    const limit = {
      asset: `eip155:${wallets.world.chainId}/${wallets.world.usd}`,
      perPayment: `${ONE - 1n}`,
      budget: `${10n * ONE}`,
    };
    await wallets.send('PUT', '/v1/wallets/me/policy', ownerToken, { limits: [limit] });
    const tooMuch = refusalOf(await agent.call('payment_pay', purchase('too-much')));
    expect(tooMuch).toMatchObject({ rule: 'per_payment' });
    expect(tooMuch['howToChange']).toMatch(/PUT http:\/\/wallet\.example.*"perPayment"/);
    await wallets.post('/v1/wallets/me/stop', '', ownerToken);
    expect(refusalOf(await agent.call('payment_pay', purchase('stopped')))['rule']).toBe(
      'kill_switch',
    );
    expect((await agent.call('wallet_get')).data['active']).toBe(false);
  });

  it('shows nobody the wallet of another', async () => {
    const [first, second] = [await wallets.fundedWallet(), await wallets.fundedWallet()];
    const [mine, theirs] = [await connect(first.agent), await connect(second.agent)];
    await mine.call('payment_pay', purchase('mine'));
    expect((await theirs.call('wallet_get')).data['address']).toBe(second.address.toLowerCase());
    expect(refusalOf(await theirs.call('payment_status', { intentId: 'mine' }))['code']).toBe(
      'not_found',
    );
    expect((await theirs.call('payment_history', {})).data).toEqual({ payments: [] });
  });

  it('gets a token for the local process by the approval of its owner, past everybody else', async () => {
    const owner = newAccount();
    const file = join(wallets.dir, 'agent-token');
    const env = { X402_WALLET_URL: wallets.url, X402_WALLET_TOKEN_FILE: file };
    const login = spawn(process.execPath, [STDIO, 'login'], { env });
    let said = '';
    for (const stream of [login.stdout, login.stderr]) {
      stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
    }
    const ended = new Promise((resolve) => login.on('exit', resolve));
    await eventually('the link', () => Promise.resolve(said.includes('code=')));
    const [, code = ''] = /code=(\S+)/.exec(said) ?? [];
    await wallets.approve(code, owner);
    expect(await ended).toBe(0);
    const token = readFileSync(file, 'utf8');
    expect(said).not.toContain(token);
    // What it shows its owner collects nothing: the agent’s secret is not in it.
    expect(said).not.toMatch(/[\w-]{43}/);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect((await (await connect(token)).call('wallet_get')).data).toMatchObject({
      owner: owner.address.toLowerCase(),
    });
  });

  describe('before anything is done', () => {
    let token: string;
    let ownerToken: string;

    beforeAll(async () => {
      ({ agent: token, ownerToken } = await wallets.fundedWallet());
    });

    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
    /** `fetch` sets Host by itself. */
    const ask = (
      headers: Readonly<Record<string, string>>,
      body: unknown = list,
      method = 'POST',
    ): Promise<{ status: number; headers: Record<string, unknown>; text: string }> =>
      new Promise((resolve, reject) => {
        const accept = 'application/json, text/event-stream';
        const sent = rawRequest(
          `${wallets.url}/mcp`,
          {
            method,
            headers: {
              accept,
              'content-type': 'application/json',
              authorization: `Bearer ${token}`,
              ...headers,
            },
          },
          (response) => {
            let text = '';
            response.on('data', (chunk: Buffer) => (text += chunk.toString()));
            response.on('end', () => {
              heard.push(JSON.stringify(response.headers), text);
              resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
            });
          },
        );
        sent.on('error', reject);
        const text = typeof body === 'string' ? body : JSON.stringify(body);
        sent.end(method === 'POST' ? text : undefined);
      });

    it('answers under its own names, to its own pages and to what is no page', async () => {
      for (const headers of [
        {},
        { host: 'wallet.example' },
        { host: 'localhost:9' },
        { origin: 'http://wallet.example' },
      ]) {
        expect((await ask(headers)).status).toBe(200);
      }
    });

    it.each([
      { host: 'evil.example' },
      { host: 'evil.example:4022' },
      { host: 'wallet.example.evil.example' },
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: 'http://localhost:6274' },
      { origin: 'nonsense' },
    ])('refuses %j', async (headers) => {
      const answered = await ask(headers);
      expect(answered.status).toBe(403);
      expect(JSON.parse(answered.text)).toMatchObject({ code: 'forbidden' });
      expect(answered.text).not.toContain('evil');
    });

    it('refuses who has no token, one that is not ours, an owner and one that was ended', async () => {
      const [header, body] = token.split('.');
      const ended = await wallets.agentOf(newAccount());
      await wallets.post('/v1/logout', '', ended);
      for (const given of [
        '',
        'Bearer',
        'Bearer x',
        `Bearer ${header}.${body}.AAAA`,
        `Basic ${token}`,
        `Bearer ${ended}`,
      ]) {
        const answered = await ask({ authorization: given });
        expect([given.slice(0, 9), answered.status]).toEqual([given.slice(0, 9), 401]);
        expect(answered.headers['www-authenticate']).toBe('Bearer');
      }
      const owner = await ask({ authorization: `Bearer ${ownerToken}` });
      expect([owner.status, JSON.parse(owner.text)]).toMatchObject([403, { code: 'forbidden' }]);
      for (const method of ['GET', 'DELETE', 'PUT']) {
        const answered = await ask({}, list, method);
        expect([answered.status, answered.headers['allow']]).toEqual([405, 'POST']);
      }
    });

    it('needs no memory of a client: another process answers a call out of the blue', async () => {
      const other = await wallets.another({ ROLES: 'wallet' });
      const response = await fetch(`${other.url}/mcp`, {
        method: 'POST',
        headers: {
          accept: 'application/json, text/event-stream',
          'content-type': 'application/json',
          authorization: `Bearer ${token}`,
        },
        body: JSON.stringify({ ...list, method: 'tools/call', params: { name: 'wallet_get' } }),
      });
      const [, data = ''] = /^data: (.*)$/m.exec(await response.text()) ?? [];
      expect(JSON.parse(data)).toMatchObject({
        result: { structuredContent: { custody: 'local' } },
      });
      await other.stop('SIGTERM');
      expect(other.child.exitCode).toBe(0);
    });

    it('offers no stream of changes, which would never end', async () => {
      const _meta = {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': {},
      };
      const method = 'subscriptions/listen';
      const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method };
      const params = { _meta, notifications: { toolsListChanged: true } };
      const { text } = await ask(headers, { ...list, method, params });
      expect(text).toContain('Subscription limit reached');
    });

    it('takes a body without a type of its own as JSON, as large as any', async () => {
      for (const type of ['text/plain;charset=UTF-8', 'application/x-www-form-urlencoded']) {
        expect((await ask({ 'content-type': type })).status).toBe(200);
        expect((await ask({ 'content-type': type }, ' '.repeat(1_100_000))).status).toBe(413);
      }
      // `fetch` names none for bytes.
      const untyped = (body: string): Promise<Response> =>
        fetch(`${wallets.url}/mcp`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}` },
          body: Buffer.from(body),
        });
      expect((await untyped(JSON.stringify(list))).status).toBe(200);
      expect((await untyped('a=b')).status).toBe(400);
      expect((await untyped(' '.repeat(1_100_000))).status).toBe(413);
    });

    it('refuses what is no message, too large, or many at once', async () => {
      expect((await ask({}, '{')).status).toBe(400);
      expect((await ask({}, '')).status).toBe(400);
      expect((await ask({}, [list, list])).status).toBe(400);
      expect((await ask({}, ' '.repeat(1_100_000))).status).toBe(413);
      expect((await ask({ 'content-type': 'application/xml' })).status).toBe(415);
      for (const body of [7, null, 'x', {}, { jsonrpc: '2.0', id: 1, method: 'no/such' }]) {
        const { status, text } = await ask({}, JSON.stringify(body));
        expect(status).toBeLessThan(500);
        expect(text).toContain('"error"');
      }
    });
  });

  it('keeps every secret out of its log, its answers and its results', async () => {
    const owner = newAccount();
    const token = await wallets.agentOf(owner);
    const ownerToken = await wallets.signIn(owner);
    const agent = await connect(token, ['2025-11-25', 'stdio']);
    const other = await connect(token);
    for (const client of [agent, other]) {
      await client.call(
        'payment_pay',
        purchase('poor', { headers: { authorization: 'Bearer own' } }),
      );
      await client.call('payment_pay', { url: token });
    }
    await fetch(`${wallets.url}/mcp?token=${token}`);
    const secrets = [
      token,
      ownerToken,
      ADMIN_KEY,
      'a-token-secret-of-at-least-32-characters',
      'a-keystore-secret-of-at-least-32-characters',
      await wallets.keyOf(owner.address),
    ];
    const said = [wallets.service.log(), ...heard].join('\n');
    expect(said.length).toBeGreaterThan(10_000);
    for (const secret of secrets) {
      expect(secret.length).toBeGreaterThan(30);
      expect(said.includes(secret)).toBe(false);
      expect(said.includes(secret.replace(/^0x/, ''))).toBe(false);
    }
    // A signature of 65 bytes spends money.
    expect(said).not.toMatch(/[0-9a-fA-F]{130}/);
  });
});
