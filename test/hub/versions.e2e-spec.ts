import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { ApiDescription } from '../support/api-description.js';
import { eventually } from '../support/http.js';
import { type Hub, type HubAnswer, HubWorld } from '../support/hub-world.js';
import { type Json, newAccount } from '../support/payments.js';
import { strictHeaders } from '../support/strict-signature.js';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

describe('versions of a name', () => {
  let world: HubWorld;
  let hub: Hub;

  const versions = (name: string): Promise<HubAnswer> =>
    hub.get(`/api/versions?${new URLSearchParams({ owner: 'o', name }).toString()}`);
  const digests = async (name: string): Promise<readonly unknown[]> =>
    ((await versions(name)).json as readonly Json[]).map((row) => row['Sha256']);
  const version = (name: string, digest: string): Promise<HubAnswer> =>
    hub.get(
      `/api/download?${new URLSearchParams({ owner: 'o', name, sha256: digest }).toString()}`,
    );

  beforeAll(async () => {
    world = await HubWorld.start();
    hub = await world.hub({ HUB_VERSIONS: '2' });
    for (const text of ['first', 'second', 'third', 'fourth']) await hub.store('o', 'a', text);
  });
  afterAll(() => world.stop());

  it('are listed newest first, as many as the setting says, and read by their digest', async () => {
    const answer = await versions('a');
    const description = new ApiDescription((await hub.get('/openapi.json')).json as Json);
    expect(description.problemsOf('get', '/api/versions', answer.status, answer.json)).toEqual([]);
    expect(answer.json).toMatchObject([
      { Name: 'a', Size: 6, Sha256: sha256('fourth'), IsNewest: true, ContentType: 'text/plain' },
      { Name: 'a', Size: 5, Sha256: sha256('third'), IsNewest: false },
      { Name: 'a', Size: 6, Sha256: sha256('second'), IsNewest: false },
    ]);
    for (const text of ['fourth', 'third', 'second']) {
      expect((await version('a', sha256(text))).text).toBe(text);
    }
    expect((await version('a', `0x${sha256('third').toUpperCase()}`)).text).toBe('third');
    expect((await version('a', sha256('first'))).status).toBe(404);
    expect((await version('a', 'third')).status).toBe(400);
    expect((await hub.download('o', 'a')).text).toBe('fourth');
    expect((await versions('nothing')).status).toBe(404);
  });

  it('are the same when the index was made anew', async () => {
    const before = await digests('a');
    const redis = new Redis(world.redis.url);
    await redis.flushall();
    redis.disconnect();
    await eventually('the index is made anew', async () => (await versions('a')).status === 200);
    expect(await digests('a')).toEqual(before);
  });

  it('are only the newest where the setting is off, and all that it says where it is raised', async () => {
    await hub.service.stop('SIGTERM');
    hub = await world.hub();
    expect(await digests('a')).toEqual([sha256('fourth')]);
    expect((await version('a', sha256('third'))).status).toBe(404);
    await hub.service.stop('SIGTERM');
    hub = await world.hub({ HUB_VERSIONS: '3' });
    expect(await digests('a')).toEqual(['fourth', 'third', 'second', 'first'].map(sha256));
  });

  it('are what their owner signs for in a private hub, and gone with their name', async () => {
    const own = await HubWorld.start();
    const me = newAccount();
    const closed = await own.hub({ HUB_MODE: 'private', HUB_VERSIONS: '2' });
    const signed = async (method: string, path: string, body = ''): Promise<HubAnswer> => {
      const headers = await strictHeaders(me, { method, path, body });
      return closed.ask(path, { method, headers, ...(body !== '' && { body }) });
    };
    for (const message of ['one', 'two']) {
      const body = JSON.stringify({ owner: me.address, id: 'n', message });
      expect((await signed('POST', '/api/upload', body)).status).toBe(200);
    }
    const list = `/api/versions?owner=${me.address}&name=n`;
    expect((await closed.get(list)).status).toBe(401);
    expect((await signed('GET', list)).json).toHaveLength(2);
    const old = `/api/download?name=n&sha256=${sha256('one')}`;
    expect((await signed('GET', old)).text).toBe('one');
    expect((await signed('DELETE', '/api/object?name=n')).status).toBe(200);
    expect((await signed('GET', list)).status).toBe(404);
    const body = JSON.stringify({ owner: me.address, id: 'n', message: 'three' });
    expect((await signed('POST', '/api/upload', body)).status).toBe(200);
    expect((await signed('GET', list)).json).toHaveLength(1);
    expect((await signed('GET', old)).status).toBe(404);
    await own.stop();
  });
});
