import type { Hex } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import type { Dice } from '../support/dice.js';
import { type Body, eip3009Body, newAccount, newNonce, permit2Body } from '../support/payments.js';
import { delay, newCallerAddress } from './client.js';
import { commit, type Mischief, MISCHIEFS } from './mischief.js';
import { Order, type OrderOptions } from './order.js';
import type { Stage } from './stage.js';

/** One signed authorization with its terms. */
export interface Payment {
  readonly body: Body;
  readonly method: 'eip3009' | 'permit2';
  readonly token: Hex;
  readonly payer: Hex;
  readonly payTo: Hex;
  readonly amount: bigint;
  /** 32 bytes, lower case. */
  readonly nonce: Hex;
}

/**
 * How a payment is presented: by one seller's order or two; with one order coming late, from
 * elsewhere; by an order that wants `202`; or by a crowd of identical requests, with a key and without.
 */
export const MANNERS = ['plain', 'late', 'async', 'crowd'] as const;
export type Manner = (typeof MANNERS)[number];

/** Payments of one payer and one nonce, and the orders that were placed with them. */
export interface Deal {
  readonly payer: PrivateKeyAccount;
  /** More than one where the payer signed one nonce twice. */
  readonly payments: readonly Payment[];
  readonly manner: Manner;
  readonly mischief: Mischief | undefined;
  /** Of sellers. */
  readonly orders: readonly Order[];
  /** Of those who copied a payment from the pool and ask us for the sale. */
  readonly strangers: readonly Order[];
}

export interface DealOptions {
  /** Nobody plays tricks. */
  readonly isHonest: boolean;
  readonly meaningless?: ReadonlySet<string>;
}

const MISCHIEF_CHANCE = 0.3;

export async function makeDeal(stage: Stage, dice: Dice, options: DealOptions): Promise<Deal> {
  const { world } = stage;
  const mischief =
    !options.isHonest && dice.chance(MISCHIEF_CHANCE) ? dice.pick(MISCHIEFS) : undefined;
  // Who plays tricks is not met again.
  const payer = mischief === undefined ? dice.pick(stage.payers) : await world.payer();
  const method = mischief === undefined && dice.chance(0.4) ? 'permit2' : 'eip3009';
  const nonce = newNonce();
  const payments = [await makePayment(stage, dice, payer, { method, nonce })];
  if (mischief === 'equivocates') {
    payments.push(await makePayment(stage, dice, payer, { method, nonce }));
  }
  const manner = dice.pick(MANNERS);
  const orders: Order[] = [];
  for (const order of ordersOf(stage, dice, payments, manner)) {
    orders.push(
      new Order({
        ...order,
        ...(options.meaningless !== undefined && { meaningless: options.meaningless }),
        isSoldElsewhere: () => orders.some((other) => other.options !== order && other.isBuyer),
      }),
    );
  }
  const strangers =
    mischief === 'is_copied' ? payments.map((payment) => strangerTo(stage, dice, payment)) : [];
  return { payer, payments, manner, mischief, orders, strangers };
}

/** All asks of one deal, until everybody has heard the end. */
export async function play(
  { world, pool }: Stage,
  dice: Dice,
  { mischief, payments, payer, orders, strangers }: Deal,
  deadline: number,
): Promise<void> {
  await delay(dice.between(0, 500));
  const pursuing = orders.map((order) => order.pursue(deadline));
  const [payment] = payments;
  if (mischief !== undefined && payment !== undefined) {
    if (mischief === 'is_copied' && dice.chance(0.6)) {
      // From the pool; who is quick is in the same block.
      await Promise.race([pool.sight(payment), delay(2000)]);
      pursuing.push(...strangers.map((stranger) => stranger.pursue(deadline)));
    } else {
      await delay(dice.between(0, 700));
    }
    await commit(mischief, world, payment.body, payer);
  }
  await Promise.all(pursuing);
}

async function makePayment(
  { world }: Stage,
  dice: Dice,
  payer: PrivateKeyAccount,
  { method, nonce }: { readonly method: Payment['method']; readonly nonce: Hex },
): Promise<Payment> {
  const payTo = newAccount().address;
  const amount = BigInt(dice.between(1, 5000));
  const token = method === 'eip3009' ? world.usd : world.coin;
  const options = { payer, chainId: world.chainId, payTo, amount, token };
  const body =
    method === 'eip3009'
      ? await eip3009Body({ ...options, nonce })
      : await permit2Body({ ...options, nonce: BigInt(nonce) });
  return { body, method, token, payer: payer.address, payTo, amount, nonce };
}

function ordersOf(
  stage: Stage,
  dice: Dice,
  payments: readonly Payment[],
  manner: Manner,
): readonly OrderOptions[] {
  const [payment, other = payment] = payments;
  if (payment === undefined || other === undefined) throw new Error('a deal without a payment');
  const from = newCallerAddress();
  const common = {
    payment,
    urls: () => stage.urls(),
    dice,
    from,
    hasKey: true,
    isEasilyDiscouraged: dice.chance(0.2),
    ...(dice.chance(0.2) && { hangsUpAfterMs: dice.between(10, 1500) }),
  };
  switch (manner) {
    case 'plain':
      return dice.chance(0.5) && payments.length === 1
        ? [common]
        : [common, { ...common, payment: other }];
    case 'late':
      return [
        common,
        {
          ...common,
          payment: other,
          from: newCallerAddress(),
          startsAfterMs: dice.between(200, 2500),
        },
      ];
    case 'async': {
      const orders = [
        { ...common, isAsync: true },
        { ...common, payment: other, isAsync: dice.chance(0.3), startsAfterMs: dice.below(800) },
      ];
      return dice.chance(0.5) && payments.length === 1 ? orders.slice(0, 1) : orders;
    }
    case 'crowd':
      return [
        { ...common, copies: dice.between(2, 5) },
        ...Array.from({ length: dice.between(2, 5) }, () => ({
          ...common,
          payment: other,
          hasKey: false,
          from: newCallerAddress(),
          startsAfterMs: dice.below(300),
        })),
      ];
  }
}

/** Asks a few times, without a key, from an address that nobody else has. */
function strangerTo(stage: Stage, dice: Dice, payment: Payment): Order {
  return new Order({
    payment,
    urls: () => stage.urls(),
    dice,
    from: newCallerAddress(),
    hasKey: false,
    rounds: 4,
  });
}
