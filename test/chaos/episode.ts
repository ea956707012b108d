import type { PrivateKeyAccount } from 'viem/accounts';
import { eip3009Body, newAccount, permit2Body, type Body } from '../support/payments.js';
import type { Dice } from '../support/dice.js';
import { commit, type Mischief } from './mischief.js';
import { Order } from './order.js';
import type { Stage } from './stage.js';
import { type Expectations, violationsOf } from './truth.js';

/** One payment and the orders that were placed with it. */
export interface Deal {
  readonly body: Body;
  readonly method: 'eip3009' | 'permit2';
  readonly payer: PrivateKeyAccount;
  readonly payTo: `0x${string}`;
  readonly amount: bigint;
  readonly orders: readonly Order[];
  readonly mischief: Mischief | undefined;
}

export interface EpisodeOptions {
  readonly payments: number;
  /** What happens meanwhile. */
  readonly disturb: (stage: Stage, dice: Dice) => Promise<void>;
  /** Payments nobody plays tricks with. */
  readonly isHonest?: boolean;
  readonly expectations?: Partial<Expectations>;
}

/** How long sellers go on asking. */
const PATIENCE_MS = 75_000;
/** How far behind the slowest node is. */
export const LAG_MOST_BLOCKS = 5;
const MISCHIEFS: readonly Mischief[] = ['cancels', 'spends', 'is_copied', 'gains_code'];

/**
 * Payments on their way while something goes wrong, until every seller has its answer and every line of
 * work is empty.
 *
 * @returns what is not as it must be; nothing, if all is well.
 */
export async function playEpisode(
  stage: Stage,
  dice: Dice,
  { payments, disturb, isHonest = false, expectations = {} }: EpisodeOptions,
): Promise<readonly string[]> {
  const deals: Deal[] = [];
  for (let count = 0; count < payments; count += 1)
    deals.push(await makeDeal(stage, dice, isHonest));
  // A node that lags must not be so far behind that it has not seen the payers' money.
  await stage.blocks.pass(LAG_MOST_BLOCKS + 1);
  const deadline = Date.now() + PATIENCE_MS;
  const selling = Promise.all(deals.map((deal) => play(stage, dice, deal, deadline)));
  const disturbing = disturb(stage, dice).finally(() => {
    stage.fleet.heal();
  });
  await Promise.all([selling, disturbing]);
  await stage.fleet.recovered();
  return violationsOf(stage, deals, {
    isLedgerWhole: true,
    hasReorgs: false,
    areJobsDone: true,
    ...expectations,
  });
}

async function makeDeal(stage: Stage, dice: Dice, isHonest: boolean): Promise<Deal> {
  const { world } = stage;
  const payTo = newAccount().address;
  const amount = BigInt(dice.between(1, 5000));
  const mischief = !isHonest && dice.chance(0.25) ? dice.pick(MISCHIEFS) : undefined;
  // Who plays tricks is not met again.
  const payer = mischief === undefined ? dice.pick(stage.payers) : await world.payer();
  const method = mischief === undefined && dice.chance(0.4) ? 'permit2' : 'eip3009';
  const options = { payer, chainId: world.chainId, payTo, amount };
  const body =
    method === 'eip3009'
      ? await eip3009Body({ ...options, token: world.usd })
      : await permit2Body({ ...options, token: world.coin });
  const orders: Order[] = [];
  const urls = (): readonly string[] => stage.fleet.of('api').map(({ url }) => url);
  const isEasilyDiscouraged = dice.chance(0.2);
  for (let count = dice.between(1, 2); count > 0; count -= 1) {
    const order: Order = new Order(body, urls, dice, {
      isEasilyDiscouraged,
      isSoldElsewhere: () => orders.some((other) => other !== order && other.end === 'success'),
      ...(dice.chance(0.2) && { hangsUpAfterMs: dice.between(10, 1500) }),
    });
    orders.push(order);
  }
  return { body, method, payer, payTo, amount, orders, mischief };
}

async function play(stage: Stage, dice: Dice, deal: Deal, deadline: number): Promise<void> {
  const { mischief, body, payer, orders } = deal;
  await delay(dice.between(0, 600));
  const pursuing = orders.map((order) => order.pursue(deadline));
  if (mischief !== undefined) {
    await delay(dice.between(0, 700));
    await commit(mischief, stage.world, body, payer);
  }
  await Promise.all(pursuing);
}

export function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
