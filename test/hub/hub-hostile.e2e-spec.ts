import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { fuzz } from '../support/hub-fuzz.js';
import { type Hub, HubWorld } from '../support/hub-world.js';
import { TEST_SEED } from '../support/seed.js';

/** The long form is `npm run test:fuzz`. */
const REQUESTS = 1500;

describe('a hub among strangers', () => {
  let world: HubWorld;
  let hub: Hub;

  beforeAll(async () => {
    world = await HubWorld.start();
    hub = await world.hub({ HUB_MAX_JSON_BYTES: '100000', HUB_MAX_MULTIPART_BYTES: '2000000' });
    await hub.store('witness', 'w', 'unharmed');
  });
  afterAll(() => world.stop());

  it('answers nonsense, and stays as it was', async () => {
    const { byStatus, failures } = await fuzz(hub, TEST_SEED, REQUESTS);
    expect(failures).toEqual([]);
    expect(Object.keys(byStatus).length).toBeGreaterThan(4);
    expect((await hub.download('witness', 'w')).text).toBe('unharmed');
    const inside = ['journal', 'spool', 'store-id', 'volumes', 'writer.lock'];
    expect(readdirSync(world.dir).sort()).toEqual(inside);
    const folders = readdirSync(`${world.dir}/volumes`);
    expect(folders.every((name) => /^(0x[0-9a-f]+|sha256-[0-9a-f]{64})$/.test(name))).toBe(true);
    expect(readdirSync(`${world.dir}/spool`)).toEqual([]);
  });

  it('takes no file over the limit, and keeps nothing of it', async () => {
    const answer = await hub.sendFile('big', 'b', Buffer.alloc(2_000_001));
    expect(answer.status).toBe(413);
    expect((await hub.download('big', 'b')).status).toBe(404);
    expect((await hub.sendFile('big', 'b', Buffer.alloc(2_000_000))).status).toBe(200);
    const endless = await hub.ask('/api/uploadData', {
      method: 'POST',
      headers: { 'content-type': 'multipart/form-data; boundary=b' },
      body: new Blob([Buffer.alloc(4_000_000, '--b\r\n')]),
    });
    expect(endless.status).toBeGreaterThanOrEqual(400);
    expect(endless.status).toBeLessThan(500);
  });

  it('keeps nothing of an upload that breaks off', async () => {
    const { port } = new URL(hub.url);
    const head = 'Content-Disposition: form-data; name="file"; filename="half"\r\n\r\n';
    const form = `--b\r\nContent-Disposition: form-data; name="owner"\r\n\r\nhalf\r\n--b\r\n${head}`;
    await new Promise<void>((resolve) => {
      const socket = connect(Number(port), '127.0.0.1', () => {
        socket.write(
          'POST /api/uploadData HTTP/1.1\r\nhost: hub\r\ncontent-length: 1900000\r\n' +
            `content-type: multipart/form-data; boundary=b\r\n\r\n${form}`,
        );
        socket.write(Buffer.alloc(1_500_000), () => {
          socket.destroy();
          resolve();
        });
      });
      socket.on('error', () => {
        resolve();
      });
    });
    await hub.store('half', 'other', 'whole');
    expect((await hub.download('half', 'half')).status).toBe(404);
    expect((await hub.get('/api/listNeedle?owner=half')).json).toHaveLength(1);
  });

  it('waits for no upload that does not go on', async () => {
    const socket = connect(Number(new URL(hub.url).port), '127.0.0.1');
    const heard = once(socket, 'data');
    socket.write(
      'POST /api/uploadData HTTP/1.1\r\nhost: hub\r\ncontent-length: 1900000\r\n' +
        'content-type: multipart/form-data; boundary=b\r\n\r\n--b\r\n' +
        'Content-Disposition: form-data; name="file"; filename="slow"\r\n\r\n',
    );
    socket.write(Buffer.alloc(1_500_000));
    const began = Date.now();
    const drip = setInterval(() => socket.write('x'), 500);
    const [answer] = (await heard) as [Buffer];
    clearInterval(drip);
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 408 /);
    expect(Date.now() - began).toBeLessThan(20_000);
    expect(readdirSync(`${world.dir}/spool`)).toEqual([]);
    socket.destroy();
  });

  it('serves others while many bodies hang', async () => {
    const { port } = new URL(hub.url);
    const sockets = Array.from({ length: 200 }, () => {
      const socket = connect(Number(port), '127.0.0.1');
      socket.on('error', () => undefined);
      socket.write(
        'POST /api/upload HTTP/1.1\r\nhost: hub\r\ncontent-length: 90000\r\n\r\n{"owner":',
      );
      return socket;
    });
    expect((await hub.store('calm', 'c', 'served')).Size).toBe(6);
    for (const socket of sockets) socket.destroy();
    expect((await hub.download('calm', 'c')).text).toBe('served');
  });
});
