import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { SIGNER } from '../../../sandbox/accounts.js';
import type { Service } from '../../../sandbox/service.js';
import { createApiKey } from '../../../src/operations/access/api-key.js';
import { ApiDescription } from '../../support/api-description.js';
import { type Answer, eventually, get, post } from '../../support/http.js';
import { deep, it } from '../../support/part.js';
import { type Body, eip3009Body, type Json, newAccount, uptoBody } from '../../support/payments.js';
import { World } from '../../support/world.js';

interface Lane extends Json {
  readonly lane: string;
  readonly trouble: string | null;
}

describe('the operator page', () => {
  const operator = createApiKey('night-shift', ['admin']);
  const shop = createApiKey('shop', ['verify', 'settle', 'hub']);
  const file = join(mkdtempSync(join(tmpdir(), 'x402-admin-')), 'keys.json');
  let world: World;
  let service: Service;
  let api: ApiDescription;
  let lane: string;

  const admin = async (path: string, method = 'GET', key = operator.key): Promise<Answer> => {
    const response = await fetch(`${service.opsUrl}/admin/api/${path}`, {
      method,
      headers: { 'X-API-Key': key },
    });
    const body = (await response.json()) as Json;
    return { status: response.status, body, headers: response.headers };
  };
  const lanes = async (): Promise<Lane[]> => {
    const { body } = await admin('overview');
    return (body['networks'] as { lanes: Lane[] }[]).flatMap((network) => network.lanes);
  };
  const payment = async (): Promise<Body> =>
    eip3009Body({
      payer: await world.payer(),
      chainId: world.chainId,
      token: world.usd,
      payTo: newAccount().address,
    });
  const settle = (body: Body): Promise<Answer> =>
    post(`${service.url}/settle`, body, { 'X-API-Key': shop.key });

  beforeAll(async () => {
    writeFileSync(file, JSON.stringify({ version: 1, keys: [operator.record, shop.record] }));
    world = await World.start({ blockTime: 0.3 });
    service = await world.service({ API_KEYS_FILE: file, SETTLE_WAIT_MS: '3000' });
    api = new ApiDescription((await get(`${service.url}/openapi.json`)).body);
    lane = `${world.chainId}:${SIGNER.address.toLowerCase()}`;
  });
  afterAll(() => world.stop());

  it('is not there at all without API keys', async () => {
    const open = await world.service({ ROLES: 'api' });
    for (const path of ['/admin', '/admin/app.js', '/admin/api/overview']) {
      expect((await get(open.opsUrl + path)).status).toBe(404);
    }
    const { body } = await get(`${open.url}/openapi.json`);
    expect(JSON.stringify(body['paths'])).not.toContain('/admin');
    await open.stop();
  });

  it('shows nothing without a key that has the scope admin', async () => {
    const page = await get(`${service.opsUrl}/admin`);
    expect(page.status).toBe(200);
    expect(page.headers.get('content-security-policy')).toMatch(
      /default-src 'none';script-src 'self'/,
    );
    expect(page.body['text']).not.toContain(SIGNER.address);
    for (const key of ['', 'x402_wrong', shop.key]) {
      for (const [path, method] of [
        ['overview', 'GET'],
        ['settlements', 'GET'],
        [`lanes/${lane}/pause`, 'POST'],
      ] as const) {
        // A known key without the scope is 403.
        expect((await admin(path, method, key)).status).toBe(key === shop.key ? 403 : 401);
      }
    }
    const bearer = { Authorization: `Bearer ${operator.key}` };
    const response = await fetch(`${service.opsUrl}/admin/api/overview`, { headers: bearer });
    expect(response.status).toBe(401);
    expect((await fetch(`${service.opsUrl}/admin/api/overview?key=${operator.key}`)).status).toBe(
      401,
    );
  });

  it('shows lanes, queue and processes as described', async () => {
    const answer = await admin('overview');
    expect(api.problemsOf('get', '/admin/api/overview', 200, answer.body)).toEqual([]);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.body).toMatchObject({
      apiKeys: { keys: 2 },
      processes: [{ roles: ['api', 'worker'] }],
      networks: [
        {
          network: `eip155:${world.chainId}`,
          queue: { queued: 0, oldestQueuedMs: 0 },
          lanes: [{ lane, trouble: null, paused: null, attempts: [] }],
        },
      ],
    });
    expect(JSON.stringify(answer.body)).not.toMatch(/http|"raw"/);
  });

  it('finds settlements by payer, transaction and id, the newest first without a search', async () => {
    const first = await payment();
    const second = await payment();
    const settled = [await settle(first), await settle(second)];
    const ids = settled.map(({ headers }) => headers.get('settlement-id') ?? '');
    const find = async (search: string): Promise<unknown[]> => {
      const { body } = await admin(`settlements?search=${search}`);
      expect(api.problemsOf('get', '/admin/api/settlements', 200, body)).toEqual([]);
      return (body['settlements'] as Json[]).map(({ settlementId }) => settlementId);
    };
    expect(await find('')).toEqual([ids[1], ids[0]]);
    expect(await find(String(settled[0]?.body['transaction']))).toEqual([ids[0]]);
    expect(await find(ids[1] ?? '')).toEqual([ids[1]]);
    expect(await find(String(settled[1]?.body['payer']))).toEqual([ids[1]]);
    expect(await find(`%20${String(settled[0]?.body['payer']).toLowerCase()}`)).toEqual([ids[0]]);
    expect(await find(newAccount().address)).toEqual([]);
    expect(await find('*')).toEqual([]);
    expect((await admin(`settlements?search=${'x'.repeat(101)}`)).status).toBe(400);
    expect((await admin('settlements?search=a&search=b')).status).toBe(400);
    // A filter of the history would be dropped here, and the answer look like its result.
    expect((await admin('settlements?state=expired')).body).toMatchObject({
      code: 'invalid_query',
    });
    // The answer must not show settlements of others as results of the search.
    const both = await admin(`settlements?search=0x${'5f'.repeat(32)}&sale=unclaimed`);
    expect([both.status, both.body['code']]).toEqual([400, 'invalid_query']);
    expect((await admin('settlements?search=&sale=unclaimed')).status).toBe(200);
  });

  it('pauses a lane at once, across a restart, and resumes it', async () => {
    const paused = await admin(`lanes/${lane}/pause`, 'POST');
    expect(paused.status).toBe(200);
    expect(api.problemsOf('post', '/admin/api/lanes/{lane}/pause', 200, paused.body)).toEqual([]);
    expect(paused.body).toMatchObject({ trouble: 'paused', paused: { by: 'night-shift' } });

    const body = await payment();
    const refused = await settle(body);
    expect(refused.body).toMatchObject({
      success: false,
      errorReason: 'settlement_not_sent',
      transaction: '',
    });
    await eventually('health says so', async () => {
      const { status, body: report } = await get(`${service.opsUrl}/health`);
      return status === 503 && JSON.stringify(report).includes('"code":"paused"');
    });

    await service.stop('SIGKILL');
    service = await world.service({ API_KEYS_FILE: file, SETTLE_WAIT_MS: '3000' });
    expect((await lanes())[0]).toMatchObject({ trouble: 'paused', paused: { by: 'night-shift' } });
    expect((await settle(body)).body).toMatchObject({ errorReason: 'settlement_not_sent' });

    const resumed = await admin(`lanes/${lane}/resume`, 'POST');
    expect(resumed.body).toMatchObject({ paused: null });
    await eventually('it works again', async () => (await lanes())[0]?.trouble === null);
    expect((await settle(body)).body).toMatchObject({ success: true });
    expect(service.log()).toContain('lane resumed');
  });

  deep('follows what was sent before the pause to its end', async () => {
    await world.client.setIntervalMining({ interval: 0 });
    const body = await payment();
    const handedOut = await post(`${service.url}/settle`, body, {
      'X-API-Key': shop.key,
      Prefer: 'respond-async',
    });
    expect(handedOut.status).toBe(202);
    const id = handedOut.headers.get('settlement-id') ?? '';
    const attempts = async (): Promise<Json[]> => (await lanes())[0]?.['attempts'] as Json[];
    // One before it may wait for a block that makes it final.
    const isSent = (all: readonly Json[]): boolean =>
      all.some(({ settlementIds }) => (settlementIds as string[]).includes(id));
    await eventually('it is sent', async () => isSent(await attempts()));
    const life = await admin(`settlements/${id}`);
    expect(api.problemsOf('get', '/admin/api/settlements/{id}', 200, life.body)).toEqual([]);
    expect(life.body).toMatchObject({
      isAsync: true,
      history: { status: 'off' },
      sale: { state: 'sold' },
      attempts: [{ lane, settlementIds: [id] }],
    });
    expect(JSON.stringify(life.body)).not.toContain('"raw"');
    await admin(`lanes/${lane}/pause`, 'POST');
    const url = `${service.url}/v2/settlements/${id}`;
    expect((await get(url)).body['state']).toBe('broadcast');
    await world.client.setIntervalMining({ interval: 1 });
    await eventually('it is final', async () => (await get(url)).body['state'] === 'finalized');
    await eventually('nothing is in flight', async () => (await attempts()).length === 0);
    expect((await lanes())[0]).toMatchObject({ trouble: 'paused' });
    await admin(`lanes/${lane}/resume`, 'POST');
  });

  deep(
    'follows what a lane sent before it was retired to its end, and nothing new goes by it',
    async () => {
      await world.client.setIntervalMining({ interval: 0 });
      const handedOut = await post(`${service.url}/settle`, await payment(), {
        'X-API-Key': shop.key,
        Prefer: 'respond-async',
      });
      expect(handedOut.status).toBe(202);
      const id = handedOut.headers.get('settlement-id') ?? '';
      const url = `${service.url}/v2/settlements/${id}`;
      await eventually('it is sent', async () => (await get(url)).body['state'] === 'broadcast');

      await admin(`lanes/${lane}/retire`, 'POST');
      await eventually('it is seen', async () => (await lanes())[0]?.['isRetiring'] === true);
      expect((await lanes())[0]).toMatchObject({ retiring: { by: 'night-shift' } });
      const nonce = (await lanes())[0]?.['nextNonce'];
      const refused = await settle(await payment());
      expect(refused.body).toMatchObject({ success: false, transaction: '' });

      await world.client.setIntervalMining({ interval: 1 });
      await eventually('it is final', async () => (await get(url)).body['state'] === 'finalized');
      await eventually('nothing is in flight', async () => {
        return ((await lanes())[0]?.['attempts'] as Json[]).length === 0;
      });
      // Its key can be taken out now: nothing of it is on its way, and it has signed nothing more.
      expect((await lanes())[0]).toMatchObject({ isRetiring: true, nextNonce: nonce });
      await admin(`lanes/${lane}/reinstate`, 'POST');
      await eventually('it is back', async () => (await lanes())[0]?.['isRetiring'] !== true);
    },
  );

  it('retires a lane at once, and reinstates it', async () => {
    const isOffered = async (): Promise<boolean> => {
      const { body } = await get(`${service.url}/supported`);
      return JSON.stringify(body['kinds']).includes(SIGNER.address);
    };
    expect(await isOffered()).toBe(true);
    const retired = await admin(`lanes/${lane}/retire`, 'POST');
    expect(retired.status).toBe(200);
    expect(api.problemsOf('post', '/admin/api/lanes/{lane}/retire', 200, retired.body)).toEqual([]);
    expect(retired.body).toMatchObject({ retiring: { by: 'night-shift' }, paused: null });

    const body = await payment();
    expect((await settle(body)).body).toMatchObject({ success: false, transaction: '' });
    await eventually('it is offered no more', async () => !(await isOffered()));
    const payer = await world.payer({ approves: true });
    const { chainId, coin: token } = world;
    const payTo = newAccount().address;
    const facilitator = SIGNER.address;
    const bound = await uptoBody({ payer, chainId, token, payTo, facilitator, charged: '7' });
    expect((await settle(bound)).body).toMatchObject({ success: true, amount: '7' });

    const back = await admin(`lanes/${lane}/reinstate`, 'POST');
    expect(back.body).toMatchObject({ retiring: null });
    await eventually('it is offered again', isOffered);
    expect((await settle(body)).body).toMatchObject({ success: true });
  });

  it('knows no lane of another name', async () => {
    for (const name of ['97:0x0', '..', '%00', 'x402:paused', '__proto__']) {
      expect((await admin(`lanes/${encodeURIComponent(name)}/pause`, 'POST')).status).toBe(404);
    }
  });
});
