import type { SeededRandom } from '../../support/seeded-random.js';
import type { Fault } from '../faults/index.js';
import { unrest } from '../rest.js';
import { meaninglessAmong, playDisturbed, type Played } from '../run.js';
import type { Stage } from '../stage.js';
import { noOps, violationsOfShop } from './judge.js';
import { type Act, drawShop, Shop } from './shop.js';

/** One action comes after another here, and a payment is alone. */
const MORE_MS = 120_000;

interface ChannelRunOptions {
  readonly shops: number;
  readonly faults: readonly Fault[];
}

/** Channels are filled, claimed, paid out and refunded while something goes wrong. */
export async function playChannelRun(
  stage: Stage,
  random: SeededRandom,
  { shops: count, faults }: ChannelRunOptions,
): Promise<Played<Act>> {
  stage.beginRun();
  for (const fault of faults) await fault.prepare?.(stage, random);
  stage.pool.watchFor([]);
  const meaningless = meaninglessAmong(faults);
  const shops = Array.from(
    { length: count },
    () => new Shop(stage, random, drawShop(random), meaningless),
  );
  const first = (await stage.world.client.getBlockNumber({ cacheTime: 0 })) + 1n;
  const acts = () => shops.flatMap((shop) => shop.acts);
  const violations = await playDisturbed(stage, random, faults, {
    play: async (deadline) => {
      await Promise.all(shops.map((shop) => shop.play(deadline + MORE_MS)));
    },
    judge: async (expected) => {
      const found = await unrest(stage, false);
      for (const shop of shops) found.push(...(await violationsOfShop(stage, shop, expected)));
      // A claim may be overtaken by others of its channels, and anything by a stranger: nothing else is in vain.
      const vain = await noOps(stage, first);
      const copies = shops.reduce((sum, shop) => sum + shop.copies, 0);
      const overtaken = acts().filter((act) => isCovered(act, acts())).length;
      const counts = `${vain} in vain, ${copies} copied, ${overtaken} overtaken`;
      if (vain > copies + overtaken) found.push(counts);
      stage.notes.push(`${counts}, ${acts().length} actions`);
      return found;
    },
    counts: () => ({
      sold: acts().length,
      requests: acts().flatMap(({ orders }) => orders.flatMap(({ requests }) => requests)).length,
    }),
  });
  return { deals: acts(), violations };
}

/** Whether other actions claim all that a claim does, or more. */
function isCovered(act: Act, acts: readonly Act[]): boolean {
  if (act.manner !== 'claim') return false;
  const others = acts.filter((other) => other !== act).flatMap(({ rows }) => rows);
  return act.rows.every(({ channel, total }) =>
    others.some((other) => other.channel === channel && other.total >= total),
  );
}
