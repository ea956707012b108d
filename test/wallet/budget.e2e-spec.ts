import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { Address } from 'viem';
import { freePort } from '../../sandbox/processes.js';
import { type SandboxRedis, startRedis } from '../../sandbox/redis.js';
import { runScript } from '../../src/platform/redis/redis-scripts.js';
import { NAME_GENERATION, RESTORE, UNLOCK } from '../../src/wallet/budget/budget-scripts.js';
import {
  type Reservation,
  SpendingStore,
  termsOf,
} from '../../src/wallet/budget/spending-store.js';
import { assetName } from '../../src/wallet/rules/policy.js';
import { authorizationId, type Spending } from '../../src/wallet/rules/spending.js';
import { SeededRandom } from '../support/seeded-random.js';

const NOW = 1_800_000_000;
const HOUR = 3600;
const wallet: Address = `0x${'a1'.repeat(20)}`;
const assets: readonly Address[] = [`0x${'b1'.repeat(20)}`, `0x${'b2'.repeat(20)}`];
const payees: readonly Address[] = [1, 2, 3, 4].map((at): Address => `0x${`c${at}`.repeat(20)}`);
const HUGE = 10n ** 70n;

describe('the budget of a wallet, in Redis', () => {
  let server: SandboxRedis;
  let redis: Redis;
  let store: SpendingStore;

  beforeAll(async () => {
    server = await startRedis(await freePort());
    redis = new Redis(server.url);
    store = new SpendingStore(redis);
  });
  afterAll(async () => {
    redis.disconnect();
    await server.stop('SIGKILL');
  });
  beforeEach(async () => {
    await redis.flushall();
    await unlock();
  });

  async function unlock(): Promise<string> {
    const generation = String(await runScript(redis, NAME_GENERATION, [`named-${Math.random()}`]));
    await runScript(redis, UNLOCK, [generation, wallet, 1, 'rules', 0]);
    return generation;
  }

  function spendingOf(nonce: bigint, more: Partial<Spending> = {}): Spending {
    const [asset = wallet] = assets;
    const terms = { chainId: 56, method: 'eip3009' as const, asset, nonce, ...more };
    const method = terms.method === 'permit2' ? 'permit2' : 'eip3009';
    return {
      payTo: payees[0] ?? wallet,
      amount: 1n,
      deadline: NOW + 300,
      ...terms,
      method,
      id: authorizationId({ ...terms, method }),
    };
  }

  const reservationOf = (spending: Spending, more: Partial<Reservation> = {}): Reservation => ({
    wallet,
    revision: 1,
    spending,
    windowSeconds: 24 * HOUR,
    now: NOW,
    charges: [{ list: undefined, budget: HUGE, payees: undefined }],
    ...more,
  });
  const spentOf = async (since = NOW - 24 * HOUR): Promise<bigint | undefined> =>
    (await store.spent(wallet, since, [{ asset: assetName(56, assets[0] ?? wallet) }]))?.[0];
  const restore = (generation: string, spending: Spending, flag: 'r' | 's' | 'x') =>
    runScript(redis, RESTORE, [
      generation,
      wallet,
      1,
      spending.id,
      termsOf(spending),
      spending.deadline,
      flag,
      '',
    ]);

  it('keeps running sums that are what adding everything up gives, however the window moves', async () => {
    const random = new SeededRandom(7);
    const charged = new Map<string, Spending>();
    let now = NOW;
    for (let step = 0; step < 600; step += 1) {
      now += random.pick([0, 1, 60, HOUR]);
      const windowSeconds = random.pick([1, 2, 24, 720]) * HOUR;
      const spending = spendingOf(BigInt(step), {
        asset: random.pick(assets),
        payTo: random.pick(payees),
        amount: BigInt(random.hex(random.between(1, 26))),
        deadline: now + random.between(-7200, 600),
      });
      const result = await store.reserve(reservationOf(spending, { windowSeconds, now }));
      expect(result.kind).toBe('reserved');
      charged.set(spending.id, spending);
      if (random.chance(0.2)) {
        const gone = random.pick([...charged.values()]);
        await store.release({ wallet, spending: gone });
        charged.delete(gone.id);
      }
      if (step % 10 > 0) continue;
      const since = now - windowSeconds;
      const questions = assets.flatMap((asset) => [
        { asset: assetName(56, asset) },
        { asset: assetName(56, asset), payees: payees.slice(0, 2) },
      ]);
      const expected = questions.map(({ asset, payees: some }) =>
        [...charged.values()]
          .filter((one) => assetName(56, one.asset) === asset && one.deadline >= since)
          .filter(({ payTo }) => some === undefined || some.includes(payTo))
          .reduce((sum, { amount }) => sum + amount, 0n),
      );
      expect(await store.spent(wallet, since, questions)).toEqual(expected);
    }
  });

  it('takes no longer for five thousand payments and twenty lists than for one', async () => {
    const many = Array.from({ length: 5000 }, (_, at) => spendingOf(BigInt(at)));
    for (let from = 0; from < many.length; from += 100) {
      const some = many.slice(from, from + 100);
      await Promise.all(some.map((one) => store.reserve(reservationOf(one))));
    }
    const list = (at: number): Address[] =>
      Array.from({ length: 90 }, (_, index): Address => {
        return `0x${(at * 1000 + index).toString(16).padStart(40, '0')}`;
      });
    const charges = Array.from({ length: 20 }, (_, at) => ({
      list: `list ${at}`,
      budget: HUGE,
      payees: [payees[0] ?? wallet, ...list(at)],
    }));
    await redis.config('RESETSTAT');
    for (let nonce = 0; nonce < 20; nonce += 1) {
      const spending = spendingOf(BigInt(10_000 + nonce));
      const result = await store.reserve(reservationOf(spending, { charges }));
      expect(result.kind).toBe('reserved');
    }
    const stats = await redis.info('commandstats');
    const microseconds = Number(/cmdstat_evalsha:.*usec_per_call=([\d.]+)/.exec(stats)?.[1]);
    expect(microseconds).toBeLessThan(20_000);
    expect(await spentOf()).toBe(5020n);
  });

  it('releases the charge that is named, not another of the same nonce', async () => {
    const old = spendingOf(1n, { deadline: NOW - 10 });
    await store.reserve(reservationOf(spendingOf(1n, { deadline: NOW + 300 })));
    await store.release({ wallet, spending: old });
    expect(await spentOf()).toBe(1n);
  });

  it('charges no nonce again that was released', async () => {
    const spending = spendingOf(1n);
    await store.reserve(reservationOf(spending));
    await store.release({ wallet, spending });
    expect(await spentOf()).toBe(0n);
    for (const deadline of [spending.deadline, spending.deadline + 1]) {
      const again = await store.reserve(reservationOf({ ...spending, deadline }));
      expect(again).toEqual({ kind: 'reused' });
    }
    // Nor after a loss, when only the journal has it.
    await redis.flushall();
    await restore(await unlock(), spending, 'x');
    expect(await store.reserve(reservationOf(spending))).toEqual({ kind: 'reused' });
    expect(await spentOf()).toBe(0n);
  });

  it('confirms a charge under the state it was made in alone', async () => {
    const spending = spendingOf(1n);
    const made = await store.reserve(reservationOf(spending));
    if (made.kind !== 'reserved') throw new Error(made.kind);
    await redis.flushall();
    const generation = await unlock();
    await restore(generation, spending, 'r');
    expect(await store.confirm(wallet, spending.id, made.generation)).toBe(false);
    expect(await store.confirm(wallet, spending.id, generation)).toBe(true);
  });

  it('signs no charge that came back when others had taken its place', async () => {
    const spending = spendingOf(1n, { amount: 6n });
    const charges = [{ list: undefined, budget: 10n, payees: undefined }];
    await store.reserve(reservationOf(spendingOf(2n, { amount: 6n }), { charges }));
    const generation = await unlock();
    await restore(generation, spending, 'r');
    expect(await spentOf()).toBe(12n);
    const again = await store.reserve(reservationOf(spending, { charges }));
    expect(again).toMatchObject({ kind: 'over_budget', spent: 12n });
    // What was signed before is only shown again: refusing that would protect nothing.
    await restore(generation, spending, 's');
    expect(await store.reserve(reservationOf(spending, { charges }))).toMatchObject({
      kind: 'known',
      isSigned: true,
    });
  });

  it('is locked after a restart of Redis on what it has on its disk', async () => {
    const { port, dir, child } = server;
    await store.reserve(reservationOf(spendingOf(1n)));
    const isGone = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await isGone;
    const again = await startRedis(port, dir);
    server = { ...again, stop: (signal) => again.stop(signal) };
    expect(await store.reserve(reservationOf(spendingOf(2n)))).toEqual({ kind: 'locked' });
    expect(await spentOf()).toBeUndefined();
    await unlock();
    expect(await spentOf()).toBe(1n);
  });
});
