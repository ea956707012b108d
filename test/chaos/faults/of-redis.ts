import { delay, within } from '../client.js';
import { describeMoment, type Moment } from '../fleet.js';
import type { Role } from '../slot.js';
import { type Fault, MOMENT_PATIENCE_MS } from './fault.js';

export const crashRedis: Fault = {
  kind: 'Redis killed and restarted',
  name: 'Redis killed and restarted',
  run: async ({ ledger }, random) => {
    await delay(random.between(0, 1200));
    await ledger.crash(random.between(0, 1500));
  },
};

export const loseRedis: Fault = {
  kind: 'Redis lost whole',
  name: 'Redis lost whole',
  expectations: { isLedgerWhole: false },
  run: async ({ ledger }, random) => {
    await delay(random.between(100, 1200));
    await ledger.lose();
  },
};

/** Longer than anything the service waits for by habit. */
export const stallRedis: Fault = {
  kind: 'Redis stalls',
  name: 'Redis stalls',
  run: async ({ ledger }, random) => {
    await delay(random.between(0, 1000));
    await ledger.freeze(random.between(2100, 3500));
  },
};

/** One process alone does not hear from Redis, longer than its leases last. */
export const stallOne = (role: Role): Fault => ({
  kind: `an ${role === 'worker' ? 'owner of lanes' : role} cut off from Redis`,
  name: `one ${role} cut off from Redis`,
  run: async ({ fleet }, random) => {
    await delay(random.between(0, 800));
    const { redis } = random.pick(fleet.of(role));
    const ms = random.between(2100, 4500);
    if (random.chance(0.5)) {
      await redis.stall(ms);
      return;
    }
    redis.cut();
    await delay(ms);
    redis.restore();
  },
});

/** Redis has done it, the process lives on and was not told. */
export const swallowReply = (step: string, silentMs: number): Fault => ({
  kind: 'a reply of Redis swallowed',
  name: `the reply to ${step} swallowed, ${silentMs} ms of silence`,
  run: async ({ fleet }, random) => {
    for (let count = random.between(1, 3); count > 0; count -= 1) {
      await within(MOMENT_PATIENCE_MS, fleet.swallow(step, silentMs));
    }
    await delay(silentMs);
    fleet.disarm();
  },
});

/**
 * The primary dies, and a replica takes over that was cut off at this moment: what was acknowledged
 * since is lost, and every process lives on.
 */
export const failOver = (moment: Moment): Fault => ({
  kind: 'a replica that missed the newest writes',
  name: `a replica promoted that was cut off ${describeMoment(moment)}`,
  run: async (stage, random) => {
    const { ledger, fleet } = stage;
    const replica = await ledger.replica();
    let cutAt: number | undefined;
    const cut = async (): Promise<void> => {
      cutAt ??= Date.now();
      await replica.cutOff();
    };
    await within(MOMENT_PATIENCE_MS, fleet.at(moment, cut));
    fleet.disarm();
    if (cutAt === undefined) await cut();
    await delay(random.between(0, 700));
    await stage.failOver(replica, cutAt ?? Date.now(), random.between(0, 800));
  },
});
