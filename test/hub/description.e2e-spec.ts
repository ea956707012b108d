import { createHash } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApiDescription } from '../support/api-description.js';
import { type Hub, HubWorld } from '../support/hub-world.js';
import type { Json } from '../support/payments.js';

describe('the description of the hub at /openapi.json', () => {
  let world: HubWorld;
  let hub: Hub;
  let description: ApiDescription;

  beforeAll(async () => {
    world = await HubWorld.start();
    hub = await world.hub();
    description = new ApiDescription((await hub.get('/openapi.json')).json as Json);
  });
  afterAll(() => world.stop());

  const message = (owner: string): string =>
    JSON.stringify({ owner, id: 'chat_1', message: 'hello world' });

  it('is true of what it answers', async () => {
    const stored = await hub.post('/api/upload', message('alice'));
    expect(description.problemsOf('post', '/api/upload', stored.status, stored.json)).toEqual([]);
    const answers = [
      ['get', '/api/download', await hub.get('/api/download?name=chat_1&owner=alice&display=json')],
      ['get', '/api/download', await hub.get('/api/download?name=nothing&owner=alice')],
      ['get', '/api/download', await hub.get('/api/download?owner=alice')],
      ['post', '/api/upload', await hub.post('/api/upload', 'not json')],
      ['get', '/api/conversation', await hub.get('/api/conversation?owner=alice')],
      ['get', '/api/conversation', await hub.get('/api/conversation?owner=alice&name=chat')],
      ['get', '/api/conversation', await hub.get('/api/conversation?owner=nobody')],
      ['get', '/api/info', await hub.get('/api/info')],
      ['delete', '/api/object', await hub.ask('/api/object?owner=a&name=b', { method: 'DELETE' })],
    ] as const;
    for (const [method, path, { status, json }] of answers) {
      expect([path, description.problemsOf(method, path, status, json)]).toEqual([path, []]);
    }
  });

  it('names every list, and those answer as described', async () => {
    const lists = Object.keys(description.paths).filter((path) => /\/api\/(list|get)/.test(path));
    expect(lists).toHaveLength(10);
    for (const path of lists) {
      const { status, json } = await hub.get(`${path}?owner=alice`);
      expect(status).toBe(200);
      expect([path, description.problemsOf('get', path, status, json)]).toEqual([path, []]);
    }
  });

  it('wants a key of the scope hub where API keys are in use, and says so in its own shape', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'x402-keys-')), 'keys.json');
    const [key, other] = ['x402_a-key-of-the-hub', 'x402_a-key-of-a-shop'];
    const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
    const keys = [
      { id: 'files', sha256: sha256(key), scopes: ['hub'] },
      { id: 'shop', sha256: sha256(other), scopes: ['verify', 'settle'] },
    ];
    writeFileSync(file, JSON.stringify({ version: 1, keys }));
    // An index is that of one storage: two hubs with one each would take it from each other.
    const own = await HubWorld.start();
    const closed = await own.hub({ API_KEYS_FILE: file });
    for (const [headers, status, text] of [
      [{}, 401, 'Unauthorized'],
      [{ 'x-api-key': other }, 403, 'Forbidden'],
    ] as const) {
      const refused = await closed.post('/api/upload', message('bob'), headers);
      expect([refused.status, refused.json]).toEqual([status, { Type: 'hub', Message: text }]);
      expect(description.problemsOf('post', '/api/upload', status, refused.json)).toEqual([]);
    }
    const stored = await closed.post('/api/upload', message('bob'), { 'x-api-key': key });
    expect(stored.status).toBe(200);
    await own.stop();
  });
});
