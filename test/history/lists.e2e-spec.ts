import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { compactVerify, createRemoteJWKSet } from 'jose';
import { type Address, recoverTypedDataAddress } from 'viem';
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAddress } from 'viem/accounts';
import { restartPostgres, type SandboxPostgres, startPostgres } from '../../sandbox/postgres.js';
import type { Service } from '../../sandbox/service.js';
import { createApiKey } from '../../src/operations/access/api-key.js';
import { ApiDescription } from '../support/api-description.js';
import { type Answer, eventually, get, post } from '../support/http.js';
import { eip3009Body, type Json, newAccount } from '../support/payments.js';
import { World } from '../support/world.js';

const RECEIPT_KEY = generatePrivateKey();

describe('what a seller sees of the history', () => {
  const dir = mkdtempSync(join(tmpdir(), 'x402-lists-'));
  const shop = newAccount().address;
  const stranger = newAccount().address;
  const nobody = newAccount().address;
  const keyOf = (scope: 'history' | 'settle', payees: readonly Address[]) =>
    createApiKey(scope, [scope], payees);
  const keys = {
    shop: keyOf('history', [shop, nobody]),
    stranger: keyOf('history', [stranger]),
    nobody: keyOf('history', [nobody]),
    without: keyOf('history', []),
    settle: keyOf('settle', [shop]),
  };
  let world: World;
  let postgres: SandboxPostgres;
  let service: Service;
  let api: ApiDescription;
  let payer: PrivateKeyAccount;
  const sold: string[] = [];

  beforeAll(async () => {
    const file = join(dir, 'keys.json');
    const records = Object.values(keys).map(({ record }) => record);
    writeFileSync(file, JSON.stringify({ version: 1, keys: records }));
    [world, postgres] = await Promise.all([World.start(), startPostgres()]);
    payer = await world.payer();
    service = await world.service({
      ROLES: 'api,worker,history',
      DATABASE_URL: postgres.url,
      API_KEYS_FILE: file,
      PUBLIC_STATS: 'true',
      RECEIPT_KEY,
    });
    api = new ApiDescription((await get(`${service.url}/openapi.json`)).body);
    for (let count = 0; count < 5; count += 1) sold.unshift(await settle(shop));
    await settle(stranger);
    await eventually(
      'everything is archived as final',
      async () => {
        await world.client.mine({ blocks: 5 });
        const [mine, theirs] = [
          await list({ state: 'finalized' }),
          await list({ state: 'finalized' }, 'stranger'),
        ];
        return idsIn(mine).length === 5 && idsIn(theirs).length === 1;
      },
      30_000,
    );
  });
  afterAll(async () => {
    await world.stop();
    await postgres.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  /** @returns the id of the settlement. */
  async function settle(payTo: Address): Promise<string> {
    const { chainId, usd: token } = world;
    const body = await eip3009Body({ payer, chainId, token, payTo });
    const answer = await post(`${service.url}/settle`, body, { 'X-API-Key': keys.settle.key });
    expect(answer.body).toMatchObject({ success: true });
    return (answer.body['extra'] as { settlementId: string }).settlementId;
  }

  async function ask(query: Readonly<Record<string, string>>, key?: string): Promise<Answer> {
    const url = `${service.url}/v2/settlements?${new URLSearchParams(query).toString()}`;
    const response = await fetch(url, { headers: key === undefined ? {} : { 'X-API-Key': key } });
    const body = (await response.json()) as Json;
    return { status: response.status, headers: response.headers, body };
  }
  const list = (query: Readonly<Record<string, string>> = {}, name: keyof typeof keys = 'shop') =>
    ask(query, keys[name].key);
  async function receipt(id: string, name: keyof typeof keys | 'none' = 'shop'): Promise<Answer> {
    const response = await fetch(`${service.url}/v2/settlements/${id}/receipt`, {
      headers: name === 'none' ? {} : { 'X-API-Key': keys[name].key },
    });
    const body = (await response.json()) as Json;
    return { status: response.status, headers: response.headers, body };
  }
  const idsIn = ({ body }: Answer): readonly unknown[] =>
    (body['settlements'] as Json[]).map(({ settlementId }) => settlementId);

  it('is what was paid to the payees of its key, newest first, as the look-up shows each', async () => {
    const answer = await list();
    expect(api.problemsOf('get', '/v2/settlements', answer.status, answer.body)).toEqual([]);
    expect(idsIn(answer)).toEqual(sold);
    for (const item of answer.body['settlements'] as Json[]) {
      const { body } = await get(`${service.url}/v2/settlements/${String(item['settlementId'])}`);
      expect(item).toEqual(body);
    }
  });

  it('is in totals that everybody is shown, without a key and without names', async () => {
    const { status, body } = await get(`${service.url}/stats`);
    expect([status, api.problemsOf('get', '/stats', status, body)]).toEqual([200, []]);
    const all = { payments: '6', amount: '6000', payers: '1', payees: '2' };
    expect(body['networks']).toMatchObject({
      [`eip155:${world.chainId}`]: {
        [world.usd.toLowerCase()]: {
          decimals: 18,
          txCount: 6,
          totalAmount: '6000',
          windows: {
            '24h': { ...all, tokens: '0.000000000000006' },
            '7d': all,
            '30d': all,
            all,
          },
        },
      },
    });
    expect(JSON.stringify(body).toLowerCase()).not.toContain(shop.slice(2).toLowerCase());
    const [without, off] = await Promise.all([
      world.service({ ROLES: 'api' }),
      world.service({ ROLES: 'api', PUBLIC_STATS: 'false' }),
    ]);
    const refused = await get(`${without.url}/stats`);
    expect([refused.status, refused.body['code']]).toEqual([501, 'history_off']);
    expect((await get(`${off.url}/stats`)).status).toBe(404);
    await Promise.all([without.stop(), off.stop()]);
  });

  it('comes in pages that a new sale does not move', async () => {
    const seen: unknown[] = [];
    let cursor: string | undefined;
    do {
      const page = await list({ limit: '2', ...(cursor !== undefined && { cursor }) });
      seen.push(...idsIn(page));
      cursor = page.body['nextCursor'] as string | undefined;
      sold.unshift(await settle(shop));
      await eventually(
        'it is archived',
        async () => idsIn(await list({ limit: '1' }))[0] === sold[0],
      );
    } while (cursor !== undefined);
    expect(seen).toEqual(sold.slice(-5));
  });

  it('is narrowed by what is asked for', async () => {
    const network = `eip155:${world.chainId}`;
    const count = async (query: Readonly<Record<string, string>>) =>
      idsIn(await list(query)).length;
    const all = sold.length;
    expect(await count({ network, asset: world.usd, payTo: shop })).toBe(all);
    expect(await count({ network: 'eip155:56' })).toBe(0);
    expect(await count({ asset: world.coin })).toBe(0);
    expect(await count({ payTo: nobody })).toBe(0);
    expect(await count({ state: 'reverted' })).toBe(0);
    expect(await count({ from: '2020-01-01', to: '2021-01-01' })).toBe(0);
    expect(await count({ from: '2020-01-01', to: '9999-01-01' })).toBe(all);
  });

  it('has exact totals of it, and of nobody else', async () => {
    const path = '/v2/settlements/totals';
    const totals = async (query: string, name: keyof typeof keys = 'shop') => {
      const response = await fetch(`${service.url}${path}?${query}`, {
        headers: { 'X-API-Key': keys[name].key },
      });
      const body = (await response.json()) as Json;
      expect(api.problemsOf('get', path, response.status, body)).toEqual([]);
      return body['totals'] as Json[] | undefined;
    };
    const day = new Date().toISOString().slice(0, 10);
    const group = { network: `eip155:${world.chainId}`, asset: world.usd.toLowerCase() };
    const from = `from=${new Date(Date.now() - 86_400_000).toISOString()}`;
    const count = String(sold.length);
    expect(await totals(from)).toMatchObject([
      { ...group, paid: { count, amount: String(1000 * sold.length) } },
    ]);
    expect(await totals(`${from}&groupBy=day,payee`)).toMatchObject([
      { ...group, day, payTo: shop.toLowerCase(), paid: { count } },
    ]);
    expect(await totals(from, 'stranger')).toMatchObject([
      { ...group, paid: { count: '1', amount: '1000' }, states: { finalized: '1' } },
    ]);
    expect(await totals(from, 'nobody')).toEqual([]);
    expect(await totals('')).toBeUndefined();
  });

  it('has a receipt of each, which stock libraries verify, as the chain shows it', async () => {
    const [id = ''] = sold;
    const path = '/v2/settlements/{id}/receipt';
    const { status, body } = await receipt(id);
    expect([status, api.problemsOf('get', path, status, body)]).toEqual([200, []]);
    const said = body['receipt'] as Record<string, string>;
    const keys = await get(`${service.url}/.well-known/jwks.json`);
    expect(api.problemsOf('get', '/.well-known/jwks.json', 200, keys.body)).toEqual([]);
    const published = createRemoteJWKSet(new URL(`${service.url}/.well-known/jwks.json`));
    const { payload } = await compactVerify(String(body['jws']), published);
    expect(JSON.parse(Buffer.from(payload).toString())).toEqual(said);
    const signer = await recoverTypedDataAddress(
      body['eip712'] as Parameters<typeof recoverTypedDataAddress>[0],
    );
    expect(signer).toBe(privateKeyToAddress(RECEIPT_KEY));
    expect(keys.body['x402_receipt_signers']).toEqual([signer]);
    const hash = said['transaction'] as `0x${string}`;
    const { blockHash, blockNumber, logs } = await world.client.getTransactionReceipt({ hash });
    expect(said).toMatchObject({
      blockHash,
      blockNumber: String(blockNumber),
      payTo: shop.toLowerCase(),
    });
    const log = logs.find(({ logIndex }) => String(logIndex) === said['logIndex']);
    expect(BigInt(log?.data ?? 0)).toBe(BigInt(said['amount'] ?? -1));
    expect(log?.address).toBe(world.usd.toLowerCase());
  });

  it('has no receipt for others, and none without a key', async () => {
    const [id = ''] = sold;
    const path = '/v2/settlements/{id}/receipt';
    const answers: [Answer, number][] = [
      [await receipt(id, 'stranger'), 404],
      [await receipt('a'.repeat(43)), 404],
      [await receipt('nonsense'), 404],
      [await receipt(id, 'settle'), 403],
      [await receipt(id, 'none'), 401],
      [await receipt('nonsense', 'none'), 401],
    ];
    for (const [{ status, body }, wanted] of answers) {
      expect(status).toBe(wanted);
      expect(api.problemsOf('get', path, status, body)).toEqual([]);
    }
  });

  it('is nothing of anybody else', async () => {
    const [newest = ''] = sold;
    for (const name of ['stranger', 'nobody'] as const) {
      expect(JSON.stringify((await list({}, name)).body)).not.toContain(newest);
      expect((await list({ payTo: shop }, name)).status).toBe(403);
      const { body } = await list({ limit: '1' });
      const cursor = String(body['nextCursor']);
      const { body: after } = await list({ cursor }, name);
      for (const id of sold) expect(JSON.stringify(after)).not.toContain(id);
    }
  });

  it('wants a key, with the scope and with payees', async () => {
    const refusals: [Answer, number, string][] = [
      [await ask({ from: '2026-01-01' }), 401, 'unauthorized'],
      [await ask({ from: '2026-01-01' }, 'x402_wrong'), 401, 'unauthorized'],
      [await list({}, 'without'), 403, 'forbidden'],
      [await list({}, 'settle'), 403, 'forbidden'],
    ];
    for (const [{ status, body, headers }, wanted, reason] of refusals) {
      expect([status, body['code']]).toEqual([wanted, reason]);
      expect(api.problemsOf('get', '/v2/settlements', status, body)).toEqual([]);
      expect(headers.has('www-authenticate')).toBe(wanted === 401);
    }
  });

  it('is no list by nonsense, and says which parameter', async () => {
    const nonsense: [Record<string, string>, string, string][] = [
      [{ from: 'now' }, 'invalid_query', 'from must be'],
      [{ from: '2026-02-30' }, 'invalid_query', 'from must be'],
      [{ from: '2026-02-02', to: '2026-02-01' }, 'invalid_query', '`from` must be before `to`'],
      [{ limit: '501' }, 'invalid_query', 'limit must be'],
      [{ state: "finalized' or 1=1" }, 'invalid_query', 'state must be'],
      [{ cursor: 'AAAA' }, 'invalid_cursor', 'cursor'],
    ];
    for (const [query, code, message] of nonsense) {
      const { status, body } = await list(query);
      expect([status, body['code']]).toEqual([400, code]);
      expect(body['error']).toContain(message);
      expect(api.problemsOf('get', '/v2/settlements', status, body)).toEqual([]);
    }
  });

  it('leaves look-ups as they are: open, with a key and without', async () => {
    const [id = ''] = sold;
    const { body } = await get(`${service.url}/v2/settlements/${id}`);
    const transaction = String(body['transaction']);
    for (const key of [undefined, keys.shop.key, keys.stranger.key]) {
      expect(idsIn(await ask({ transaction }, key))).toEqual([id]);
    }
    expect((await ask({})).status).toBe(400);
    expect((await ask({ network: 'eip155:56' })).status).toBe(400);
  });

  it('is said to be away while PostgreSQL is, soon, and settling goes on', async () => {
    await postgres.crash();
    const before = Date.now();
    const { status, body } = await list();
    expect([status, body['code']]).toEqual([503, 'history_unavailable']);
    expect(Date.now() - before).toBeLessThan(5000);
    expect(JSON.stringify(body)).not.toMatch(/postgres|ECONN|127\.0\.0\.1/);
    sold.unshift(await settle(shop));
    postgres = await restartPostgres(postgres);
    await eventually(
      'it is back',
      async () => {
        const answer = await list({ limit: '1' });
        return answer.status === 200 && idsIn(answer)[0] === sold[0];
      },
      30_000,
    );
  });

  it('is not there without a history, and that is said', async () => {
    const bare = await world.service({ API_KEYS_FILE: join(dir, 'keys.json') });
    const response = await fetch(`${bare.url}/v2/settlements?limit=5`, {
      headers: { 'X-API-Key': keys.shop.key },
    });
    const body = (await response.json()) as Json;
    expect([response.status, body['code']]).toEqual([501, 'history_off']);
    expect(api.problemsOf('get', '/v2/settlements', 501, body)).toEqual([]);
    const unsigned = await fetch(`${bare.url}/v2/settlements/${'a'.repeat(43)}/receipt`, {
      headers: { 'X-API-Key': keys.shop.key },
    });
    expect([unsigned.status, ((await unsigned.json()) as Json)['code']]).toEqual([
      501,
      'receipts_off',
    ]);
    expect((await get(`${bare.url}/.well-known/jwks.json`)).status).toBe(404);
  });
});
