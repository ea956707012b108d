import type { SeededRandom } from '../../support/seeded-random.js';
import { delay, within } from '../client.js';
import { describeMoment, type Moment } from '../fleet.js';
import type { Role } from '../slot.js';
import type { Stage } from '../stage.js';
import { type Fault, MOMENT_TIMEOUT_MS } from './fault.js';

const MISSED_THE_NEWEST = 'a replica that missed the newest writes';

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

/** One process alone gets no answer of Redis, longer than its leases last. */
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
      await within(MOMENT_TIMEOUT_MS, fleet.swallow(step, silentMs));
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
  kind: MISSED_THE_NEWEST,
  name: `a replica promoted that was cut off ${describeMoment(moment)}`,
  run: (stage, random) => promoteOneThatMissed(stage, random, moment),
});

/** The same, and a process that has told of what is lost now sleeps meanwhile: it is late at the new primary. */
export const failOverAsleep = (moment: Moment, ms: number): Fault => ({
  kind: 'a process late after a replica that missed the newest writes',
  name: `a replica promoted that was cut off ${describeMoment(moment)}, one api asleep for ${ms} ms`,
  run: async (stage, random) => {
    const sleeper = random.pick(stage.fleet.of('api'));
    await promoteOneThatMissed(stage, random, moment, () => {
      sleeper.freeze();
    });
    await delay(ms);
    sleeper.thaw();
  },
});

async function promoteOneThatMissed(
  stage: Stage,
  random: SeededRandom,
  moment: Moment,
  before: () => void = () => undefined,
): Promise<void> {
  const { ledger, fleet } = stage;
  const replica = await ledger.replica();
  let cutAt: number | undefined;
  const cut = async (): Promise<void> => {
    cutAt ??= Date.now();
    await replica.cutOff();
  };
  await within(MOMENT_TIMEOUT_MS, fleet.at(moment, cut));
  fleet.disarm();
  if (cutAt === undefined) await cut();
  await delay(random.between(0, 700));
  before();
  await stage.failOver(replica, cutAt ?? Date.now(), random.between(0, 800));
}
