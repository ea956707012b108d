import { describe, expect, it } from '@jest/globals';
import { ReplyError } from 'ioredis';
import { RedisUnavailableError } from '../../protocol/errors.js';
import type { SharedRedis } from './ledger-connections.js';
import { runKeyedScript, script } from './redis-scripts.js';

const noScript = (): Error =>
  new (ReplyError as new (message: string) => Error)('NOSCRIPT No matching script.');

/** It answers what is asked of it later, and in order. */
class FakeRedis {
  readonly known = new Set<string>();
  readonly texts: string[] = [];
  fails = false;

  async evalsha(sha: string): Promise<string> {
    await Promise.resolve();
    if (!this.known.has(sha)) throw noScript();
    return 'by hash';
  }

  async eval(lua: string): Promise<string> {
    this.texts.push(lua);
    await new Promise((resolve) => setTimeout(resolve, 5));
    if (this.fails) throw new Error('it went away');
    this.known.add(script('any', lua).sha);
    return 'by text';
  }
}

const run = (redis: FakeRedis, lua: string) =>
  runKeyedScript(redis as unknown as SharedRedis, script('a step', lua), ['key'], []);

describe('a script that Redis does not know', () => {
  it('is sent as text once, however many steps need it at that moment', async () => {
    const redis = new FakeRedis();
    const replies = await Promise.all(Array.from({ length: 50 }, () => run(redis, 'return 1')));
    expect(redis.texts).toHaveLength(1);
    expect(replies.filter((reply) => reply === 'by text')).toHaveLength(1);
    expect(replies.filter((reply) => reply === 'by hash')).toHaveLength(49);
  });

  it('is sent again by a Redis that forgot it, and to each one apart', async () => {
    const [one, other] = [new FakeRedis(), new FakeRedis()];
    await run(one, 'return 1');
    one.known.clear();
    expect(await Promise.all([run(one, 'return 1'), run(other, 'return 1')])).toEqual([
      'by text',
      'by text',
    ]);
    await Promise.all([run(one, 'return 2'), run(one, 'return 1')]);
    expect(one.texts).toEqual(['return 1', 'return 1', 'return 2']);
  });

  it('is sent by each that waited where the first to send it failed', async () => {
    const redis = new FakeRedis();
    redis.fails = true;
    const first = run(redis, 'return 1');
    const second = run(redis, 'return 1');
    await expect(first).rejects.toBeInstanceOf(RedisUnavailableError);
    redis.fails = false;
    expect(await second).toBe('by text');
    expect(redis.texts).toHaveLength(2);
  });
});
