import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { TEST_SEED } from '../support/seed.js';
import { SeededRandom } from '../support/seeded-random.js';
import { playChannelRun } from './channels/run.js';
import { anyOf, type Fault } from './faults/index.js';
import { reorg, REORG_WITNESSES, reorgAfterDeath, reorgUnwitnessed } from './faults/of-chain.js';
import { budget } from './faults/of-money.js';
import { LAG_MOST_BLOCKS, nodeLies, nonceAtOpening, rpcFault } from './faults/of-nodes.js';
import {
  freeze,
  keyRemoved,
  killAt,
  networkRemoved,
  rollingDeploy,
  skewedClocks,
} from './faults/of-processes.js';
import {
  crashRedis,
  failOver,
  loseRedis,
  stallOne,
  stallRedis,
  swallowReply,
} from './faults/of-redis.js';
import { fatBatch, hostileTokens } from './faults/of-tokens.js';
import { crashPostgres, historySteps } from './history/faults.js';
import { History } from './history/history.js';
import { playHistoryEnd, playHistoryRun } from './history/run.js';
import { LIES } from './rpc-lies.js';
import { learnFlow, playRun, type RunOptions } from './run.js';
import { Stage } from './stage.js';

/** Some sellers have to ask until the grace of a sale is over. */
const GRACE_AND_MORE_MS = 240_000;

/** Steps of a settlement at which something goes wrong; `TEST_CHAOS=all` takes every one. */
const STEPS = process.env['TEST_CHAOS'] === 'all' ? Number.POSITIVE_INFINITY : 3;

/**
 * The short form of `npm run test:chaos`: each kind of thing that can go wrong goes wrong once.
 * After each the chain, the service's own account and all answers to sellers must agree.
 */
describe('whatever goes wrong', () => {
  let stage: Stage;
  const random = new SeededRandom(TEST_SEED);

  beforeAll(async () => {
    console.log(`chaos: seed ${TEST_SEED}`);
    stage = await Stage.build();
    stage.flow = await learnFlow(stage, random);
  });
  afterAll(() => stage.stop());
  afterEach(() => {
    stage.fleet.heal();
  });

  async function play(options: Partial<RunOptions>): Promise<void> {
    const { violations } = await playRun(stage, random, {
      payments: 4,
      faults: [],
      ...options,
      // How fast is for the long form: here other tests may have the processor.
      expectations: { heldUpMostMs: 20_000, ...options.expectations },
    });
    if (violations.length === 0) return;
    const played = (options.faults ?? []).map(({ name }) => name).join('; ');
    throw new Error([`With ${played || 'no fault'}:`, ...violations, stage.logs()].join('\n'));
  }

  it('the steps of a settlement are known', () => {
    expect(stage.flow.length).toBeGreaterThan(5);
  });

  it.each(['before', 'after'] as const)(
    'a process killed %s a step',
    async (when) => {
      for (const step of [...random.some(stage.flow, STEPS), 'eth_sendRawTransaction']) {
        await play({ faults: [killAt({ when, step })], payments: 3 });
      }
    },
    600_000,
  );

  it('replies of Redis swallowed', async () => {
    for (const step of random.some(stage.flow, STEPS)) {
      await play({ faults: [swallowReply(step, random.pick([0, 400, 2500]))], payments: 3 });
    }
  }, 600_000);

  it('a replica promoted that was cut off at a step', async () => {
    for (const step of random.some(stage.flow, STEPS)) {
      const when = random.pick(['before', 'after'] as const);
      await play({ faults: [failOver({ when, step })], payments: 3 });
    }
  }, 600_000);

  it.each<readonly [string, readonly Fault[]]>([
    ['an API process frozen for 15 s', [freeze(15_000, 'api')]],
    ['a worker frozen for longer than its lease', [freeze(5000, 'worker')]],
    ['a worker cut off from Redis for longer than its lease', [stallOne('worker')]],
    ['an API process cut off from Redis', [stallOne('api')]],
    ['Redis killed and restarted', [crashRedis]],
    ['Redis that stalls', [stallRedis]],
    ['a block replaced', [reorg]],
    ['a block replaced whose witnesses are dead', [reorgAfterDeath]],
    ['a rolling deploy', [rollingDeploy]],
    ['a key taken out under way', [keyRemoved]],
    ['a network taken out under way', [networkRemoved]],
    ['a gas budget that is soon spent', [budget]],
    [
      'nodes that take transactions and do not say so',
      [rpcFault({ kind: 'silent_after_send' }, true)],
    ],
    ['nodes that drop requests', [rpcFault({ kind: 'drops' }, true)]],
    ['a node two blocks behind', [rpcFault({ kind: 'lags', blocks: 2 }, false)]],
    ['a node that lags', [rpcFault({ kind: 'lags', blocks: LAG_MOST_BLOCKS }, false)]],
    ['a node that hangs', [rpcFault({ kind: 'hangs' }, false)]],
    ['a node of another chain', [rpcFault({ kind: 'wrong_chain' }, false)]],
    ['nodes that answer 429', [rpcFault({ kind: 'rate_limited' }, true)]],
    ['nodes that answer errors with 200', [rpcFault({ kind: 'errors' }, true)]],
    ['clocks that are wrong', [skewedClocks]],
    ['nodes that forget transactions', [rpcFault({ kind: 'forgets' }, true)]],
    ['a node that counts too many transactions while lanes open', [nonceAtOpening]],
    ['nodes without logs, and payments that are copied', [nodeLies('logs_refused', undefined)]],
    ['tokens that are not on our side', [hostileTokens]],
    ['a batch of much gas', [fatBatch]],
  ])('%s', (_, faults) => play({ faults }), GRACE_AND_MORE_MS);

  it.each(REORG_WITNESSES.map((fault) => [fault.kind, fault] as const))(
    'a block replaced that one node does not show: %s',
    (_, fault) => play({ faults: [reorgUnwitnessed(fault, random.between(0, 1))] }),
    GRACE_AND_MORE_MS,
  );

  it.each(LIES)('a node that lies: %s', (about) =>
    play({ faults: [nodeLies(about, random.between(0, 1))] }),
  );

  it(
    'several things at once',
    async () => {
      for (let count = 0; count < 2; count += 1) await play({ faults: anyOf(stage, random) });
    },
    GRACE_AND_MORE_MS,
  );

  it(
    'Redis lost whole, and settling again within 30 s',
    async () => {
      await play({ faults: [loseRedis] });
      const startedAt = Date.now();
      await stage.ledger.lose();
      await play({ isHonest: true });
      expect(Date.now() - startedAt).toBeLessThan(30_000);
    },
    GRACE_AND_MORE_MS,
  );

  it.each<readonly [string, readonly Fault[]]>([
    ['a process killed', [killAt({ when: 'after', step: 'eth_sendRawTransaction' })]],
    ['Redis killed and restarted', [crashRedis]],
  ])(
    'channels of two managers, with %s',
    async (_, faults) => {
      const { violations } = await playChannelRun(stage, random, { shops: 1, faults });
      if (violations.length > 0) throw new Error([...violations, stage.logs()].join('\n'));
    },
    GRACE_AND_MORE_MS,
  );

  it('nothing is left in the queues', async () => {
    await play({ isHonest: true, expectations: { areJobsDone: true } });
  });
});

/** The short form of `npm run test:chaos -- --history`. */
describe('whatever goes wrong with a history', () => {
  let stage: Stage;
  const random = new SeededRandom(TEST_SEED);

  beforeAll(async () => {
    stage = await Stage.build({ history: await History.start(random, ['well']) });
    stage.flow = await learnFlow(stage, random);
  });
  afterAll(() => stage.stop());

  it(
    'archive, ledger, chain and what sellers are told agree',
    async () => {
      expect(historySteps(stage)).toContain('sql commit settlements');
      const found: string[] = [];
      const swallowed = swallowReply('sql commit settlements', 0);
      for (const [name, faults] of [
        ['a commit whose reply is lost', [swallowed]],
        ['PostgreSQL and Redis killed', [crashPostgres, crashRedis]],
      ] as const) {
        // Tricks of payers are for the long form.
        const run = { name, payments: 3, faults, isHonest: true };
        found.push(...(await playHistoryRun(stage, random, run)).violations);
      }
      found.push(...(await playHistoryEnd(stage)));
      if (found.length > 0) throw new Error([...found, stage.logs()].join('\n'));
    },
    GRACE_AND_MORE_MS,
  );
});
