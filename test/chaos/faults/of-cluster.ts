import { DEPLOYMENT_TAG } from '../../../src/platform/redis/hash-slot.js';
import type { ClusterGroup } from '../../support/cluster-group.js';
import type { SeededRandom } from '../../support/seeded-random.js';
import { delay } from '../client.js';
import type { Stage } from '../stage.js';
import type { Fault } from './fault.js';
import { freeze, killAnyTime, rollingDeploy } from './of-processes.js';

/** The other nodes have given up a silent primary, and its replica has taken over, by then. */
const TAKEN_OVER_MS = 15_000;

function groupOf({ ledger }: Stage): ClusterGroup {
  if (ledger.cluster === undefined) throw new Error('there is no Cluster');
  return ledger.cluster;
}

/** The dead come back as replicas before the next run. */
const undo = (stage: Stage): Promise<void> => groupOf(stage).recovered();

const killOwner: Fault = {
  kind: 'the primary of the ledger killed',
  name: 'the primary of the ledger killed',
  run: async (stage, random) => {
    await delay(random.between(0, 1500));
    await groupOf(stage).killOwnerOf(stage.ledger.tag);
  },
  undo,
};

const killOther: Fault = {
  kind: 'the primary of what belongs to no chain killed',
  name: 'the primary of what belongs to no chain killed',
  run: async (stage, random) => {
    await delay(random.between(0, 1500));
    await groupOf(stage).killOwnerOf(DEPLOYMENT_TAG);
  },
  undo,
};

/** Shorter than it takes the others to give it up, or so long that it comes back as a former primary. */
const freezeOwner = (ms: number): Fault => ({
  kind: 'the primary of the ledger frozen',
  name: `the primary of the ledger frozen for ${ms} ms`,
  run: async (stage, random) => {
    const [group, tag] = [groupOf(stage), stage.ledger.tag];
    await delay(random.between(0, 1200));
    const [from, former] = [Date.now(), await group.portOf(tag)];
    const thaw = await group.freezeOwnerOf(tag);
    await delay(ms);
    thaw();
    // A former primary may take writes until the others tell it; those are lost.
    await group.agreed(tag, TAKEN_OVER_MS);
    if ((await group.portOf(tag)) !== former) stage.losses.push({ from, to: Date.now() });
  },
  undo,
});

/** One of what happens to nodes, and often a process that dies, freezes or is replaced besides. */
export function ofCluster(random: SeededRandom): readonly Fault[] {
  const fault = random.pick([
    killOwner,
    killOther,
    freezeOwner(random.pick([800, 3000, 8000, 14_000])),
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
