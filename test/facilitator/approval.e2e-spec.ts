import type { Server } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect } from '@jest/globals';
import { HTTPFacilitatorClient } from '@x402/core/server';
import { InMemoryClientChannelStorage } from '@x402/evm/batch-settlement/client';
import { declareErc20ApprovalGasSponsoringExtension } from '@x402/extensions';
import { Redis } from 'ioredis';
import type { Address, Hex } from 'viem';
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import { sandboxAccount } from '../../sandbox/accounts.js';
import { type Buyer, stockBuyer, stockBuyerAs } from '../../sandbox/buyer.js';
import { channelSeller } from '../../sandbox/channel-seller.js';
import { BATCH_SETTLEMENT } from '../../sandbox/deploy.js';
import { freePort } from '../../sandbox/processes.js';
import { demoSeller, listen, PRICE } from '../../sandbox/seller.js';
import type { Service } from '../../sandbox/service.js';
import { listKey } from '../../src/settlement/ledger/keys.js';
import { depositBody } from '../support/channel-bodies.js';
import { type ChannelConfig, Channels, ESCROW_ABI } from '../support/channels.js';
import { type Answer, eventually, get, post } from '../support/http.js';
import { deep, it } from '../support/part.js';
import {
  type Body,
  charging,
  eip3009Body,
  newAccount,
  newNonce,
  permit2Body,
  type SignedApproval,
  uptoBody,
  withSignedApproval,
} from '../support/payments.js';
import { World } from '../support/world.js';

const AMOUNT = 1000n;
const GWEI = 10n ** 9n;
const GAS = 70_000n;
/** What a payer without coins is short of. */
const TOP_UP = GAS * GWEI;
const BLOCK_TIME = 0.3;

/** Payers without native coins, of a token with neither EIP-3009 nor a permit. */
describe('an approval that the facilitator pays for', () => {
  let world: World;
  let redis: Redis;
  let database = 0;
  const signer = sandboxAccount(0);
  const services: Service[] = [];

  beforeAll(async () => {
    world = await World.start({ blockTime: BLOCK_TIME });
  });
  afterAll(() => world.stop());
  beforeEach(() => {
    database += 1;
    redis = new Redis(world.redis.url, { db: database });
  });
  afterEach(async () => {
    redis.disconnect();
    await Promise.all(services.splice(0).map((service) => service.stop('SIGKILL')));
  });

  /** Services of one test share a ledger. */
  async function aService(more: Record<string, string> = {}): Promise<Service> {
    const service = await world.service({
      REDIS_URL: `${world.redis.url}/${database}`,
      SIGNER_KEYS: signer.key,
      [`APPROVAL_SPONSORING_${world.chainId}`]: '1',
      ...more,
    });
    services.push(service);
    return service;
  }

  /** An account that owns the token and nothing else. */
  async function newcomer(): Promise<PrivateKeyAccount> {
    const account = newAccount();
    await world.fund(account.address, 10n * AMOUNT);
    return account;
  }

  async function aBody(payer: PrivateKeyAccount, signed: SignedApproval = {}): Promise<Body> {
    const { chainId, coin: token } = world;
    const payTo = newAccount().address;
    return withApproval(await permit2Body({ payer, chainId, token, payTo }), payer, signed);
  }

  /** A deposit by Permit2 into a new channel. */
  async function aDeposit(
    payer: PrivateKeyAccount,
    signed: SignedApproval = {},
    more: Partial<Parameters<typeof depositBody>[0]> = {},
  ): Promise<Body> {
    const { address } = payer;
    const config: ChannelConfig = {
      payer: address,
      payerAuthorizer: address,
      receiver: newAccount().address,
      receiverAuthorizer: newAccount().address,
      token: world.coin,
      withdrawDelay: 900,
      salt: newNonce(),
    };
    const channels = new Channels(world.chainId);
    const options = {
      channels,
      payer,
      config,
      method: 'permit2',
      amount: AMOUNT,
      ...more,
    } as const;
    return withApproval(await depositBody(options), payer, signed);
  }

  function withApproval(
    body: Body,
    payer: PrivateKeyAccount,
    signed: SignedApproval = {},
  ): Promise<Body> {
    const { chainId, coin: token } = world;
    const price = { gas: GAS, maxFeePerGas: GWEI, maxPriorityFeePerGas: GWEI };
    return withSignedApproval(body, { payer, chainId, token }, { ...price, ...signed });
  }

  const settle = ({ url }: Service, body: Body, headers = {}): Promise<Answer> =>
    post(`${url}/settle`, body, headers);
  const verify = ({ url }: Service, body: Body): Promise<Answer> => post(`${url}/verify`, body);
  const paidTo = ({ paymentRequirements: { payTo } }: Body): Promise<bigint> =>
    world.balance(world.coin, payTo as Address);
  /** What the channel of a deposit holds. */
  async function heldBy({ paymentPayload }: Body): Promise<bigint> {
    const { voucher } = paymentPayload['payload'] as { voucher: { channelId: Hex } };
    const [balance] = await world.client.readContract({
      address: BATCH_SETTLEMENT,
      abi: ESCROW_ABI,
      functionName: 'channels',
      args: [voucher.channelId],
    });
    return balance;
  }
  const coinsOf = ({ address }: { address: Address }): Promise<bigint> =>
    world.client.getBalance({ address });
  const nonceOf = ({ address }: { address: Address }): Promise<number> =>
    world.client.getTransactionCount({ address });
  const fundingOf = ({ address }: PrivateKeyAccount): Promise<string | null> =>
    redis.hget(listKey(world.chainId, 'funded'), address.toLowerCase());
  async function stopMining(): Promise<void> {
    await world.client.setIntervalMining({ interval: 0 });
  }
  async function goOnMining(): Promise<void> {
    await world.client.setIntervalMining({ interval: 1 });
  }

  // ---------------------------------------------------------------- stock

  describe('with the stock client and the stock seller', () => {
    let seller: Server;
    let url: string;
    let buyer: Buyer;
    let payer: PrivateKeyAccount;

    beforeEach(async () => {
      const { url: facilitatorUrl } = await aService();
      const network = `eip155:${world.chainId}` as const;
      const [port, { usd, coin }] = [await freePort(), world];
      const payTo = newAccount().address;
      seller = await listen(demoSeller({ facilitatorUrl, network, payTo, usd, coin }), port);
      url = `http://127.0.0.1:${port}/approval`;
      const key = generatePrivateKey();
      payer = privateKeyToAccount(key);
      await world.fund(payer.address, 2n * PRICE);
      buyer = stockBuyer(key, world.anvil.url);
    });
    afterEach(() => {
      seller.close();
      seller.closeAllConnections();
    });

    it('buys at first with an approval, then directly, and never twice with one header', async () => {
      const first = await buyer.buy(url);
      expect(first).toMatchObject({ status: 200, receipt: { success: true } });
      expect([await nonceOf(payer), await world.balance(world.coin, payer.address)]).toEqual([
        1,
        PRICE,
      ]);
      const left = await coinsOf(payer);
      const again = await fetch(url, {
        headers: { 'payment-signature': buyer.lastPayment ?? '' },
      });
      expect(again.status).toBe(402);
      const second = await buyer.buy(url);
      expect(second).toMatchObject({ status: 200, receipt: { success: true } });
      expect(second.receipt?.transaction).not.toBe(first.receipt?.transaction);
      expect([await nonceOf(payer), await world.balance(world.coin, payer.address)]).toEqual([
        1,
        0n,
      ]);
      expect(await coinsOf(payer)).toBe(left);
    });
  });

  // ---------------------------------------------------------------- what is refused

  it('is not offered, and not paid for, where no budget is set', async () => {
    const service = await aService({ [`APPROVAL_SPONSORING_${world.chainId}`]: '' });
    const { body } = await get(`${service.url}/supported`);
    expect(body['extensions']).not.toContain('erc20ApprovalGasSponsoring');
    const payer = await newcomer();
    expect((await verify(service, await aBody(payer))).body).toMatchObject({
      isValid: false,
      invalidReason: 'permit2_allowance_required',
    });
    expect((await settle(service, await aBody(payer))).body).toMatchObject({
      success: false,
      errorReason: 'permit2_allowance_required',
      transaction: '',
    });
    expect(await coinsOf(payer)).toBe(0n);
  });

  it('is offered where one is set, and judged before anything is sent', async () => {
    const service = await aService();
    const { body } = await get(`${service.url}/supported`);
    expect(body['extensions']).toContain('erc20ApprovalGasSponsoring');
    const payer = await newcomer();
    expect((await verify(service, await aBody(payer))).body).toMatchObject({ isValid: true });
    const wrong: readonly (readonly [SignedApproval, string])[] = [
      [{ nonce: 1 }, 'erc20_approval_tx_nonce_mismatch'],
      [{ chainId: 56 }, 'erc20_approval_tx_wrong_chain'],
      [{ gas: 100_001n }, 'erc20_approval_tx_too_expensive'],
      [{ gas: 25_000n }, 'erc20_approval_tx_failed'],
    ];
    for (const [signed, reason] of wrong) {
      const sent = await aBody(payer, signed);
      expect((await verify(service, sent)).body).toMatchObject({ invalidReason: reason });
      expect((await settle(service, sent)).body).toMatchObject({
        success: false,
        errorReason: reason,
        transaction: '',
      });
    }
    expect([await coinsOf(payer), await fundingOf(payer)]).toEqual([0n, null]);
  });

  deep('is not paid for with a token that nobody vouches for', async () => {
    const service = await aService({ BATCH_SAFE_ASSETS: '' });
    const payer = await newcomer();
    expect((await settle(service, await aBody(payer))).body).toMatchObject({
      success: false,
      errorReason: 'permit2_allowance_required',
      transaction: '',
    });
    expect([await coinsOf(payer), await fundingOf(payer)]).toEqual([0n, null]);
  });

  deep(
    'is refused when the budget of the day does not reach, and leaves nothing behind',
    async () => {
      const service = await aService({ [`APPROVAL_SPONSORING_${world.chainId}`]: '0.00005' });
      const payer = await newcomer();
      const { body } = await settle(service, await aBody(payer));
      expect(body).toMatchObject({ success: false, errorReason: 'budget_exhausted' });
      expect([await coinsOf(payer), await fundingOf(payer)]).toEqual([0n, null]);
    },
  );

  deep('comes before a payment of at most what was signed, by the lane that it names', async () => {
    const service = await aService();
    const payer = await newcomer();
    const { chainId, coin: token } = world;
    const options = { payer, chainId, token, payTo: newAccount().address, amount: AMOUNT };
    const body = await uptoBody({ ...options, facilitator: signer.address });
    const sent = await withApproval(body, payer);
    expect((await verify(service, sent)).body).toMatchObject({ isValid: true });
    expect((await settle(service, charging(sent, '400'))).body).toMatchObject({
      success: true,
      amount: '400',
    });
    expect([await paidTo(sent), await nonceOf(payer)]).toEqual([400n, 1]);
  });

  // ---------------------------------------------------------------- tricks

  deep('tells a payer that spends its coins otherwise, and never funds it again', async () => {
    const service = await aService({ SETTLE_WAIT_MS: '60000' });
    const payer = await newcomer();
    const over = new AbortController();
    const spending = (async () => {
      while (!over.signal.aborted) {
        if ((await coinsOf(payer)) > 0n) {
          await world.client.setBalance({ address: payer.address, value: 0n });
        }
      }
    })();
    const sent = await aBody(payer);
    const first = await settle(service, sent);
    expect(first.body).toMatchObject({
      success: false,
      errorReason: 'erc20_approval_broadcast_failed',
      transaction: '',
    });
    const used = await nonceOf(signer);
    const second = await settle(service, sent);
    expect(second.body).toMatchObject({ errorReason: 'erc20_approval_broadcast_failed' });
    over.abort();
    await spending;
    expect([await nonceOf(signer), await paidTo(sent)]).toEqual([used, 0n]);
  });

  deep('tells a payer that sends something else at its nonce', async () => {
    const service = await aService({ SETTLE_WAIT_MS: '60000' });
    const payer = await newcomer();
    await stopMining();
    const sent = await aBody(payer);
    const settled = settle(service, sent);
    await eventually('it is funded', async () => (await fundingOf(payer)) !== null);
    const other = await payer.signTransaction({
      type: 'eip1559',
      chainId: world.chainId,
      nonce: 0,
      to: payer.address,
      gas: 21_000n,
      maxFeePerGas: 2n * GWEI,
      maxPriorityFeePerGas: 2n * GWEI,
    });
    await world.client.setBalance({ address: payer.address, value: 21_000n * 2n * GWEI });
    await world.client.sendRawTransaction({ serializedTransaction: other });
    await goOnMining();
    expect((await settled).body).toMatchObject({
      success: false,
      errorReason: 'erc20_approval_broadcast_failed',
      transaction: '',
    });
    expect(await paidTo(sent)).toBe(0n);
  });

  deep(
    'never keeps plain payments out of the queue, however many strangers ask for one',
    async () => {
      const service = await aService({ QUEUE_MAX: '16' });
      const { chainId, usd: token } = world;
      const strangers: PrivateKeyAccount[] = [];
      while (strangers.length < 20) strangers.push(await newcomer());
      const buyers: PrivateKeyAccount[] = [];
      while (buyers.length < 8) buyers.push(await newcomer());
      const ask = (signed: SignedApproval) =>
        Promise.all(
          strangers.map(async (stranger) => {
            const body = await aBody(stranger, signed);
            return (await settle(service, body, { prefer: 'respond-async' })).body;
          }),
        );
      for (const body of await ask({ maxPriorityFeePerGas: 1n })) {
        expect(body).toMatchObject({ errorReason: 'erc20_approval_tx_underpriced' });
      }
      await stopMining();
      const asked = await ask({});
      const turnedAway = asked.filter(({ errorReason }) => errorReason === 'queue_full');
      expect(turnedAway.length).toBeGreaterThanOrEqual(strangers.length - 4);
      const bought = buyers.map(async (payer) => {
        const payTo = newAccount().address;
        const body = await eip3009Body({ payer, chainId, token, payTo, amount: AMOUNT });
        return (await settle(service, body)).body;
      });
      await goOnMining();
      for (const body of await Promise.all(bought)) expect(body).toMatchObject({ success: true });
    },
  );

  it('is paid for once when a payer sends two payments at once', async () => {
    const service = await aService();
    const payer = await newcomer();
    const bodies = [await aBody(payer), await aBody(payer)];
    const answers = await Promise.all(bodies.map((body) => settle(service, body)));
    const paid = answers.filter(({ body }) => body['success'] === true);
    expect(paid.length).toBeGreaterThanOrEqual(1);
    for (const { body } of answers.filter(({ body }) => body['success'] !== true)) {
      expect(body['errorReason']).toBe('permit2_allowance_required');
    }
    expect([await nonceOf(payer), (await coinsOf(payer)) < TOP_UP]).toEqual([1, true]);
    // The next try of the other goes directly.
    for (const body of bodies) await settle(service, body);
    expect(await Promise.all(bodies.map(paidTo))).toEqual([AMOUNT, AMOUNT]);
  });

  deep(
    'answers that nothing was sent when the time is up before, and goes on at the next try',
    async () => {
      const service = await aService({ SETTLE_WAIT_MS: '1500' });
      const payer = await newcomer();
      const sent = await aBody(payer);
      await stopMining();
      expect((await settle(service, sent)).body).toMatchObject({
        success: false,
        errorReason: 'settlement_not_sent',
        transaction: '',
      });
      await goOnMining();
      await eventually('the coins came', async () => (await coinsOf(payer)) === TOP_UP);
      await eventually('it is settled', async () => {
        const { body } = await settle(service, sent);
        return body['success'] === true;
      });
      expect([await paidTo(sent), (await coinsOf(payer)) < TOP_UP]).toEqual([AMOUNT, true]);
    },
  );

  // ---------------------------------------------------------------- deposits

  it('opens a channel of the stock client and server for a buyer without coins', async () => {
    const { url: facilitatorUrl } = await aService();
    const seller = channelSeller({
      facilitator: new HTTPFacilitatorClient({ url: facilitatorUrl }),
      network: `eip155:${world.chainId}`,
      payTo: newAccount().address,
      authorizer: newAccount(),
      token: world.coin,
      extra: { assetTransferMethod: 'permit2', name: 'Coin', version: '1' },
      extensions: declareErc20ApprovalGasSponsoringExtension(),
      price: AMOUNT / 10n,
    });
    const port = await freePort();
    const server = await listen(seller.app, port);
    try {
      const payer = await newcomer();
      const storage = new InMemoryClientChannelStorage();
      const buyer = stockBuyerAs(payer, world.anvil.url, { salt: newNonce(), storage });
      const url = `http://127.0.0.1:${port}/call`;
      const opened = await buyer.buy(url);
      expect(opened).toMatchObject({
        status: 200,
        receipt: { success: true, amount: AMOUNT.toString() },
      });
      expect(await buyer.buy(url)).toMatchObject({ status: 200, receipt: { transaction: '' } });
      expect([await nonceOf(payer), (await coinsOf(payer)) < TOP_UP]).toEqual([1, true]);
      expect(await seller.manager.claimAndSettle()).toMatchObject({ claims: [{ vouchers: 1 }] });
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });

  deep('pays for no approval of a deposit that could not be made', async () => {
    const service = await aService();
    const payer = await newcomer();
    const wrong: readonly (readonly [Promise<Body>, string])[] = [
      [aDeposit(payer, {}, { voucherSigner: newAccount() }), 'voucher_signature'],
      [aDeposit(payer, {}, { amount: 11n * AMOUNT }), 'insufficient_balance'],
      [aDeposit(payer, {}, { max: AMOUNT + 1n }), 'cumulative_exceeds_balance'],
    ];
    for (const [body, reason] of wrong) {
      expect((await settle(service, await body)).body).toMatchObject({
        success: false,
        errorReason: `invalid_batch_settlement_evm_${reason}`,
        transaction: '',
      });
    }
    expect([await coinsOf(payer), await fundingOf(payer)]).toEqual([0n, null]);
  });

  deep('pays once for a payer that opens two channels at once', async () => {
    const service = await aService();
    const payer = await newcomer();
    const bodies = [await aDeposit(payer), await aDeposit(payer)];
    const answers = await Promise.all(bodies.map((body) => settle(service, body)));
    for (const { body } of answers.filter(({ body }) => body['success'] !== true)) {
      expect(body['errorReason']).toBe('invalid_batch_settlement_evm_permit2_allowance_required');
    }
    expect([await nonceOf(payer), (await coinsOf(payer)) < TOP_UP]).toEqual([1, true]);
    for (const body of bodies) await settle(service, body);
    expect(await Promise.all(bodies.map(heldBy))).toEqual([AMOUNT, AMOUNT]);
  });

  // ---------------------------------------------------------------- killed

  const moments: readonly [string, (payer: PrivateKeyAccount) => Promise<boolean>, boolean][] = [
    ['the funding was stored and sent', async (payer) => (await fundingOf(payer)) !== null, false],
    ['the coins came', async (payer) => (await coinsOf(payer)) > 0n, true],
    ['the approval was mined', async (payer) => (await nonceOf(payer)) === 1, true],
  ];
  const kinds = [
    ['a payment', aBody, paidTo],
    ['a deposit', aDeposit, heldBy],
  ] as const;
  deep.each(
    kinds.flatMap(([kind, make, paid]) =>
      moments.map(([when, isThere, isMining]) => ({ kind, when, make, paid, isThere, isMining })),
    ),
  )(
    'before $kind is carried on by another process when one is killed once $when',
    async ({ make, paid, isThere, isMining }) => {
      const service = await aService();
      const payer = await newcomer();
      const sent = await make(payer);
      if (!isMining) await stopMining();
      const { status } = await settle(service, sent, { prefer: 'respond-async' });
      expect(status).toBe(202);
      await eventually('its moment has come', () => isThere(payer));
      await service.stop('SIGKILL');
      const other = await aService();
      if (!isMining) await goOnMining();
      await eventually('it is paid', async () => (await paid(sent)) === AMOUNT, 30_000);
      expect((await coinsOf(payer)) < TOP_UP).toBe(true);
      expect(await nonceOf(payer)).toBe(1);
      expect((await verify(other, sent)).body).toMatchObject({ isValid: false });
    },
  );
});
