import { type Address, encodeFunctionData, getAddress, type Hex, parseTransaction } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { BATCH_SETTLEMENT, MULTICALL3 } from '../../../sandbox/deploy.js';
import {
  claimBody,
  depositBody,
  sellerRefundBody,
  settleBody,
} from '../../support/channel-bodies.js';
import { type ChannelConfig, Channels, ESCROW_ABI } from '../../support/channels.js';
import { type Body, newAccount, newNonce } from '../../support/payments.js';
import type { SeededRandom } from '../../support/seeded-random.js';
import { delay, newCallerAddress } from '../client.js';
import { Order } from '../order.js';
import { sendAs } from '../payer-tricks.js';
import type { Stage } from '../stage.js';

type ActName = 'deposit' | 'claim' | 'settle' | 'refund';
type ActTrick = 'copied' | 'withdrawing' | 'old' | 'rival' | undefined;

/** One message to be settled, and all who post it. */
export interface Act {
  readonly manner: ActName;
  readonly trick: ActTrick;
  readonly body: Body;
  readonly orders: Order<{ readonly body: Body }>[];
  /** Totals that it claims. */
  readonly rows: readonly { readonly channel: Channel; readonly total: bigint }[];
  /** Of a deposit or a refund. */
  readonly channel?: Channel;
  readonly amount?: bigint;
  readonly refundNonce?: bigint;
}

export interface Channel {
  readonly config: ChannelConfig;
  readonly id: Hex;
  readonly payer: PrivateKeyAccount;
  /** Atomic units of the deposits with a success. */
  funded: bigint;
  /** What the newest voucher allows. */
  signed: bigint;
}

/** The draws of a shop, made before anything happens. */
interface ShopPlan {
  readonly channels: number;
  /** Programs of one seller that do not know of each other. */
  readonly managers: number;
  /** Claims and payouts of each. */
  readonly rounds: number;
  /** Whether a manager takes an open answer for a failure, as the stock one does. */
  readonly isImpatient: boolean;
  readonly isCopied: boolean;
  readonly isWithdrawn: boolean;
  /** Whether each channel is refunded by two programs, for two amounts. */
  readonly hasRivals: boolean;
  readonly token: 'usd' | 'coin';
}

export function drawShop(random: SeededRandom): ShopPlan {
  return {
    channels: random.between(1, 3),
    managers: random.pick([1, 2, 2]),
    rounds: random.between(1, 2),
    isImpatient: random.chance(0.5),
    isCopied: random.chance(0.4),
    isWithdrawn: random.chance(0.4),
    hasRivals: random.chance(0.3),
    token: random.pick(['usd', 'usd', 'coin']),
  };
}

/** A seller's channels with a few buyers, and everything that was asked about them. */
export class Shop {
  readonly acts: Act[] = [];
  readonly receiver = newAccount();
  readonly token: Address;
  /** Transactions that strangers have copied. */
  copies = 0;
  readonly #authorizer = newAccount();
  readonly #channels: Channels;
  readonly #all: Channel[] = [];
  #isOver = false;

  constructor(
    readonly stage: Stage,
    private readonly random: SeededRandom,
    readonly plan: ShopPlan,
    private readonly meaningless: ReadonlySet<string>,
  ) {
    const { world } = stage;
    this.token = getAddress(world[plan.token]);
    this.#channels = new Channels(world.chainId);
    // One payer has one channel here: what strangers do to it must not touch another.
    for (const payer of random.some(stage.payers, plan.channels)) {
      const config: ChannelConfig = {
        payer: payer.address,
        payerAuthorizer: payer.address,
        receiver: this.receiver.address,
        receiverAuthorizer: this.#authorizer.address,
        token: this.token,
        withdrawDelay: 900,
        salt: newNonce(),
      };
      const id = this.#channels.idOf(config);
      this.#all.push({ config, id, payer, funded: 0n, signed: 0n });
    }
  }

  get channels(): readonly Channel[] {
    return this.#all;
  }

  async play(deadline: number): Promise<void> {
    const copying = this.plan.isCopied ? this.#copy() : undefined;
    await Promise.all(this.#all.map((channel) => this.#deposit(channel, deadline)));
    await Promise.all([
      ...Array.from({ length: this.plan.managers }, () => this.#manage(deadline)),
      ...(this.plan.isWithdrawn ? this.#all.map((channel) => this.#withdraw(channel)) : []),
      this.#topUp(deadline),
    ]);
    await this.#post(await this.#claim(undefined), deadline);
    await this.#post(this.#settle(undefined), deadline);
    await Promise.all(this.#all.map((channel) => this.#refund(channel, deadline)));
    await this.#post(this.#settle(undefined), deadline);
    this.#isOver = true;
    await copying;
    // A finished action stays finished for every caller; a deposit, for the order that has its success.
    for (const act of this.acts) {
      const [first] = act.orders;
      if (act.manner === 'deposit') await first?.pursue(deadline);
      else await this.#post(act, deadline);
    }
  }

  /** What a manager does at its intervals. */
  async #manage(deadline: number): Promise<void> {
    const { rounds, isImpatient } = this.plan;
    for (let round = 0; round < rounds; round += 1) {
      await delay(this.random.below(600));
      await this.#post(await this.#claim(undefined), deadline, isImpatient);
      if (this.random.chance(0.3)) await this.#postOld(deadline);
      await this.#post(this.#settle(undefined), deadline, isImpatient);
    }
  }

  async #deposit(channel: Channel, deadline: number): Promise<void> {
    const { config, payer } = channel;
    const amount = BigInt(this.random.between(1000, 5000));
    channel.signed += BigInt(this.random.between(1, 100));
    const body = await depositBody({
      channels: this.#channels,
      payer,
      config,
      amount,
      max: channel.signed,
      method: this.plan.token === 'usd' ? 'eip3009' : 'permit2',
    });
    const trick = this.plan.isCopied ? 'copied' : undefined;
    const act = this.#asked({ manner: 'deposit', trick, body, rows: [], channel, amount });
    const order = this.#order(act, { hasKey: true });
    await order.pursue(deadline);
    if (order.isBuyer) channel.funded += amount;
  }

  async #topUp(deadline: number): Promise<void> {
    await delay(this.random.below(2000));
    if (this.random.chance(0.5)) await this.#deposit(this.random.pick(this.#all), deadline);
  }

  /** Buyers have called a few times more, and all vouchers are claimed. */
  async #claim(trick: ActTrick): Promise<Act | undefined> {
    const rows = [];
    for (const channel of this.#all) {
      if (channel.funded === 0n) continue;
      const room = channel.funded - channel.signed;
      if (room > 1n) channel.signed += BigInt(this.random.between(1, Number(room / 2n)));
      rows.push({ channel, total: channel.signed });
    }
    const claims = await Promise.all(
      rows.map(({ channel, total }) => this.#channels.claim(channel.payer, channel.config, total)),
    );
    const [first, ...others] = claims;
    if (first === undefined) return undefined;
    const body = await claimBody(this.#channels, this.#authorizer, [first, ...others]);
    const isWithdrawn = trick === undefined && this.plan.isWithdrawn;
    return this.#asked({ manner: 'claim', trick: isWithdrawn ? 'withdrawing' : trick, body, rows });
  }

  #settle(trick: ActTrick): Act | undefined {
    if (this.#all.every(({ funded }) => funded === 0n)) return undefined;
    const body = settleBody(this.#channels, this.receiver.address, this.token);
    return this.#asked({ manner: 'settle', trick, body, rows: [] });
  }

  /** The rest of a channel goes back, or a part of it; a last voucher may be claimed in the same transaction. */
  async #refund(channel: Channel, deadline: number): Promise<void> {
    const { config, payer } = channel;
    const free = channel.funded - channel.signed;
    if (free < 3n) return;
    const rows: { readonly channel: Channel; readonly total: bigint }[] = [];
    if (this.random.chance(0.4)) {
      channel.signed += 1n;
      rows.push({ channel, total: channel.signed });
    }
    const claims = await Promise.all(
      rows.map(({ total }) => this.#channels.claim(payer, config, total)),
    );
    const amounts = this.plan.hasRivals ? [free - 1n, free / 2n] : [free - 1n];
    const acts = await Promise.all(
      amounts.map(async (amount) => {
        const body = await sellerRefundBody({
          channels: this.#channels,
          signer: payer,
          authorizer: this.#authorizer,
          config,
          amount,
          max: channel.signed,
          claims,
        });
        const trick = this.plan.hasRivals ? 'rival' : undefined;
        return this.#asked({
          manner: 'refund',
          trick,
          body,
          rows,
          channel,
          amount,
          refundNonce: 0n,
        });
      }),
    );
    await Promise.all(acts.map((act) => this.#post(act, deadline)));
  }

  /** Some claim or payout that was asked for before. */
  async #postOld(deadline: number): Promise<void> {
    const old = this.acts.filter(({ manner }) => manner === 'claim' || manner === 'settle');
    if (old.length > 0) await this.#post(this.random.pick(old), deadline);
  }

  async #post(act: Act | undefined, deadline: number, isImpatient = false): Promise<void> {
    if (act === undefined) return;
    const order = this.#order(act, { hasKey: false, isImpatient });
    await order.pursue(deadline);
  }

  #order(
    act: Act,
    { hasKey, isImpatient = false }: { readonly hasKey: boolean; readonly isImpatient?: boolean },
  ): Order<{ readonly body: Body }> {
    const order = new Order({
      payment: act,
      urls: () => this.stage.urls(),
      random: this.random,
      from: newCallerAddress(),
      hasKey,
      meaningless: this.meaningless,
      copies: this.random.pick([1, 1, 2]),
      ...(isImpatient && { rounds: 1 }),
      ...(this.random.chance(0.2) && { abortsAfterMs: this.random.between(10, 1500) }),
    });
    act.orders.push(order);
    return order;
  }

  #asked(act: Omit<Act, 'orders'>): Act {
    const asked = { ...act, orders: [] };
    this.acts.push(asked);
    return asked;
  }

  /** A payer wants back what is free. It comes to no more than that: the delay is longer than a run. */
  async #withdraw({ config, payer, id }: Channel): Promise<void> {
    await delay(this.random.below(1500));
    const { client } = this.stage.world;
    const [balance, claimed] = await client.readContract({
      address: BATCH_SETTLEMENT,
      abi: ESCROW_ABI,
      functionName: 'channels',
      args: [id],
    });
    const data = encodeFunctionData({
      abi: ESCROW_ABI,
      functionName: 'initiateWithdraw',
      args: [config, balance - claimed],
    });
    await sendAs(this.stage.world, payer.address, { to: BATCH_SETTLEMENT, data });
  }

  /** Whatever is sent to the escrow, a stranger sends at once at a higher price. */
  async #copy(): Promise<void> {
    const stranger = newAccount().address;
    while (!this.#isOver) {
      const raw = await Promise.race([this.stage.pool.any(), delay(200)]);
      if (raw === undefined) continue;
      const { to, data } = parseTransaction(raw);
      if (to == null || data === undefined) continue;
      const isOfChannels =
        to.toLowerCase() === BATCH_SETTLEMENT.toLowerCase() ||
        (to.toLowerCase() === MULTICALL3.toLowerCase() &&
          data.includes(BATCH_SETTLEMENT.slice(2).toLowerCase()));
      if (!isOfChannels) continue;
      this.copies += 1;
      await sendAs(this.stage.world, stranger, { to, data, gas: 2_000_000n });
    }
  }
}
