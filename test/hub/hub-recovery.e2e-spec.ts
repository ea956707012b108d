import { readdirSync, readFileSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { eventually } from '../support/http.js';
import { type Hub, HubWorld, type Stored } from '../support/hub-world.js';

const OWNERS = 5;

/** A file that was answered, and what it said. */
interface Answered {
  readonly owner: string;
  readonly id: string;
  readonly message: string;
  readonly stored: Stored;
}

describe('a hub on disk', () => {
  let world: HubWorld;

  beforeEach(async () => {
    world = await HubWorld.start();
  });
  afterEach(() => world.stop());

  /** Uploads of any length, until told to stop or the hub is gone. Collects what was answered. */
  function uploadFor(hub: Hub, answered: Answered[], isOver: () => boolean): Promise<void>[] {
    return Array.from({ length: 50 }, async (_, lane) => {
      for (let round = 0; !isOver(); round += 1) {
        const [owner, id] = [`owner${lane % OWNERS}`, `l${lane}_${round}`];
        const message = `${id} `.repeat(1 + ((lane * 131 + round * 17) % 400));
        try {
          const { status, json } = await hub.upload({ owner, id, message });
          if (status === 200) answered.push({ owner, id, message, stored: json as Stored });
        } catch {
          return;
        }
      }
    });
  }

  async function expectAllThere(hub: Hub, answered: readonly Answered[]): Promise<void> {
    const left = [...answered];
    const look = async (): Promise<void> => {
      for (let one = left.pop(); one !== undefined; one = left.pop()) {
        const { owner, id, message, stored } = one;
        const { status, text } = await hub.download(owner, id);
        expect([id, status, text === message]).toEqual([id, 200, true]);
        const shown = await hub.get(`/api/download?owner=${owner}&name=${id}&display=json`);
        expect(shown.json).toEqual(stored);
      }
    };
    await Promise.all(Array.from({ length: 16 }, look));
  }

  function expectNoOverlap(all: readonly Stored[]): void {
    const ranges = all.map(({ File, Start, Size }) => ({ File, from: Start, to: Start + Size }));
    ranges.sort((a, b) => a.File.localeCompare(b.File) || a.from - b.from);
    ranges.forEach((range, index) => {
      const before = ranges[index - 1];
      if (before?.File === range.File) expect(range.from).toBeGreaterThanOrEqual(before.to);
    });
  }

  it('killed amid 50 parallel uploads keeps every one it has answered', async () => {
    const hub = await world.hub();
    const answered: Answered[] = [];
    let isOver = false;
    const uploads = uploadFor(hub, answered, () => isOver);
    await eventually('uploads are under way', () => answered.length > 200, 30_000);
    await hub.service.stop('SIGKILL');
    isOver = true;
    await Promise.all(uploads);

    const again = await world.hub();
    await expectAllThere(again, answered);
    const later = await Promise.all(
      Array.from({ length: OWNERS }, (_, index) => again.store(`owner${index}`, 'later', 'later')),
    );
    expectNoOverlap([...answered.map(({ stored }) => stored), ...later]);
  });

  it('finds every file again after its index was wiped, and denies none meanwhile', async () => {
    const hub = await world.hub();
    await Promise.all(
      Array.from({ length: 200 }, (_, index) => hub.store('flushed', `f_${index}`, `no. ${index}`)),
    );
    const redis = new Redis(world.redis.url);
    await redis.flushall();
    await redis.quit();
    const statuses = new Set<number>();
    await eventually('the index is there again', async () => {
      const { status } = await hub.download('flushed', 'f_0');
      statuses.add(status);
      return status === 200;
    });
    expect([...statuses].every((status) => status === 200 || status === 503)).toBe(true);
    for (let index = 0; index < 200; index += 1) {
      expect((await hub.download('flushed', `f_${index}`)).text).toBe(`no. ${index}`);
    }
    expect((await hub.post('/api/conversation', 'owner=flushed&id=f')).json).toHaveLength(200);
  });

  it('finds every file again after index and process were lost together', async () => {
    const hub = await world.hub();
    await hub.store('o', 'kept', 'kept');
    await hub.service.stop('SIGKILL');
    const redis = new Redis(world.redis.url);
    await redis.flushall();
    await redis.quit();
    const again = await world.hub();
    expect((await again.download('o', 'kept')).text).toBe('kept');
    expect(await again.store('o', 'next', 'next')).toMatchObject({ Start: 31 });
  });

  it('notices an index that was set back', async () => {
    const hub = await world.hub();
    await hub.store('o', 'old', 'old');
    const redis = new Redis(world.redis.url);
    const keys = await redis.keys('hub:i:*');
    const dumps = await Promise.all(keys.map((key) => redis.dumpBuffer(key)));
    await hub.store('o', 'new', 'new');
    await redis.flushall();
    await Promise.all(
      keys.map((key, index) => redis.restore(key, 0, dumps[index] ?? Buffer.alloc(0))),
    );
    await redis.quit();
    const statuses = new Set<number>();
    await eventually('the newer file is found', async () => {
      const { status } = await hub.download('o', 'new');
      statuses.add(status);
      return status === 200;
    });
    expect(statuses.has(404)).toBe(false);
  });

  it('starts on torn ends, with all before them', async () => {
    const hub = await world.hub();
    const stored = await hub.store('0xabcd', 'whole', 'a whole one');
    await hub.store('0xabcd', 'torn', 'this one is torn');
    await hub.service.stop('SIGKILL');
    const [volume = ''] = readdirSync(join(world.dir, 'volumes/0xabcd'));
    truncateSync(join(world.dir, 'volumes/0xabcd', volume), 31 + 5);
    const [segment = ''] = readdirSync(join(world.dir, 'journal'));
    const journal = join(world.dir, 'journal', segment);
    truncateSync(journal, readFileSync(journal).length - 7);

    const again = await world.hub();
    expect((await again.download('0xabcd', 'whole')).text).toBe('a whole one');
    const next = await again.store('0xabcd', 'next', 'next');
    expect(next.File).toBe(stored.File);
    expect(next.Start).toBeGreaterThanOrEqual(31);
    expect((await again.download('0xabcd', 'next')).text).toBe('next');
    expect((await again.download('0xabcd', 'torn')).status).not.toBe(200);
  });

  it('has one writer, and hands over within two seconds of its death', async () => {
    const first = await world.hub();
    const second = await world.hub();
    await first.store('shared', 'a', 'by the first');
    expect((await second.download('shared', 'a')).text).toBe('by the first');
    const waiting = second.upload({ owner: 'shared', id: 'b', message: 'by the second' });
    await new Promise((resolve) => setTimeout(resolve, 500));
    const killedAt = performance.now();
    await first.service.stop('SIGKILL');
    expect((await waiting).json).toMatchObject({ Start: 31, Size: 13 });
    expect(performance.now() - killedAt).toBeLessThan(2000);
    expect((await second.download('shared', 'b')).text).toBe('by the second');
  });

  it('told to end amid uploads answers what it has, and hands over', async () => {
    const first = await world.hub();
    const second = await world.hub();
    const answered: Answered[] = [];
    let isOver = false;
    const uploads = uploadFor(first, answered, () => isOver);
    await eventually('uploads are under way', () => answered.length > 100, 30_000);
    const ending = first.service.stop('SIGTERM');
    await new Promise((resolve) => setTimeout(resolve, 200));
    isOver = true;
    await Promise.all(uploads);
    await ending;
    expect(first.service.child.exitCode).toBe(0);
    const later = await second.store('owner0', 'later', 'later');
    await expectAllThere(second, answered);
    expectNoOverlap([...answered.map(({ stored }) => stored), later]);
  });

  it('answers 503 while Redis is away, and is well when it is back', async () => {
    const port = world.redis.port;
    const hub = await world.hub();
    await hub.store('o', 'kept', 'kept');
    await world.redis.stop('SIGKILL');
    for (const answer of [
      await hub.download('o', 'kept'),
      await hub.upload({ owner: 'o', id: 'late', message: 'late' }),
    ]) {
      expect(answer.status).toBe(503);
      expect(answer.headers.get('retry-after')).not.toBeNull();
    }
    expect((await hub.get('/health')).status).toBe(503);
    const { startRedis } = await import('../../sandbox/redis.js');
    const redis = await startRedis(port);
    await eventually(
      'everything is found in an empty Redis',
      async () => (await hub.download('o', 'kept')).status === 200,
    );
    await hub.store('o', 'more', 'more');
    await redis.stop('SIGKILL');
  });
});
