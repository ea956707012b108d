import type { Hex } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import {
  type Body,
  charging,
  eip3009Body,
  newNonce,
  permit2Body,
  uptoBody,
  withSignedApproval,
} from '../support/payments.js';
import type { SeededRandom } from '../support/seeded-random.js';
import { wrappedIn } from '../support/smart-wallets.js';
import { delay, newCallerAddress } from './client.js';
import { Order, type OrderOptions } from './order.js';
import { commit, PAYER_TRICKS, type PayerTrick } from './payer-tricks.js';
import type { Stage } from './stage.js';
import type { FundedWallet } from './wallets.js';

/**
 * `approval` goes through Permit2 for a payer who has neither coins nor approved it; `upto` too, and names the
 * lane that may send it.
 */
type Method = 'eip3009' | 'permit2' | 'approval' | 'upto';

/** One signed authorization with its terms. */
export interface Payment {
  readonly body: Body;
  readonly method: Method;
  readonly token: Hex;
  readonly payer: Hex;
  readonly payTo: Hex;
  /** The settled amount, where it differs from the signed one. */
  readonly amount: bigint;
  /** 32 bytes, lower case. */
  readonly nonce: Hex;
}

/**
 * How a payment is presented: by one seller's order or two; with one order coming late, from
 * elsewhere; by an order that wants `202`; or by a crowd of identical requests, with a key and without.
 */
const MANNERS = ['plain', 'late', 'async', 'crowd'] as const;
type Manner = (typeof MANNERS)[number];

/** Payments of one payer and one nonce, and the orders that were placed with them. */
export interface Deal {
  readonly payer: PrivateKeyAccount;
  /** More than one where the payer signed one nonce twice. */
  readonly payments: readonly Payment[];
  readonly manner: Manner;
  readonly trick: PayerTrick | undefined;
  /** Of sellers. */
  readonly orders: readonly Order[];
  /** Of those who copied a payment from the pool and ask us for the sale. */
  readonly strangers: readonly Order[];
}

interface DealOptions {
  /** All payers are honest. */
  readonly isHonest: boolean;
  /** Whether payers bring an approval that has to be paid for first. */
  readonly bringApprovals?: boolean;
  /** Whether lanes may be gone for good: then nothing is bound to one. */
  readonly areLanesTaken?: boolean;
  /**
   * Whether a reorganisation may remove a success: it is resubmitted then, from a payer who can
   * still pay.
   */
  readonly hasReorgs?: boolean;
  /** Whether no fault takes stored writes from the ledger. */
  readonly isLedgerWhole?: boolean;
  readonly meaningless?: ReadonlySet<string>;
  readonly meaninglessAfterApproval?: ReadonlySet<string>;
}

/**
 * Played instead where blocks are replaced. A success that the chain dropped is resubmitted until
 * the deadline of its payment, because a requester got it, and that is longer than a run: its payer
 * has to be able to pay again.
 */
const FOR_A_WHILE: Partial<Record<PayerTrick, PayerTrick>> = {
  spends: 'spends_for_a_while',
  gains_code: 'gains_code_for_a_while',
};

const MISCHIEF_CHANCE = 0.3;
const WALLET_CHANCE = 0.25;
const APPROVAL_CHANCE = 0.25;

export async function makeDeal(
  stage: Stage,
  random: SeededRandom,
  options: DealOptions,
): Promise<Deal> {
  const { world } = stage;
  const tricks =
    options.areLanesTaken === true
      ? PAYER_TRICKS.filter((one) => one !== 'is_charged_twice')
      : PAYER_TRICKS;
  const drawn =
    !options.isHonest && random.chance(MISCHIEF_CHANCE) ? random.pick(tricks) : undefined;
  const trick = options.hasReorgs && drawn !== undefined ? (FOR_A_WHILE[drawn] ?? drawn) : drawn;
  // Who plays tricks is not met again.
  const method = methodOf(random, trick, options);
  const payer =
    trick === undefined && method !== 'approval'
      ? random.pick(stage.payers)
      : await world.payer({ approves: trick === 'is_charged_twice' });
  const nonce = newNonce();
  const isByWallet = trick === undefined && method === 'eip3009' && random.chance(WALLET_CHANCE);
  const wallet = isByWallet ? stage.wallets.pop() : undefined;
  const payment =
    wallet === undefined
      ? await makePayment(stage, random, payer, { method, nonce })
      : await walletPayment(stage, random, wallet, nonce);
  const payments = [payment];
  if (trick === 'equivocates') {
    payments.push(await makePayment(stage, random, payer, { method, nonce }));
  }
  if (trick === 'is_charged_twice') payments.push(chargedAnother(random, payment));
  const manner = random.pick(MANNERS);
  const meaningless = new Set([
    ...(options.meaningless ?? []),
    ...(method === 'approval' ? (options.meaninglessAfterApproval ?? []) : []),
  ]);
  const orders: Order[] = [];
  const strangers: Order[] = [];
  // The claim may have taken so long that a stranger asked before the broadcast, as the sellers did.
  const isSoldToEarlyStranger = (): boolean =>
    strangers.some((stranger) => stranger.isBuyer && askedEarly(stage, stranger));
  for (const order of ordersOf(stage, random, payments, manner)) {
    orders.push(
      new Order({
        ...order,
        meaningless,
        isSoldElsewhere: () =>
          isSoldToEarlyStranger() ||
          orders.some(
            (other) =>
              other.options !== order &&
              (other.isBuyer ||
                // Paid, as far as its place said, until the chain took that back.
                (options.hasReorgs === true && other.heard.some(({ isAccepted }) => isAccepted)) ||
                // The sale stays with the lost 202, also where the payment was collected with another amount.
                (options.isLedgerWhole === false &&
                  payments.length > 1 &&
                  other.heard.some(({ isAccepted }) => isAccepted)) ||
                (payments.length > 1 && other.mayHaveBeenAnswered)),
          ),
      }),
    );
  }
  if (trick === 'is_copied') {
    strangers.push(...payments.map((payment) => strangerTo(stage, random, payment)));
  }
  return { payer, payments, manner, trick, orders, strangers };
}

/** All requests of one deal, until each has its final answer. */
export async function play(
  { world, pool }: Stage,
  random: SeededRandom,
  { trick, payments, payer, orders, strangers }: Deal,
  deadline: number,
): Promise<void> {
  await delay(random.between(0, 500));
  const pursuing = orders.map((order) => order.pursue(deadline));
  const [payment] = payments;
  if (trick !== undefined && payment !== undefined) {
    if (trick === 'is_copied' && random.chance(0.6)) {
      // From the pool; who is quick is in the same block.
      await Promise.race([pool.sight(payment), delay(2000)]);
      pursuing.push(...strangers.map((stranger) => stranger.pursue(deadline)));
    } else {
      await delay(random.between(0, 700));
    }
    await commit(trick, world, payment.body, payer);
  }
  await Promise.all(pursuing);
}

function methodOf(
  random: SeededRandom,
  trick: PayerTrick | undefined,
  { areLanesTaken = false, bringApprovals = false }: DealOptions,
): Method {
  if (trick === 'is_charged_twice') return 'upto';
  if (trick !== undefined || !random.chance(0.5)) return 'eip3009';
  if (bringApprovals && random.chance(APPROVAL_CHANCE)) return 'approval';
  return random.chance(0.5) && !areLanesTaken ? 'upto' : 'permit2';
}

/** More than any offset in a call, so that a call can be searched for it. */
const UPTO_LEAST = 100_000;
const UPTO_MOST = 900_000;

/** The same header, presented for another amount. */
function chargedAnother(random: SeededRandom, payment: Payment): Payment {
  const amount = payment.amount + BigInt(random.between(1, 1000));
  return { ...payment, amount, body: charging(payment.body, amount.toString()) };
}

async function uptoPayment(
  stage: Stage,
  random: SeededRandom,
  payer: PrivateKeyAccount,
  nonce: Hex,
): Promise<Payment> {
  const { world, signers } = stage;
  const payTo = stage.newPayee();
  const amount = BigInt(random.between(UPTO_LEAST, UPTO_MOST));
  const body = await uptoBody({
    payer,
    chainId: world.chainId,
    payTo,
    token: world.coin,
    nonce: BigInt(nonce),
    amount: BigInt(2 * UPTO_MOST),
    charged: amount.toString(),
    facilitator: random.pick(signers),
  });
  return { body, method: 'upto', token: world.coin, payer: payer.address, payTo, amount, nonce };
}

/** The first one of a wallet, which its factory has yet to make. */
async function walletPayment(
  stage: Stage,
  random: SeededRandom,
  { address: from, owner, factory, data }: FundedWallet,
  nonce: Hex,
): Promise<Payment> {
  const { chainId, usd: token } = stage.world;
  const payTo = stage.newPayee();
  const amount = BigInt(random.between(1, 5000));
  const signed = await eip3009Body({ payer: owner, from, chainId, token, payTo, amount, nonce });
  const body = wrappedIn(signed, factory, data);
  return { body, method: 'eip3009', token, payer: from, payTo, amount, nonce };
}

async function makePayment(
  stage: Stage,
  random: SeededRandom,
  payer: PrivateKeyAccount,
  { method, nonce }: { readonly method: Payment['method']; readonly nonce: Hex },
): Promise<Payment> {
  if (method === 'upto') return uptoPayment(stage, random, payer, nonce);
  const { world } = stage;
  const payTo = stage.newPayee();
  const amount = BigInt(random.between(1, 5000));
  const token = method === 'eip3009' ? world.usd : world.coin;
  const options = { payer, chainId: world.chainId, payTo, amount, token };
  const body =
    method === 'eip3009'
      ? await eip3009Body({ ...options, nonce })
      : await permit2Body({ ...options, nonce: BigInt(nonce) });
  if (method === 'approval') await withSignedApproval(body, options);
  return { body, method, token, payer: payer.address, payTo, amount, nonce };
}

function ordersOf(
  stage: Stage,
  random: SeededRandom,
  payments: readonly Payment[],
  manner: Manner,
): readonly OrderOptions[] {
  const [payment, other = payment] = payments;
  if (payment === undefined || other === undefined) throw new Error('a deal without a payment');
  const from = newCallerAddress();
  const common = {
    payment,
    urls: () => stage.urls(),
    random,
    from,
    headersOf: (caller: string) => stage.headersOf(caller),
    hasKey: true,
    isEasilyDiscouraged: random.chance(0.2),
    ...(random.chance(0.2) && { abortsAfterMs: random.between(10, 1500) }),
  };
  switch (manner) {
    case 'plain':
      return random.chance(0.5) && payments.length === 1
        ? [common]
        : [common, { ...common, payment: other }];
    case 'late':
      return [
        common,
        {
          ...common,
          payment: other,
          from: newCallerAddress(),
          startsAfterMs: random.between(200, 2500),
        },
      ];
    case 'async': {
      const orders = [
        { ...common, isAsync: true },
        {
          ...common,
          payment: other,
          isAsync: random.chance(0.3),
          startsAfterMs: random.below(800),
        },
      ];
      return random.chance(0.5) && payments.length === 1 ? orders.slice(0, 1) : orders;
    }
    case 'crowd':
      return [
        { ...common, copies: random.between(2, 5) },
        ...Array.from({ length: random.between(2, 5) }, () => ({
          ...common,
          payment: other,
          hasKey: false,
          from: newCallerAddress(),
          startsAfterMs: random.below(300),
        })),
      ];
  }
}

/** Whether it was there before anybody can have seen the payment in the pool. */
function askedEarly({ pool }: Stage, { requests, options }: Order): boolean {
  const sighted = pool.firstSight(options.payment);
  return requests.some(({ askedAt }) => sighted === undefined || askedAt <= sighted);
}

/** Asks a few times, without a key, from an address of its own. */
function strangerTo(stage: Stage, random: SeededRandom, payment: Payment): Order {
  return new Order({
    payment,
    urls: () => stage.urls(),
    random,
    from: newCallerAddress(),
    headersOf: (caller) => stage.headersOf(caller),
    hasKey: false,
    rounds: 4,
  });
}
