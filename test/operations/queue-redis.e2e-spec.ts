import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import type { PrivateKeyAccount } from 'viem/accounts';
import { SIGNER } from '../../sandbox/accounts.js';
import { freePort } from '../../sandbox/processes.js';
import { type SandboxRedis, startRedis } from '../../sandbox/redis.js';
import type { Service } from '../../sandbox/service.js';
import { recordKey } from '../../src/settlement/ledger/keys.js';
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
    if (queue.child.exitCode !== null || queue.child.signalCode !== null) return;
    const isGone = new Promise((resolve) => queue.child.once('exit', resolve));
    queue.child.kill('SIGKILL');
    await isGone;
  };

  /** Events of its queue that another process took a job: it is written when a reader has fetched what was added. */
  const jobsTaken = async (): Promise<number> => {
    const redis = new Redis(port, { lazyConnect: true, maxRetriesPerRequest: 0 });
    redis.on('error', () => undefined);
    try {
      await redis.connect();
      const events = await redis.xrange(`bull:settle-${world.chainId}:events`, '-', '+');
      return events.filter(([, fields]) => fields.includes('active')).length;
    } catch {
      return 0;
    } finally {
      redis.disconnect();
    }
  };

  /** A settle whose job goes through it: one process added it, another one took it. */
  const isUsed = async (): Promise<boolean> => {
    const before = await jobsTaken();
    expect(await settled(await aBody())).toBe('success');
    return (await jobsTaken()) > before;
  };

  const aBody = (payTo = newAccount().address): Promise<Body> =>
    eip3009Body({ payer, chainId: world.chainId, token: world.usd, payTo, amount: AMOUNT });

  /** No second try: the queue is no reason for any answer but success. */
  const settled = async (body: Body): Promise<unknown> => {
    const { body: answer } = await post(`${api.url}/v2/settle`, body);
    return answer['success'] === true ? 'success' : answer['errorReason'];
  };

  /** Payments before and after a fault are answered as paid, and are paid, once each. */
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
    // The queue's Redis is not running yet: a start does not need it.
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

  /** What the ledger's Redis holds of queues. */
  const leftWithLedger = async (): Promise<readonly string[]> => {
    const redis = new Redis(world.redis.url);
    try {
      return (await redis.keys('*')).filter((key) => key.includes('bull'));
    } finally {
      redis.disconnect();
    }
  };

  /** Settlements that the ledger knows; each was paid. */
  const paidIds = async (): Promise<readonly string[]> => {
    const redis = new Redis(world.redis.url);
    try {
      const keys = await redis.keys(recordKey(world.chainId, '*'));
      return keys.map((key) => key.slice(recordKey(world.chainId, '').length));
    } finally {
      redis.disconnect();
    }
  };

  const transactionsOfLane = (): Promise<number> =>
    world.client.getTransactionCount({ address: SIGNER.address });

  it('is not needed for a start, nor for a settle', async () => {
    await settlesDespite(() => Promise.resolve());
    expect(await leftWithLedger()).toEqual([]);
  }, 90_000);

  it('is said to be away once, and not at each attempt to reach it', async () => {
    await new Promise((resolve) => setTimeout(resolve, 5000));
    for (const service of [api, worker]) {
      const lines = service
        .log()
        .split('\n')
        .filter((line) =>
          /ECONNREFUSED|cannot (?:add jobs to|take jobs from) the settlement queue/.test(line),
        );
      expect(lines.length).toBeLessThanOrEqual(3);
      expect(lines.length).toBeGreaterThan(0);
    }
    for (const { opsUrl, url } of [api, worker]) {
      expect((await get(`${url}/health/ready`)).status).toBe(200);
      const begun = Date.now();
      expect((await get(`${opsUrl}/metrics`)).status).toBe(200);
      expect(Date.now() - begun).toBeLessThan(2000);
    }
  }, 30_000);

  describe('once it is there', () => {
    beforeEach(async () => {
      await startQueue();
      await eventually('jobs go through it', isUsed, 30_000);
    }, 60_000);
    afterEach(async () => {
      queue.child.kill('SIGCONT');
      await killQueue();
    }, 30_000);

    it('holds the jobs, and the ledger none', async () => {
      await settlesDespite(() => Promise.resolve());
      expect(await jobsTaken()).toBeGreaterThan(0);
      expect(await leftWithLedger()).toEqual([]);
    }, 90_000);

    it('may hold jobs that nobody wrote, and hold one twice', async () => {
      const forging = new Queue(`settle-${world.chainId}`, { connection: { port } });
      const forged = [null, 7, 'x', {}, { settlementIds: [] }, { settlementIds: [['x']] }];
      const strange = ['a'.repeat(43), `}${'b'.repeat(42)}`];
      const add = async (data: unknown): Promise<void> => {
        await forging.add('settle', data, { removeOnComplete: true, removeOnFail: true });
      };
      const before = await paidIds();
      await settlesDespite(async () => {
        for (const data of [...forged, { settlementIds: strange }]) await add(data);
      });
      const done = (await paidIds()).filter((id) => !before.includes(id));
      expect(done.length).toBeGreaterThan(0);
      // Of those that are paid, again and again: nothing is paid once more.
      const spent = await transactionsOfLane();
      for (let times = 0; times < 3; times += 1) await add({ settlementIds: done.slice(0, 64) });
      await eventually(
        'the jobs are gone',
        async () => (await forging.getJobCountByTypes('wait', 'active', 'delayed', 'failed')) === 0,
        30_000,
      );
      expect(await transactionsOfLane()).toBe(spent);
      await forging.close();
    }, 120_000);

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

    it.each(['SIGSTOP', 'SIGKILL'] as const)(
      'does not hold up the end of who holds a lane after %s',
      async (signal) => {
        const payTo = newAccount().address;
        const bodies = await Promise.all(Array.from({ length: PAYMENTS }, () => aBody(payTo)));
        const settling = bodies.map((body) => settled(body));
        queue.child.kill(signal);
        const begun = Date.now();
        await worker.stop('SIGTERM');
        expect(Date.now() - begun).toBeLessThan(10_000);
        expect(worker.child.exitCode).toBe(0);
        worker = await world.service({ ...settings(), ROLES: 'worker' });
        expect(await Promise.all(settling)).toEqual(bodies.map(() => 'success'));
        expect(await world.balance(world.usd, payTo)).toBe(AMOUNT * BigInt(bodies.length));
      },
      60_000,
    );
  });
});
