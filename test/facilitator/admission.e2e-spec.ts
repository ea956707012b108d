import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { Address, Hex } from 'viem';
import { sandboxAccount } from '../../sandbox/accounts.js';
import type { Service } from '../../sandbox/service.js';
import { type Answer, eventually, post } from '../support/http.js';
import { type Body, eip3009Body, newAccount, type PaymentOptions } from '../support/payments.js';
import { World } from '../support/world.js';

/** Admission, on a chain that mines when a test says so. Each test has a ledger and a signer. */
describe('admission', () => {
  let world: World;
  let database = 0;
  let redis: Redis;

  beforeAll(async () => {
    world = await World.start();
    await world.client.setAutomine(false);
  });
  beforeEach(() => {
    database += 1;
    redis = new Redis(`${world.redis.url}/${database}`);
  });
  afterEach(() => {
    redis.disconnect();
  });
  afterAll(() => world.stop());

  const aService = (more: Record<string, string>): Promise<Service> =>
    world.service({
      REDIS_URL: `${world.redis.url}/${database}`,
      SIGNER_KEYS: sandboxAccount(10 + database).key,
      ...more,
    });

  const settle = ({ url }: Service, body: Body): Promise<Answer> => post(`${url}/settle`, body);

  async function aBody(more: Partial<PaymentOptions> = {}): Promise<Body> {
    const payer = more.payer ?? (await world.payer());
    const payTo = newAccount().address;
    return eip3009Body({ payer, chainId: world.chainId, token: world.usd, payTo, ...more });
  }

  const mine = (blocks = 1): Promise<void> => world.client.mine({ blocks });
  const isInPool = () =>
    eventually('in the pool', async () => (await world.client.getTxpoolStatus()).pending >= 1);

  async function isQueued(count: number): Promise<void> {
    await eventually(`${count} queued`, async () => {
      const queued = await redis.zcard(`x402:{${world.chainId}:0}:queued`);
      return queued === count;
    });
  }

  it('answers queue_full with Retry-After, and leaves room for other payees', async () => {
    const service = await aService({ QUEUE_MAX: '8', LANE_WINDOW_MAX: '1', BATCH_MAX_ITEMS: '1' });
    const [greedy, modest] = [newAccount().address, newAccount().address];
    const opening = await aBody();
    const ofModest = await aBody({ payTo: modest });
    const ofGreedy = [await aBody({ payTo: greedy }), await aBody({ payTo: greedy })];
    const oneTooMany = await aBody({ payTo: greedy });
    const first = settle(service, opening);
    await isInPool();
    const waiting = [settle(service, ofModest)];
    await isQueued(1);
    for (const [index, body] of ofGreedy.entries()) {
      waiting.push(settle(service, body));
      await isQueued(2 + index);
    }
    // A quarter of the queue is its share while another payee waits.
    const refused = await settle(service, oneTooMany);
    expect(refused.status).toBe(200);
    expect(refused.body).toMatchObject({
      success: false,
      errorReason: 'queue_full',
      transaction: '',
    });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);

    const order: string[] = [];
    waiting.forEach((answer, index) => {
      void answer.then(() => order.push(index === 0 ? 'modest' : 'greedy'));
    });
    for (let count = 0; count < 4; count += 1) {
      await isInPool();
      await mine();
      await eventually('one more is told', () => order.length >= count);
    }
    expect((await first).body).toMatchObject({ success: true });
    for (const answer of await Promise.all(waiting)) {
      expect(answer.body).toMatchObject({ success: true });
    }
    // Turn by turn: the one payment of the modest is not behind all of the greedy.
    expect(order.indexOf('modest')).toBeLessThan(2);
    await service.stop();
  });

  it('refuses a payment whose deadline cannot be met', async () => {
    const service = await aService({});
    const settling = settle(service, await aBody());
    await isInPool();
    await new Promise((resolve) => setTimeout(resolve, 8000));
    await mine();
    expect((await settling).body).toMatchObject({ success: true });
    // An inclusion took 8 s here; what has less than that and a second left is not begun. Lanes say
    // once a second how fast they are.
    await new Promise((resolve) => setTimeout(resolve, 1500));
    const close = await aBody({ validFor: 8 });
    const answer = await settle(service, close);
    expect(answer.body).toMatchObject({ errorReason: 'deadline_too_close', transaction: '' });
    await service.stop();
  });

  it('suspends a payer whose settlements keep reverting after a clean simulation', async () => {
    const token = await world.deployTest('FickleToken');
    const service = await aService({});
    const payer = await world.payer();
    const options = { payer, token, name: 'Hostile', version: '1' };
    await mine();
    for (let count = 0; count < 3; count += 1) {
      await turnFickle(token, undefined);
      const settling = settle(service, await aBody(options));
      await isInPool();
      await turnFickle(token, 1n);
      await mine(3);
      expect((await settling).body).toMatchObject({ success: false });
    }
    await turnFickle(token, undefined);
    const answer = await settle(service, await aBody(options));
    expect(answer.body).toMatchObject({ errorReason: 'payer_suspended', transaction: '' });
    // Others who pay with the same token are not.
    const other = settle(service, await aBody({ ...options, payer: newAccount() }));
    await isInPool();
    await mine();
    expect((await other).body).toMatchObject({ success: true });
    await service.stop();
  });

  /** Writes the block from which the token reverts; it is its fifth variable. */
  async function turnFickle(token: Address, fromBlock: bigint | undefined): Promise<void> {
    const value = fromBlock ?? 2n ** 256n - 1n;
    await world.client.setStorageAt({
      address: token,
      index: 4,
      value: `0x${value.toString(16).padStart(64, '0')}`,
    });
  }

  /** @returns how many were settled before the budget was spent. */
  async function settledUntilRefused(
    service: Service,
    options: Partial<PaymentOptions> = {},
  ): Promise<number> {
    for (let count = 0; count < 20; count += 1) {
      const answering = settle(service, await aBody(options));
      await Promise.race([answering, isInPool().catch(() => undefined)]);
      await mine();
      const { body } = await answering;
      // The one that finds the budget spent waits in vain for it.
      if (body['errorReason'] === 'settlement_not_sent') continue;
      if (body['success'] !== true) {
        expect(body).toMatchObject({ errorReason: 'budget_exhausted', transaction: '' });
        return count;
      }
    }
    throw new Error('the budget has no end');
  }

  it('keeps to the daily gas budget of a lane', async () => {
    const service = await aService({
      [`GAS_BUDGET_DAILY_${world.chainId}`]: '0.0005',
      SETTLE_WAIT_MS: '2500',
    });
    expect(await settledUntilRefused(service)).toBeGreaterThan(0);
    await service.stop();
  });

  it('charges gas budgets with what transactions have cost, once that is final', async () => {
    const service = await aService({
      [`GAS_BUDGET_DAILY_${world.chainId}`]: '1',
      [`GAS_BUDGET_PAYEE_DAILY_${world.chainId}`]: '1',
    });
    const payTo = newAccount().address;
    let costWei = 0n;
    for (let count = 0; count < 2; count += 1) {
      const answering = settle(service, await aBody({ payTo }));
      await isInPool();
      await mine();
      const hash = (await answering).body['transaction'] as Hex;
      const receipt = await world.client.getTransactionReceipt({ hash });
      costWei += receipt.gasUsed * receipt.effectiveGasPrice;
    }
    const charged = async (): Promise<readonly number[]> => {
      const keys = await redis.keys(`x402:{${world.chainId}:0}:g:*`);
      return Promise.all(keys.map(async (key) => Number(await redis.get(key))));
    };
    const costGwei = Number(costWei / 10n ** 9n);
    const isCost = (gwei: number): boolean => gwei >= costGwei && gwei <= costGwei + 4;
    // Until then it is charged with what they may cost at most.
    const before = await charged();
    expect(before).toHaveLength(2);
    expect(before.every((gwei) => gwei > costGwei * 1.1)).toBe(true);
    await mine(3);
    await eventually('the cost is charged', async () => (await charged()).every(isCost));
    await service.stop();
  });

  it('keeps to the daily gas budget of a payee, and serves the others', async () => {
    const service = await aService({ [`GAS_BUDGET_PAYEE_DAILY_${world.chainId}`]: '0.0005' });
    const payTo = newAccount().address;
    expect(await settledUntilRefused(service, { payTo })).toBeGreaterThan(0);
    const other = settle(service, await aBody());
    await isInPool();
    await mine();
    expect((await other).body).toMatchObject({ success: true });
    await service.stop();
  });
});
