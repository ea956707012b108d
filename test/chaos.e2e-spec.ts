import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Dice } from './support/dice.js';
import { TEST_SEED } from './support/seed.js';
import {
  anyOf,
  crashRedis,
  type Disturbance,
  freeze,
  loseLease,
  loseRedis,
  MOMENTS,
  reorg,
  rollingDeploy,
  rpcFault,
  skewedClocks,
} from './chaos/disturbances.js';
import { delay, LAG_MOST_BLOCKS, playEpisode } from './chaos/episode.js';
import { describeMoment } from './chaos/fleet.js';
import { Stage } from './chaos/stage.js';
import type { Expectations } from './chaos/truth.js';

/**
 * The short form of `npm run test:chaos`: everything that can go wrong goes wrong once. After each the
 * chain, the ledger and all that sellers were told must agree.
 */
describe('whatever goes wrong', () => {
  let stage: Stage;
  const dice = new Dice(TEST_SEED);

  beforeAll(async () => {
    console.log(`chaos: seed ${TEST_SEED}`);
    stage = await Stage.build();
  });
  afterAll(() => stage.stop());
  afterEach(() => {
    stage.fleet.heal();
  });

  async function play(
    disturb: (stage: Stage) => Promise<void>,
    expectations: Partial<Expectations> = {},
  ): Promise<void> {
    const violations = await playEpisode(stage, dice, { payments: 5, disturb, expectations });
    if (violations.length > 0) throw new Error([...violations, stage.logs()].join('\n'));
  }

  const playAll = (disturbances: readonly Disturbance[]): Promise<void> =>
    play(
      async () => {
        await Promise.all(disturbances.map((one) => one.run(stage, dice)));
      },
      Object.assign({}, ...disturbances.map((one) => one.expectations ?? {})) as object,
    );

  it.each(MOMENTS.map((moment) => [describeMoment(moment), moment] as const))(
    'a process killed %s',
    async (_, moment) => {
      let isReached = false;
      // Jobs of a dead worker are seen as such after a while; the last test waits for that.
      await play(
        async ({ fleet }) => {
          await Promise.race([fleet.killAt(moment), delay(10_000)]).then((slot) => {
            isReached = slot !== undefined;
          });
        },
        { areJobsDone: false },
      );
      expect(isReached).toBe(true);
    },
  );

  it.each<readonly [string, readonly Disturbance[]]>([
    ['an API process frozen for 15 s', [freeze(15_000, 'api')]],
    ['a worker frozen for longer than its lease', [freeze(5000, 'worker')]],
    ['leases lost mid-send', [loseLease]],
    ['Redis killed and restarted', [crashRedis]],
    ['a block replaced', [reorg]],
    ['a rolling deploy', [rollingDeploy]],
    [
      'nodes that take transactions and do not say so',
      [rpcFault({ kind: 'silent_after_send' }, true)],
    ],
    ['nodes that drop requests', [rpcFault({ kind: 'drops' }, true)]],
    ['a node that lags', [rpcFault({ kind: 'lags', blocks: LAG_MOST_BLOCKS }, false)]],
    ['a node of another chain', [rpcFault({ kind: 'wrong_chain' }, false)]],
    ['nodes that answer 429', [rpcFault({ kind: 'rate_limited' }, true)]],
    ['nodes that answer errors with 200', [rpcFault({ kind: 'errors' }, true)]],
    ['clocks that are wrong', [skewedClocks]],
    ['nodes that forget transactions', [rpcFault({ kind: 'forgets' }, true)]],
  ])('%s', (_, disturbances) => playAll(disturbances));

  it('several things at once', async () => {
    for (let count = 0; count < 2; count += 1) await playAll(anyOf(dice));
  });

  it('Redis lost whole, and settling again within 30 s', async () => {
    await playAll([loseRedis]);
    const startedAt = Date.now();
    await stage.redis.flushall();
    await play(() => Promise.resolve());
    expect(Date.now() - startedAt).toBeLessThan(30_000);
  });
});
