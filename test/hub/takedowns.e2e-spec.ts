import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { freePort } from '../../sandbox/processes.js';
import { createApiKey } from '../../src/operations/access/api-key.js';
import { ApiDescription } from '../support/api-description.js';
import { eventually } from '../support/http.js';
import {
  type GivenHeaders,
  type Hub,
  HUB_ADDRESS,
  type HubAnswer,
  HubWorld,
} from '../support/hub-world.js';
import { type Json, newAccount } from '../support/payments.js';
import { shareLinkOf } from '../support/share-link.js';
import { strictHeaders } from '../support/strict-signature.js';

const WORDS = 'what should not have been stored';
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const DOWN = { Type: 'hub', Message: 'taken_down: a court has ordered it' };

describe.each(['private', 'public'])('takedowns in a %s hub', (mode) => {
  const me = newAccount();
  const operator = createApiKey('night-shift', ['admin', 'hub']);
  const user = createApiKey('user', ['hub']);
  const dir = mkdtempSync(join(tmpdir(), 'x402-takedowns-'));
  let world: HubWorld;
  let hub: Hub;
  let opsUrl: string;
  let api: ApiDescription;
  let settings: Record<string, string>;

  async function admin(path: string, body?: unknown, key = operator.key): Promise<HubAnswer> {
    const method = body === undefined ? 'GET' : 'POST';
    const response = await fetch(`${opsUrl}/admin/api/hub/${path}`, {
      method,
      headers: { 'X-API-Key': key },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const { status, headers } = response;
    const text = await response.text();
    const json: unknown = JSON.parse(text);
    const route = `/admin/api/hub/${path.split('?')[0] ?? ''}`;
    expect(api.problemsOf(method.toLowerCase(), route, status, json)).toEqual([]);
    return { status, headers, text, json, bytes: Buffer.from(text) };
  }
  async function signed(method: string, path: string, body = ''): Promise<HubAnswer> {
    const headers = { ...(await strictHeaders(me, { method, path, body })), ...keyed };
    return hub.ask(path, { method, headers, ...(body !== '' && { body }) });
  }
  const keyed: GivenHeaders = { 'X-API-Key': user.key };
  const store = async (id: string, message = WORDS): Promise<void> => {
    const body = JSON.stringify({ owner: me.address, id, message });
    expect((await signed('POST', '/api/upload', body)).status).toBe(200);
  };
  const pathOf = (name: string): string =>
    `/api/download?${new URLSearchParams({ owner: me.address, name }).toString()}`;
  const read = (name: string): Promise<HubAnswer> => signed('GET', pathOf(name));
  const takeDown = (more: Json): Promise<HubAnswer> =>
    admin('takedown', { reason: 'a court has ordered it', ...more });
  const restore = (text: string): Promise<HubAnswer> =>
    admin('restore', { sha256: sha256(text), reason: 'the order was lifted' });

  beforeAll(async () => {
    const keys = join(dir, 'keys.json');
    writeFileSync(keys, JSON.stringify({ version: 1, keys: [operator.record, user.record] }));
    world = await HubWorld.start();
    const opsPort = await freePort();
    settings = {
      HUB_MODE: mode,
      API_KEYS_FILE: keys,
      OPS_PORT: String(opsPort),
      HUB_SALES: 'true',
      HUB_SALES_SECRET: 'a secret of at least thirty-two characters',
      HUB_PUBLIC_URL: 'https://files.example/api',
      HUB_ADDRESS,
      // No server answers there: a takedown has to be refused before any is asked.
      HUB_FACILITATOR_URL: 'http://127.0.0.1:9',
    };
    opsUrl = `http://127.0.0.1:${opsPort}`;
    hub = await world.hub(settings);
    api = new ApiDescription((await hub.get('/openapi.json')).json as Json);
  });
  afterAll(async () => {
    await world.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  it('are nothing to who has no key for them, or comes to the public port', async () => {
    await store('guarded');
    const body = { sha256: sha256(WORDS), reason: 'because' };
    for (const [path, sent] of [
      ['takedowns', undefined],
      ['acts', undefined],
      ['takedown', body],
      ['restore', body],
    ] as const) {
      expect([path, (await admin(path, sent, '')).status]).toEqual([path, 401]);
      expect([path, (await admin(path, sent, user.key)).status]).toEqual([path, 403]);
      const outside = await hub.ask(`/admin/api/hub/${path}`, {
        method: sent === undefined ? 'GET' : 'POST',
        headers: { 'X-API-Key': operator.key },
        ...(sent !== undefined && { body: JSON.stringify(sent) }),
      });
      expect([path, outside.status]).toEqual([path, 404]);
    }
    expect((await read('guarded')).text).toBe(WORDS);
  });

  it('hide bytes under every name, from everybody, until they are put back', async () => {
    await store('one');
    await store('talk_0');
    await store('talk_1', 'harmless');
    const link = await shareLinkOf(me, 'one', { once: true });
    const done = await takeDown({ owner: me.address, name: 'one' });
    expect([done.status, done.json]).toEqual([
      200,
      {
        outcome: 'taken_down',
        takedowns: [
          {
            sha256: sha256(WORDS),
            owner: me.address.toLowerCase(),
            name: 'one',
            reason: 'a court has ordered it',
            by: 'night-shift',
            at: expect.stringMatching(/^20.*Z$/),
          },
        ],
      },
    ]);
    const head = pathOf('one');
    for (const answer of [
      await read('one'),
      await read('talk_0'),
      await signed('GET', `${pathOf('one')}&display=json`),
      await hub.ask(head, {
        method: 'HEAD',
        headers: { ...(await strictHeaders(me, { method: 'HEAD', path: head })), ...keyed },
      }),
      ...(mode === 'private' ? [await hub.get(`/api/shared?link=${link}`)] : []),
    ]) {
      expect([answer.status, answer.json ?? DOWN]).toEqual([451, DOWN]);
    }
    const talk = `/api/conversation?owner=${me.address}&name=talk`;
    expect((await signed('GET', talk)).json).toEqual(['harmless']);
    // Its owner sees it.
    const rows = (await signed('GET', `/api/listNeedle?owner=${me.address}`)).json as Json[];
    const row = (name: string): Json | undefined => rows.find((one) => one['Name'] === name);
    expect(row('one')).toMatchObject({ Size: 32, Reason: 'a court has ordered it' });
    expect(row('talk_1')).not.toHaveProperty('TakenDown');
    // Stored again it is no better.
    await store('again');
    expect((await read('again')).status).toBe(451);
    expect((await restore(WORDS)).json).toEqual({ outcome: 'restored', sha256: sha256(WORDS) });
    expect((await read('one')).text).toBe(WORDS);
    // The link for one answer was not used up meanwhile.
    if (mode === 'private') {
      expect((await hub.get(`/api/shared?link=${link}`)).text).toBe(WORDS);
    }
  });

  it('close what is for sale before anybody pays', async () => {
    await store('sold', 'a book');
    const body = JSON.stringify({
      file: 'sold',
      network: 'eip155:56',
      asset: `0x${'11'.repeat(20)}`,
      amount: '1',
      accessSeconds: 60,
    });
    expect((await signed('PUT', '/api/price', body)).status).toBe(200);
    await store('sold', 'a newer one');
    expect((await hub.get(pathOf('sold'), keyed)).status).toBe(402);
    const done = await takeDown({ owner: me.address, name: 'sold' });
    expect(done.json).toMatchObject({
      takedowns: expect.arrayContaining(
        ['a book', 'a newer one'].map((text) => expect.objectContaining({ sha256: sha256(text) })),
      ),
    });
    const paying = await hub.get(pathOf('sold'), { 'payment-signature': 'e30=', ...keyed });
    expect([paying.status, paying.json]).toEqual([451, DOWN]);
    expect((await signed('PUT', '/api/price', body)).status).toBe(451);
    for (const text of ['a book', 'a newer one']) await restore(text);
    expect((await hub.get(pathOf('sold'), keyed)).status).toBe(402);
  });

  it('are noted with who did what and why, and nothing is done twice', async () => {
    await store('noted', 'noted words');
    const before = ((await admin('acts?limit=100')).json as { acts: Json[] }).acts.length;
    const name = { owner: me.address, name: 'noted' };
    expect((await takeDown(name)).json).toMatchObject({ outcome: 'taken_down' });
    expect((await takeDown(name)).json).toMatchObject({ outcome: 'unchanged' });
    expect((await restore('noted words')).json).toMatchObject({ outcome: 'restored' });
    expect((await restore('noted words')).json).toMatchObject({ outcome: 'unchanged' });
    const { acts } = (await admin('acts?limit=100')).json as { acts: Json[] };
    expect(acts.length - before).toBe(2);
    expect(acts.slice(0, 2)).toMatchObject([
      { action: 'restored', by: 'night-shift', reason: 'the order was lifted', name: 'noted' },
      { action: 'taken_down', by: 'night-shift', reason: 'a court has ordered it', name: 'noted' },
    ]);
    expect((await admin('takedowns')).json).toEqual({ takedowns: [], count: 0 });
  });

  it('are asked for in one way, with a reason', async () => {
    const digest = sha256(WORDS);
    for (const body of [
      {},
      [],
      { sha256: digest },
      { sha256: digest, reason: '' },
      { sha256: 'x', reason: 'y' },
      { sha256: digest, owner: 'a', name: 'b', reason: 'y' },
      { owner: 'a', reason: 'y' },
      { sha256: digest, reason: 'y'.repeat(201) },
      { sha256: digest, reason: 'y', more: 1 },
    ]) {
      expect([body, (await admin('takedown', body)).status]).toEqual([body, 400]);
    }
    expect((await takeDown({ owner: me.address, name: 'nothing' })).status).toBe(404);
    expect((await admin('takedowns?limit=0')).status).toBe(400);
  });

  it('hold when Redis has lost everything, and when the hub was started again', async () => {
    await store('kept', 'kept words');
    await takeDown({ sha256: sha256('kept words') });
    const redis = new Redis(world.redis.url);
    await redis.flushall();
    redis.disconnect();
    await eventually('the index is made anew', async () => (await read('kept')).status !== 503);
    expect((await read('kept')).status).toBe(451);
    await hub.service.stop('SIGKILL');
    hub = await world.hub(settings);
    expect((await read('kept')).status).toBe(451);
    await restore('kept words');
    expect((await read('kept')).text).toBe('kept words');
    const { acts } = (await admin('acts')).json as { acts: Json[] };
    expect(acts.slice(0, 2).map(({ action }) => action)).toEqual(['restored', 'taken_down']);
  });
});
