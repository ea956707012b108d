import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Address } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { ANSWER, ASK } from '../../src/wallet/asks/ask-scripts.js';
import { CONFIRM, MARK_SIGNED, RESERVE } from '../../src/wallet/budget/budget-scripts.js';
import { type Answer, get, post } from '../support/http.js';
import { TestSeller } from './test-seller.js';
import { type Moment, RedisTripwire } from './tripwire.js';
import { signed, WalletWorld } from './wallet-world.js';

const ONE = 10n ** 18n;
const FUNDS = 100n * ONE;

interface Buyer {
  readonly step: string;
  readonly owner: PrivateKeyAccount;
  readonly agent: string;
  readonly address: Address;
}

/** At the owner's signature, or at the payment that follows it. */
const STEPS: readonly (readonly [string, 'approve' | 'pay', string, Moment])[] = [
  ['in the journal as approved, and nowhere else', 'approve', ANSWER.sha, 'before'],
  ['approved, and the owner was not told', 'approve', ANSWER.sha, 'after'],
  ['approved, not charged', 'pay', RESERVE.sha, 'before'],
  ['charged, and the journal does not know', 'pay', RESERVE.sha, 'after'],
  ['in the journal as charged, not confirmed', 'pay', CONFIRM.sha, 'before'],
  ['confirmed, not signed', 'pay', CONFIRM.sha, 'after'],
  ['signed, not noted', 'pay', MARK_SIGNED.sha, 'before'],
  ['noted, not presented', 'pay', MARK_SIGNED.sha, 'after'],
];

/** A wallet process is killed between an owner's yes and the payment; each step has a wallet of its own. */
describe('a wallet process that is killed while an owner is asked', () => {
  let redis: RedisTripwire;
  let wallets: WalletWorld;
  let seller: TestSeller;

  beforeAll(async () => {
    wallets = await WalletWorld.start(async (world) => {
      redis = await RedisTripwire.start(world.redis.port);
      return { ROLES: 'wallet', REDIS_URL: redis.url };
    });
    const facilitator = await wallets.world.service();
    seller = await TestSeller.start(wallets.world, facilitator.url);
    // Redis knows every script from here on: a script it does not know has not run.
    const buyer = await newBuyer('warm-up');
    await post(`${wallets.url}/v1/asks/${await askFor(buyer)}/approve`, await approvalOf(buyer));
    expect((await pay(buyer)).body['status']).toBe('paid');
  });
  afterAll(async () => {
    seller.stop();
    redis.stop();
    await wallets.stop();
  });

  const newBuyer = async (step: string): Promise<Buyer> => {
    const buyer = await wallets.fundedWallet(FUNDS);
    const asset = `eip155:${wallets.world.chainId}/${wallets.world.usd}`;
    const limit = { asset, perPayment: `${ONE}`, budget: `${10n * ONE}`, askAbove: '0' };
    await wallets.send('PUT', '/v1/wallets/me/policy', buyer.ownerToken, { limits: [limit] });
    return { step, ...buyer };
  };
  const pay = ({ agent }: Buyer, intentId = 'the-one'): Promise<Answer> =>
    post(
      `${wallets.url}/v1/wallets/me/payments`,
      { url: `${seller.url}/report`, maxAmount: '1', intentId },
      { authorization: `Bearer ${agent}` },
    );
  const askFor = async (buyer: Buyer): Promise<string> => {
    const { body } = await pay(buyer);
    expect([buyer.step, body['status']]).toEqual([buyer.step, 'awaiting_owner']);
    const { url } = body['ask'] as { readonly url: string };
    return new URL(url).searchParams.get('id') ?? '';
  };
  const approvalOf = async (buyer: Buyer) => {
    const ask = await askFor(buyer);
    const sent = { address: buyer.owner.address };
    const { body } = await post(`${wallets.url}/v1/asks/${ask}/nonce`, sent);
    return signed(buyer.owner, String(body['message']));
  };
  const paidBy = async ({ address }: Buyer): Promise<number> =>
    Number((FUNDS - (await wallets.world.balance(wallets.world.usd, address))) / ONE);
  const chargedTo = async ({ agent }: Buyer): Promise<number> => {
    const { body } = await wallets.send('GET', '/v1/wallets/me/policy', agent);
    const [limit] = (body as { limits: { spent: { decimal: string } }[] }).limits;
    return Number(limit?.spent.decimal);
  };

  it.each([
    ['kept', () => Promise.resolve()],
    ['lost each time', () => wallets.flush()],
  ])(
    'pays once for one yes, with Redis %s',
    async (_, lose) => {
      for (const [step, doing, script, moment] of STEPS) {
        const buyer = await newBuyer(step);
        const ask = await askFor(buyer);
        const approval = await approvalOf(buyer);
        const approving = `${wallets.url}/v1/asks/${ask}/approve`;
        if (doing === 'pay') expect((await post(approving, approval)).status).toBe(200);

        const process = wallets.service;
        const isGone = new Promise((resolve) => process.child.once('exit', resolve));
        redis.set(script, moment, () => {
          process.child.kill('SIGKILL');
        });
        await expect(doing === 'pay' ? pay(buyer) : post(approving, approval)).rejects.toThrow();
        await isGone;
        await lose();
        await wallets.restart();

        // The owner has approved, whatever was lost: there is no second question.
        const answer = await pay(buyer);
        const status = String(answer.body['status']);
        expect([step, ['paid', 'paid_without_content'].includes(status)]).toEqual([step, true]);
        expect([step, await paidBy(buyer), await chargedTo(buyer)]).toEqual([step, 1, 1]);
        // It was good for one purchase, and is over.
        expect((await pay(buyer, 'another')).body['status']).toBe('awaiting_owner');
        await wallets.flush();
        await pay(buyer);
        const { body } = await get(`${wallets.url}/v1/asks/${ask}`);
        expect([step, body['status']]).toEqual([step, 'used']);
        expect([step, await paidBy(buyer), await chargedTo(buyer)]).toEqual([step, 1, 1]);
      }
    },
    400_000,
  );

  it('asks one owner once, by two processes', async () => {
    const buyer = await newBuyer('together');
    const other = await wallets.another();
    const at = (url: string, intentId: string) =>
      post(
        `${url}/v1/wallets/me/payments`,
        { url: `${seller.url}/report`, maxAmount: '1', intentId },
        { authorization: `Bearer ${buyer.agent}` },
      );
    const urls = [wallets.url, other.url, wallets.url, other.url];
    const asked = await Promise.all(urls.map((url) => at(url, 'the-one')));
    expect(new Set(asked.map(({ body }) => JSON.stringify(body['ask']))).size).toBe(1);
    const ask = await askFor(buyer);
    const approval = await approvalOf(buyer);
    expect((await post(`${other.url}/v1/asks/${ask}/approve`, approval)).status).toBe(200);
    const paid = await Promise.all(urls.map((url) => at(url, 'the-one')));
    expect(new Set(paid.map(({ body }) => body['transaction'])).size).toBe(1);
    expect(await paidBy(buyer)).toBe(1);
  });

  it('asks anew where it was killed before the owner was asked', async () => {
    const buyer = await newBuyer('asking');
    const process = wallets.service;
    const isGone = new Promise((resolve) => process.child.once('exit', resolve));
    redis.set(ASK.sha, 'before', () => {
      process.child.kill('SIGKILL');
    });
    await expect(pay(buyer)).rejects.toThrow();
    await isGone;
    await wallets.restart();
    await askFor(buyer);
    expect([await paidBy(buyer), await chargedTo(buyer)]).toEqual([0, 0]);
  });
});
