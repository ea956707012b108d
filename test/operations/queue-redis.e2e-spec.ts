import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { PrivateKeyAccount } from 'viem/accounts';
import { freePort } from '../../sandbox/processes.js';
import { type SandboxRedis, startRedis } from '../../sandbox/redis.js';
import type { Service } from '../../sandbox/service.js';
import { eventually, get, post } from '../support/http.js';
import { type Body, eip3009Body, newAccount } from '../support/payments.js';
import { World } from '../support/world.js';

const PAYMENTS = 12;
const AMOUNT = 1000n;
const NO_DISK = ['--appendonly', 'no'];

describe('a Redis for the queues alone', () => {
  let world: World;
  let api: Service;
  let worker: Service;
  let payer: PrivateKeyAccount;
  let port: number;
  let queue: SandboxRedis;
  const former: SandboxRedis[] = [];

  const startQueue = async (): Promise<void> => {
    queue = await startRedis(port, undefined, NO_DISK);
    former.push(queue);
  };

  const killQueue = async (): Promise<void> => {
    const isGone = new Promise((resolve) => queue.child.once('exit', resolve));
    queue.child.kill('SIGKILL');
    await isGone;
  };

  /** Jobs go through it: one reader fetches what another process added. */
  const isUsed = async (): Promise<boolean> => {
    const redis = new Redis(port, { lazyConnect: true, maxRetriesPerRequest: 0 });
    redis.on('error', () => undefined);
    try {
      await redis.connect();
      return (await redis.exists(`bull:settle-${world.chainId}:meta`)) === 1;
    } catch {
      return false;
    } finally {
      redis.disconnect();
    }
  };

  const aBody = (payTo = newAccount().address): Promise<Body> =>
    eip3009Body({ payer, chainId: world.chainId, token: world.usd, payTo, amount: AMOUNT });

  /** No second try: the queue is no reason for any answer but success. */
  const settled = async (body: Body): Promise<unknown> => {
    const { body: answer } = await post(`${api.url}/v2/settle`, body);
    return answer['success'] === true ? 'success' : answer['errorReason'];
  };

  /** Payments before and after a fault are told as paid, and are paid, once each. */
  async function settlesDespite(fault: () => Promise<void>): Promise<void> {
    const payTo = newAccount().address;
    const bodies = await Promise.all(Array.from({ length: 2 * PAYMENTS }, () => aBody(payTo)));
    const before = bodies.slice(0, PAYMENTS).map((body) => settled(body));
    await fault();
    const after = bodies.slice(PAYMENTS).map((body) => settled(body));
    expect(await Promise.all([...before, ...after])).toEqual(bodies.map(() => 'success'));
    expect(await world.balance(world.usd, payTo)).toBe(AMOUNT * BigInt(bodies.length));
    const again = await Promise.all(bodies.map((body) => settled(body)));
    expect(again).toEqual(bodies.map(() => 'duplicate_settlement'));
    expect((await get(`${api.opsUrl}/health`)).status).toBe(200);
    expect((await get(`${worker.opsUrl}/health`)).status).toBe(200);
  }

  const settings = (): Record<string, string> => ({
    QUEUE_REDIS_URL: `redis://127.0.0.1:${port}`,
    SETTLE_WAIT_MS: '15000',
  });

  beforeAll(async () => {
    [world, port] = await Promise.all([World.start({ blockTime: 0.5 }), freePort()]);
    payer = await world.payer();
    // Nobody is there yet: a start does not need it.
    api = await world.service({ ...settings(), ROLES: 'api' });
    worker = await world.service({ ...settings(), ROLES: 'worker' });
    const canSettle = async (): Promise<boolean> =>
      (await get(`${api.opsUrl}/health`)).status === 200;
    await eventually('settles', canSettle, 30_000);
  }, 120_000);
  afterAll(async () => {
    await world.stop();
    await Promise.all(former.map((redis) => redis.stop('SIGKILL')));
  });

  it('is not needed for a start, nor for a settle', async () => {
    await settlesDespite(() => Promise.resolve());
  }, 90_000);

  describe('once it is there', () => {
    beforeEach(async () => {
      await startQueue();
      await eventually('jobs go through it', isUsed, 30_000);
    }, 60_000);
    afterEach(async () => {
      queue.child.kill('SIGCONT');
      await killQueue();
    }, 30_000);

    it('may die', async () => {
      await settlesDespite(killQueue);
      await startQueue();
    }, 90_000);

    it('may freeze, and thaw while settles are under way', async () => {
      await settlesDespite(() => {
        queue.child.kill('SIGSTOP');
        return Promise.resolve();
      });
      await settlesDespite(() => {
        queue.child.kill('SIGCONT');
        return Promise.resolve();
      });
      expect(await isUsed()).toBe(true);
    }, 120_000);

    it('may be emptied', async () => {
      await settlesDespite(async () => {
        const redis = new Redis(port);
        await redis.flushall();
        redis.disconnect();
      });
    }, 90_000);

    it('may be replaced by an empty one', async () => {
      await settlesDespite(async () => {
        await killQueue();
        await startQueue();
      });
    }, 90_000);

    it('does not hold up an end while it is frozen', async () => {
      const ending = await world.service({ ...settings(), ROLES: 'worker' });
      queue.child.kill('SIGSTOP');
      const begun = Date.now();
      await ending.stop('SIGTERM');
      expect(Date.now() - begun).toBeLessThan(10_000);
    }, 60_000);
  });
});
