import type { SeededRandom } from '../../support/seeded-random.js';
import { delay } from '../client.js';
import type { Fault } from './fault.js';
import { misbehave } from './of-nodes.js';
import { freeze, killAnyTime } from './of-processes.js';

/** A node that is well shows the same block for seconds, as it should. The other one has more, and lies. */
const liarAhead = (endpoint: number): Fault => ({
  kind: 'a node lies ahead of slow blocks',
  name: `node ${endpoint} lies ahead of slow blocks`,
  run: async (stage, random) => {
    misbehave(stage, { kind: 'lies', about: 'success_ahead' }, endpoint);
    // Over what is sent, included and final.
    await delay(random.between(3, 6) * stage.blockTimeMs);
  },
});

/** A liar, and now and then a process that dies or freezes besides. */
export function ofSlowBlocks(random: SeededRandom): readonly Fault[] {
  const more = random.pick<readonly Fault[]>([
    [],
    [],
    [killAnyTime],
    [freeze(random.between(2000, 4500), random.pick(['api', 'worker']))],
  ]);
  return [liarAhead(random.between(0, 1)), ...more];
}
