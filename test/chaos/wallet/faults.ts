import { cp, open, rm, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import {
  CONFIRM,
  MARK_SIGNED,
  PUT_IN_FORCE,
  RELEASE,
  RESERVE,
  RESTORE,
  SET_RULES,
  SPENT,
  UNLOCK,
} from '../../../src/wallet/budget/budget-scripts.js';
import type { SeededRandom } from '../../support/seeded-random.js';
import type { Slot, WalletStage } from './stage.js';

/** Something that goes wrong during a run, and is right again when it resolves. */
interface Disturbance {
  readonly name: string;
  readonly run: (stage: WalletStage, random: SeededRandom) => Promise<void>;
}

const STEPS = [
  RESERVE,
  RESERVE,
  CONFIRM,
  CONFIRM,
  MARK_SIGNED,
  RELEASE,
  RESTORE,
  UNLOCK,
  SET_RULES,
  PUT_IN_FORCE,
  SPENT,
];

/** Longer than a process waits for a command. */
const FROZEN_MS = 2300;

const anySlot = (stage: WalletStage, random: SeededRandom): Slot => random.pick(stage.slots);

const killAtStep: Disturbance = {
  name: 'a process is killed at a step',
  run: async (stage, random) => {
    const slot = anySlot(stage, random);
    const [{ sha }, moment] = [random.pick(STEPS), random.pick(['before', 'after'] as const)];
    slot.redis.set(sha, moment, () => {
      slot.kill();
    });
    await sleep(random.between(300, 900));
    slot.redis.disarm();
    await slot.recovered();
  },
};

const killAtAnyTime: Disturbance = {
  name: 'a process is killed',
  run: async (stage, random) => {
    await sleep(random.between(0, 400));
    const slot = anySlot(stage, random);
    slot.kill();
    await slot.recovered();
  },
};

const freezeProcess: Disturbance = {
  name: 'a process stands still',
  run: async (stage, random) => {
    await sleep(random.between(0, 300));
    const slot = anySlot(stage, random);
    slot.signal('SIGSTOP');
    await sleep(random.pick([300, FROZEN_MS]));
    slot.signal('SIGCONT');
  },
};

const loseRedis: Disturbance = {
  name: 'Redis loses everything',
  run: async (stage, random) => {
    for (let count = random.between(1, 2); count > 0; count -= 1) {
      await sleep(random.between(0, 400));
      const redis = new Redis(stage.world.redis.url);
      await redis.flushall();
      redis.disconnect();
    }
  },
};

const crashRedis: Disturbance = {
  name: 'Redis is killed',
  run: async (stage, random) => {
    await sleep(random.between(0, 400));
    await stage.world.crashRedis(random.between(0, 200));
  },
};

const rollRedisBack: Disturbance = {
  name: 'Redis goes back to an earlier state',
  run: async (stage, random) => {
    const saved = `${stage.world.redis.dir}-saved`;
    await sleep(random.between(0, 300));
    await cp(stage.world.redis.dir, saved, { recursive: true });
    await sleep(random.between(50, 500));
    await stage.world.crashRedis(0, async (dir) => {
      await rm(join(dir, 'appendonlydir'), { recursive: true });
      await cp(join(saved, 'appendonlydir'), join(dir, 'appendonlydir'), { recursive: true });
    });
    await rm(saved, { recursive: true });
  },
};

const freezeRedis: Disturbance = {
  name: 'Redis stands still',
  run: async (stage, random) => {
    await sleep(random.between(0, 400));
    const { child } = stage.world.redis;
    child.kill('SIGSTOP');
    await sleep(random.pick([200, FROZEN_MS]));
    child.kill('SIGCONT');
  },
};

const fillDisk: Disturbance = {
  name: "the journal's disk is full",
  run: async (stage, random) => {
    await sleep(random.between(0, 300));
    const path = join(stage.journal.dir, 'ballast');
    const ballast = await open(path, 'w');
    const block = Buffer.alloc(4096);
    try {
      for (;;) await ballast.appendFile(block);
    } catch {
      await sleep(random.between(200, 800));
    } finally {
      await ballast.close();
      await unlink(path);
    }
  },
};

/** One, two or three at once. */
export function anyOf(random: SeededRandom, hasDisk: boolean): readonly Disturbance[] {
  const processes = [killAtStep, killAtStep, killAtAnyTime, freezeProcess];
  const stores = [loseRedis, crashRedis, rollRedisBack, freezeRedis];
  const chosen: Disturbance[] = [];
  if (random.chance(0.6)) chosen.push(random.pick(processes));
  if (random.chance(0.7)) chosen.push(random.pick(stores));
  if (hasDisk && random.chance(0.2)) chosen.push(fillDisk);
  return chosen.length > 0 ? chosen : [random.pick(processes)];
}
