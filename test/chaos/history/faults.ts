import type { SeededRandom } from '../../support/seeded-random.js';
import { delay, within } from '../client.js';
import { type Fault, MOMENT_TIMEOUT_MS } from '../faults/fault.js';
import { reorg, reorgAfterDeath } from '../faults/of-chain.js';
import { freeze, killAnyTime, killAt } from '../faults/of-processes.js';
import {
  crashRedis,
  failOver,
  loseRedis,
  stallOne,
  stallRedis,
  swallowReply,
} from '../faults/of-redis.js';
import type { Moment } from '../fleet.js';
import type { Stage } from '../stage.js';
import { ARCHIVED_KEY, archivedKey } from './archived-key.js';
import type { History } from './history.js';

/** Scripts of the archiver; some run all the time, and some only when something leaves. */
const SCRIPTS = ['read_outbox', 'trim_outbox', 'read_evictable', 'evict'];
/** Longer than the archiver's lease: another one has taken over by then. */
const LATE_LEAST_MS = 5200;
const LATE_MOST_MS = 6500;

/** What the history needs one after another, and what it needs beside. */
export const historySteps = ({ flow }: Stage): readonly string[] =>
  [...new Set([...SCRIPTS, ...flow.filter((step) => step.startsWith('sql '))])].sort();

/** Each step of the history, before and after. */
const historyMoments = (stage: Stage): readonly Moment[] =>
  historySteps(stage).flatMap((step) => [
    { when: 'before', step } as const,
    { when: 'after', step } as const,
  ]);

const historyOf = ({ history }: Stage): History => {
  if (history === undefined) throw new Error('this deployment has no history');
  return history;
};

export const crashPostgres: Fault = {
  kind: 'PostgreSQL killed and restarted',
  name: 'PostgreSQL killed and restarted',
  run: async (stage, random) => {
    await delay(random.between(0, 1500));
    await historyOf(stage).database.crash(random.between(0, 2000));
  },
};

/** Killed just when a process is at a step with it. */
const crashPostgresAt = (moment: Moment): Fault => ({
  kind: 'PostgreSQL killed at a step',
  name: `PostgreSQL killed ${moment.when} ${moment.step}`,
  run: async (stage, random) => {
    const { database } = historyOf(stage);
    const awayMs = random.between(0, 1500);
    let crashing: Promise<void> | undefined;
    // It is not waited for: what comes meanwhile meets a database that is gone.
    const crash = (): Promise<void> => {
      crashing ??= database.crash(awayMs);
      return Promise.resolve();
    };
    await within(MOMENT_TIMEOUT_MS, stage.fleet.at(moment, crash));
    stage.fleet.disarm();
    await crashing;
  },
});

const freezePostgres: Fault = {
  kind: 'PostgreSQL stands still',
  name: 'PostgreSQL stands still',
  run: async (stage, random) => {
    await delay(random.between(0, 1000));
    await historyOf(stage).database.freeze(random.pick([800, 2500, 4500]));
  },
};

/** One process alone does not reach it. */
const cutOffPostgres: Fault = {
  kind: 'a process cut off from PostgreSQL',
  name: 'a process cut off from PostgreSQL',
  run: async ({ fleet }, random) => {
    await delay(random.between(0, 800));
    const { database } = random.pick([...fleet.of('history'), ...fleet.slots]);
    const ms = random.between(1000, 4500);
    if (database === undefined) return;
    if (random.chance(0.5)) {
      await database.stall(ms);
      return;
    }
    database.cut();
    await delay(ms);
    database.restore();
  },
};

/** One statement is so late that another process has done the work by then. */
const lateStatement = (step: string): Fault => ({
  kind: 'a statement comes late',
  name: `${step} comes late`,
  run: async ({ fleet }, random) => {
    const ms = random.between(LATE_LEAST_MS, LATE_MOST_MS);
    let waiting: Promise<void> | undefined;
    const wait = (): Promise<void> => {
      waiting ??= delay(ms);
      return waiting;
    };
    const at = fleet.at({ when: 'before', step }, wait);
    await within(MOMENT_TIMEOUT_MS + ms, at);
    fleet.disarm();
  },
});

/** An archiver goes in the middle of its work, with whatever it was about to say. */
const killAtDelivery = (when: 'before' | 'after'): Fault => ({
  kind: 'killed while it tells',
  name: `killed ${when} a webhook is answered`,
  run: async (stage) => {
    const { receiver } = historyOf(stage);
    await within(
      MOMENT_TIMEOUT_MS,
      new Promise<void>((resolve) => {
        receiver.moment = {
          when,
          spring: () => {
            for (const slot of stage.fleet.of('history')) slot.kill();
            resolve();
          },
        };
      }),
    );
    receiver.moment = undefined;
  },
});

const receiverAway: Fault = {
  kind: 'sellers cannot be reached',
  name: 'sellers cannot be reached',
  run: async (stage, random) => {
    await delay(random.between(0, 1500));
    await historyOf(stage).receiver.leave(random.between(500, 3000));
  },
};

/** As in a rolling deploy. */
const archiverReplaced: Fault = {
  kind: 'an archiver is replaced by another',
  name: 'an archiver is replaced by another',
  run: async ({ fleet }, random) => {
    await delay(random.between(0, 800));
    const [old] = fleet.of('history');
    if (old === undefined) throw new Error('no archiver');
    await fleet.add(`${old.name}'`, 'history');
    await old.drain();
    await fleet.remove(old);
  },
};

/** Not one of them is left for a moment. */
const archiversKilled: Fault = {
  kind: 'all archivers killed',
  name: 'all archivers killed',
  run: async ({ fleet }, random) => {
    await delay(random.between(0, 1500));
    for (const slot of fleet.of('history')) slot.kill(random.between(0, 1500));
  },
};

/** How often each is drawn, against the others. */
const WEIGHTS: readonly (readonly [number, (stage: Stage, random: SeededRandom) => Fault])[] = [
  [4, (stage, random) => swallowReply(stepOf(stage, random), random.pick([0, 400, 2500]))],
  [3, () => crashPostgres],
  [3, (stage, random) => crashPostgresAt(sqlMomentOf(stage, random))],
  [2, () => freezePostgres],
  [2, () => cutOffPostgres],
  [3, (stage, random) => lateStatement(sqlMomentOf(stage, random).step)],
  [2, (_, random) => killAtDelivery(random.pick(['before', 'after']))],
  [2, () => receiverAway],
  [1, () => archiverReplaced],
  [2, () => archiversKilled],
  [1, (_, random) => freeze(random.between(2000, 6000), 'history')],
  [1, () => stallOne('history')],
  [2, () => killAnyTime],
  [2, (stage, random) => killAt(random.pick(settleMoments(stage)))],
  [2, () => crashRedis],
  [1, () => stallRedis],
  [
    3,
    (stage, random) => failOver(random.pick([...settleMoments(stage), ...historyMoments(stage)])),
  ],
  [2, () => loseRedis],
  [3, () => reorg],
  [3, () => archivedKey()],
  [1, () => reorgAfterDeath],
];

const stepOf = (stage: Stage, random: SeededRandom): string => random.pick(historySteps(stage));

function sqlMomentOf(stage: Stage, random: SeededRandom): Moment {
  return random.pick(historyMoments(stage).filter(({ step }) => step.startsWith('sql ')));
}

/** Of a settlement, on its way to the chain. */
const settleMoments = ({ flow }: Stage): readonly Moment[] =>
  flow
    .filter((step) => !step.startsWith('sql '))
    .flatMap((step) => [{ when: 'before', step } as const, { when: 'after', step } as const]);

export function drawOne(stage: Stage, random: SeededRandom): Fault {
  const total = WEIGHTS.reduce((sum, [weight]) => sum + weight, 0);
  let drawn = random.below(total);
  for (const [weight, make] of WEIGHTS) {
    drawn -= weight;
    if (drawn < 0) return make(stage, random);
  }
  throw new RangeError('more was drawn than there is');
}

/**
 * Of every two runs one kills a process at a step of the history, one step after another; beside it, and in the
 * others, whatever is drawn.
 */
export function faultsOf(stage: Stage, random: SeededRandom, run: number): readonly Fault[] {
  const moments = historyMoments(stage);
  const moment = run % 2 === 1 ? moments[((run - 1) / 2) % moments.length] : undefined;
  const chosen = [moment === undefined ? drawOne(stage, random) : killAt(moment)];
  for (let more = random.pick([0, 0, 1, 1, 2]); more > 0; more -= 1) {
    const next = drawOne(stage, random);
    if (chosen.every((one) => canGoTogether(one, next))) chosen.push(next);
  }
  return chosen;
}

/** Two that put the same thing in order again only disturb each other. */
const ALONE: readonly (readonly string[])[] = [
  [crashRedis.kind, loseRedis.kind, stallRedis.kind, 'a replica that missed the newest writes'],
  [crashPostgres.kind, 'PostgreSQL killed at a step', freezePostgres.kind],
  [reorg.kind, reorgAfterDeath.kind],
  // A Redis that is lost has forgotten its keys.
  [ARCHIVED_KEY, loseRedis.kind],
  [archiverReplaced.kind, archiversKilled.kind, 'killed while it tells', 'history frozen'],
];

function canGoTogether(one: Fault, other: Fault): boolean {
  if (one.kind === other.kind) return false;
  return !ALONE.some((group) => group.includes(one.kind) && group.includes(other.kind));
}
