import { once } from 'node:events';
import { get } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { eventually } from '../support/http.js';
import { type Hub, HubWorld } from '../support/hub-world.js';
import { residentBytes } from '../support/resident.js';

jest.setTimeout(180_000);

const MEMBERS = 10_000;
const READERS = 24;
/** Bytes of a text; all of them together are what a reader gets. */
const TEXT_BYTES = 2000;
/** Every name of a member is as long as it may be. */
const [OWNER, BUCKET, TALK] = ['o'.repeat(250), 'b'.repeat(250), 't'.repeat(500)];
const MIB = 2 ** 20;
const STALLED = 8;
/** Long answers that one address may have under way. */
const PLACES = 32;
/** What whole answers would take at the least is more; when garbage is collected depends on the machine. */
const MOST_BYTES = 0.6 * (READERS + STALLED) * MEMBERS * TEXT_BYTES;

describe('a long conversation', () => {
  let world: HubWorld;
  let hub: Hub;

  const store = async (number: number): Promise<void> => {
    const message = `${number} `.padEnd(TEXT_BYTES, 'é"\n');
    const fields = { owner: OWNER, bucket: BUCKET, id: `${TALK}_${number}`, message };
    expect((await hub.upload(fields)).status).toBe(200);
  };

  beforeAll(async () => {
    world = await HubWorld.start();
    hub = await world.hub();
    for (let at = 0; at < MEMBERS; at += 100) {
      await Promise.all(Array.from({ length: 100 }, (_, index) => store(at + index)));
    }
  });
  afterAll(() => world.stop());

  const pathOf = (page: string): string => `/api/conversation?owner=${OWNER}&name=${TALK}&${page}`;
  const path = pathOf(`length=${MEMBERS}`);

  /** Bytes of the whole answer. */
  const read = (): Promise<number> =>
    new Promise((resolve, reject) => {
      get(hub.url + path, { agent: false }, (response) => {
        let size = 0;
        response.on('data', (piece: Buffer) => (size += piece.length));
        response.on('end', () => {
          resolve(size);
        });
        response.on('error', reject);
      }).on('error', reject);
    });

  it('24 readers of 10 000 members, at their pace and stalled, take less than what they are sent', async () => {
    await read();
    const before = residentBytes(hub.service.child);
    let most = 0;
    const watch = setInterval(() => {
      most = Math.max(most, residentBytes(hub.service.child));
    }, 20);
    const { port } = new URL(hub.url);
    const stalled = Array.from({ length: STALLED }, () => {
      const socket = connect(Number(port), '127.0.0.1');
      socket.pause();
      socket.on('error', () => undefined);
      socket.write(`GET ${path} HTTP/1.1\r\nhost: hub\r\n\r\n`);
      return socket;
    });
    const sizes = await Promise.all(Array.from({ length: READERS }, read));
    clearInterval(watch);
    for (const socket of stalled) socket.destroy();
    console.log(`${READERS} readers: ${((most - before) / MIB).toFixed(0)} MiB`);
    expect(new Set(sizes).size).toBe(1);
    expect(most - before).toBeLessThan(MOST_BYTES);
  });

  it('comes whole and in its order, from anywhere in it', async () => {
    const all = (await hub.get(path)).json as string[];
    expect(all.map((text) => Number.parseInt(text, 10))).toEqual(
      Array.from({ length: MEMBERS }, (_, index) => index),
    );
    expect(all[7]).toBe('7 '.padEnd(TEXT_BYTES, 'é"\n'));
    const page = await hub.get(pathOf('offset=9990&length=100'));
    expect((page.json as string[]).map((text) => Number.parseInt(text, 10))).toEqual(
      Array.from({ length: 10 }, (_, index) => 9990 + index),
    );
  });

  it('more readers of one address than it may have at once are told to come back', async () => {
    const { port } = new URL(hub.url);
    const stalled: Socket[] = [];
    // One after the other: who is refused holds no place, and which one that is would be luck.
    const stall = async (): Promise<string> => {
      const socket = connect(Number(port), '127.0.0.1');
      stalled.push(socket);
      socket.write(`GET ${path} HTTP/1.1\r\nhost: hub\r\n\r\n`);
      const [first] = (await once(socket, 'data')) as [Buffer];
      socket.pause();
      socket.on('error', () => undefined);
      return first.toString('latin1').slice(0, 'HTTP/1.1 200'.length);
    };
    const statuses: string[] = [];
    while (statuses.length < 2 * PLACES && statuses.at(-1) !== 'HTTP/1.1 429') {
      statuses.push(await stall());
    }
    expect(statuses).toEqual([...Array<string>(PLACES).fill('HTTP/1.1 200'), 'HTTP/1.1 429']);
    expect((await fetch(hub.url + path)).status).toBe(429);
    for (const socket of stalled) socket.destroy();
    await eventually('others are served again', async () => {
      const answer = await fetch(hub.url + pathOf('length=1'));
      return answer.status === 200;
    });
  });
});
