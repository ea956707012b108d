import type { SeededRandom } from '../../support/seeded-random.js';
import { delay } from '../client.js';
import type { QueueRedis } from '../queue-redis.js';
import type { Stage } from '../stage.js';
import type { Fault } from './fault.js';

function queueOf({ queue }: Stage): QueueRedis {
  if (queue === undefined) throw new Error('the queues have no Redis of their own');
  return queue;
}

const killed: Fault = {
  kind: 'the Redis of the queues killed',
  name: 'the Redis of the queues killed',
  run: async (stage, random) => {
    await delay(random.between(0, 1200));
    await queueOf(stage).crash(random.between(0, 6000));
  },
};

const frozen: Fault = {
  kind: 'the Redis of the queues stalls',
  name: 'the Redis of the queues stalls',
  run: async (stage, random) => {
    await delay(random.between(0, 1000));
    await queueOf(stage).freeze(random.between(1100, 8000));
  },
};

const emptied: Fault = {
  kind: 'the Redis of the queues emptied',
  name: 'the Redis of the queues emptied',
  run: async (stage, random) => {
    for (let count = random.between(1, 4); count > 0; count -= 1) {
      await delay(random.between(0, 600));
      await queueOf(stage).empty();
    }
  },
};

/** Jobs that were done are there again. */
const restored: Fault = {
  kind: 'the Redis of the queues restored from an older file',
  name: 'the Redis of the queues restored from an older file',
  run: async (stage, random) => {
    await delay(random.between(0, 800));
    await queueOf(stage).save();
    await delay(random.between(50, 1500));
    await queueOf(stage).crash(random.between(0, 1000), true);
  },
};

/** One of what can happen to it; none of it is a reason for any answer. */
export function ofQueue(random: SeededRandom): Fault {
  return random.pick([killed, frozen, emptied, restored]);
}
