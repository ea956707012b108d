import type { SeededRandom } from '../../support/seeded-random.js';
import type { SentinelGroup } from '../../support/sentinel-group.js';
import { delay } from '../client.js';
import type { Stage } from '../stage.js';
import type { Fault } from './fault.js';
import { freeze, killAnyTime, rollingDeploy } from './of-processes.js';

/** A quorum has given up a silent primary, and one of its replicas has taken over, by then. */
const TAKEN_OVER_MS = 15_000;

function groupOf({ ledger }: Stage): SentinelGroup {
  if (ledger.sentinels === undefined) throw new Error('there are no Sentinels');
  return ledger.sentinels;
}

/** The dead come back as replicas before the next run. */
const undo = (stage: Stage): Promise<void> => groupOf(stage).recovered();

const killPrimary: Fault = {
  kind: 'the primary killed',
  name: 'the primary killed',
  run: async (stage, random) => {
    await delay(random.between(0, 1500));
    await groupOf(stage).killPrimary();
  },
  undo,
};

/** Shorter than it takes the Sentinels to give it up, or so long that it comes back as a former primary. */
const freezePrimary = (ms: number): Fault => ({
  kind: 'the primary frozen',
  name: `the primary frozen for ${ms} ms`,
  run: async (stage, random) => {
    const group = groupOf(stage);
    await delay(random.between(0, 1200));
    const [from, former] = [Date.now(), await group.primaryPort()];
    const thaw = await group.freezePrimary();
    await delay(ms);
    thaw();
    // A former primary takes writes until the Sentinels tell it; those are lost.
    await group.agreed(TAKEN_OVER_MS);
    if ((await group.primaryPort()) !== former) stage.losses.push({ from, to: Date.now() });
  },
  undo,
});

/** Writes acknowledged since the replicas were cut off are lost. */
const loseNewest = (ms: number): Fault => ({
  kind: 'a replica promoted that missed the newest writes',
  name: `a replica promoted that missed the last ${ms} ms`,
  run: async (stage, random) => {
    const group = groupOf(stage);
    await delay(random.between(0, 1000));
    const from = Date.now();
    const reconnect = await group.cutReplicasOff();
    await delay(ms);
    await group.killPrimary();
    await reconnect();
    await group.promoted(TAKEN_OVER_MS);
    stage.losses.push({ from, to: Date.now() });
  },
  undo,
});

/** The primary is back with what it had a moment ago before anybody misses it. */
const restoreOlder = (ms: number): Fault => ({
  kind: 'the primary restored from an older file',
  name: `the primary restored from a file ${ms} ms old`,
  run: async (stage, random) => {
    const group = groupOf(stage);
    await delay(random.between(0, 1000));
    const from = Date.now();
    const restore = await group.snapshot();
    await delay(ms);
    await restore();
    stage.losses.push({ from, to: Date.now() });
  },
  undo,
});

/** One of what Sentinels see, and often a process that dies, freezes or is replaced besides. */
export function ofSentinels(random: SeededRandom): readonly Fault[] {
  const fault = random.pick([
    killPrimary,
    freezePrimary(random.pick([800, 3000, 8000, 14_000])),
    loseNewest(random.pick([50, 400, 1500])),
    restoreOlder(random.pick([50, 400, 1500])),
  ]);
  const more = random.pick<readonly Fault[]>([
    [],
    [],
    [killAnyTime],
    [freeze(random.between(2000, 4500), random.pick(['api', 'worker']))],
    [rollingDeploy],
  ]);
  return [fault, ...more];
}
