import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Address } from 'viem';
import { CONFIRM, MARK_SIGNED, RESERVE } from '../../src/wallet/budget/budget-scripts.js';
import { SWAP_INTENT } from '../../src/wallet/pay/intent.js';
import { type Answer, post } from '../support/http.js';
import { isCore } from '../support/part.js';
import { PrivyFixture } from './privy/privy-fixture.js';
import { TestSeller } from './test-seller.js';
import { RedisTripwire, SellerTripwire } from './tripwire.js';
import { WalletWorld } from './wallet-world.js';

const ONE = 10n ** 18n;
const SALE_GRACE_MS = 5000;
const FUNDS = 100n * ONE;

interface Buyer {
  readonly step: string;
  readonly agent: string;
  readonly address: Address;
}

/**
 * A wallet process is killed at each step of a payment, from outside: by what stands between it and
 * Redis, its custody provider and the seller. Each step has a wallet of its own; afterwards all ask
 * again for what they wanted.
 */
describe('a wallet process that is killed at a step of a payment', () => {
  let privy: PrivyFixture;
  let redis: RedisTripwire;
  let wallets: WalletWorld;
  let seller: TestSeller;
  let shop: SellerTripwire;

  beforeAll(async () => {
    privy = await PrivyFixture.start();
    wallets = await WalletWorld.start(async (world) => {
      redis = await RedisTripwire.start(world.redis.port);
      return { ...privy.settings, ROLES: 'wallet', REDIS_URL: redis.url };
    });
    const facilitator = await wallets.world.service({ SALE_GRACE_MS: String(SALE_GRACE_MS) });
    seller = await TestSeller.start(wallets.world, facilitator.url);
    shop = await SellerTripwire.start(seller.url);
    // Redis knows every script from here on: a script it does not know has not run.
    const { agent } = await wallets.fundedWallet(FUNDS);
    expect((await pay(agent, 'warm-up')).body['status']).toBe('paid');
  });
  afterAll(async () => {
    shop.stop();
    seller.stop();
    redis.stop();
    await wallets.stop();
    privy.stop();
  });

  const atPrivy = (step: 'asked' | 'done') => (kill: () => void) => {
    privy.onStep = (operation, at) => {
      if (operation !== 'sign_typed_data' || at !== step) return;
      privy.onStep = () => undefined;
      kill();
    };
  };
  /** Name of each step, and what kills there. */
  const allSteps: readonly (readonly [string, (kill: () => void) => void])[] = [
    [
      'before the budget is charged',
      (kill) => {
        redis.set(RESERVE.sha, 'before', kill);
      },
    ],
    [
      'charged, not in the journal',
      (kill) => {
        redis.set(RESERVE.sha, 'after', kill);
      },
    ],
    [
      'in the journal, not confirmed',
      (kill) => {
        redis.set(CONFIRM.sha, 'before', kill);
      },
    ],
    [
      'confirmed, not signed',
      (kill) => {
        redis.set(CONFIRM.sha, 'after', kill);
      },
    ],
    ['asked to be signed', atPrivy('asked')],
    ['signed, nobody knows', atPrivy('done')],
    [
      'signed and in the journal, not noted',
      (kill) => {
        redis.set(MARK_SIGNED.sha, 'before', kill);
      },
    ],
    [
      'noted, not presented',
      (kill) => {
        redis.set(MARK_SIGNED.sha, 'after', kill);
      },
    ],
    [
      'presented, not settled',
      (kill) => {
        shop.set('before', kill);
      },
    ],
    [
      'settled, not answered',
      (kill) => {
        shop.set('after', kill);
      },
    ],
    [
      'answered, not recorded',
      (kill) => {
        redis.set(SWAP_INTENT.sha, 'before', kill);
      },
    ],
    [
      'recorded, not told',
      (kill) => {
        redis.set(SWAP_INTENT.sha, 'after', kill);
      },
    ],
  ];
  /** Of `npm test`: charged, signed and settled, each before the next is known of it. */
  const coreSteps = [
    'charged, not in the journal',
    'signed, nobody knows',
    'settled, not answered',
  ];
  const steps = isCore ? allSteps.filter(([step]) => coreSteps.includes(step)) : allSteps;

  const pay = (agent: string, intentId: string, url = wallets.url): Promise<Answer> =>
    post(
      `${url}/v1/wallets/me/payments`,
      { url: `${shop.url}/report`, maxAmount: '1', intentId },
      { authorization: `Bearer ${agent}` },
    );
  /**
   * A facilitator that has lost its ledger does not know who asked before the broadcast: for the grace of
   * a sale it says pending, and so does the wallet.
   */
  const askUntilOver = async ({ agent }: Buyer): Promise<unknown> => {
    const deadline = Date.now() + SALE_GRACE_MS + 40_000;
    for (;;) {
      const { status } = (await pay(agent, 'the-one')).body;
      if (status !== 'pending' || Date.now() > deadline) return status;
    }
  };
  const paidBy = async ({ address }: Buyer): Promise<number> =>
    Number((FUNDS - (await wallets.world.balance(wallets.world.usd, address))) / ONE);
  const chargedTo = async ({ agent }: Buyer): Promise<number> => {
    const { body } = await wallets.send('GET', '/v1/wallets/me/policy', agent);
    const [limit] = (body as { limits: { spent: { decimal: string } }[] }).limits;
    return Number(limit?.spent.decimal);
  };

  async function killAtEachStep(lose: () => Promise<void>): Promise<Buyer[]> {
    const buyers: Buyer[] = [];
    for (const [step, arm] of steps) {
      const { agent, address } = await wallets.fundedWallet(FUNDS);
      const process = wallets.service;
      const isGone = new Promise((resolve) => process.child.once('exit', resolve));
      arm(() => {
        process.child.kill('SIGKILL');
      });
      await expect(pay(agent, 'the-one')).rejects.toThrow();
      await isGone;
      await lose();
      await wallets.restart();
      buyers.push({ step, agent, address });
    }
    return buyers;
  }

  it.each([
    ['kept', () => Promise.resolve()],
    ['lost each time', () => wallets.flush()],
  ])(
    'pays once for the intent, with Redis %s',
    async (_, lose) => {
      const buyers = await killAtEachStep(lose);
      const all = <T>(task: (buyer: Buyer) => Promise<T>): Promise<(readonly [string, T])[]> =>
        Promise.all(buyers.map(async (buyer) => [buyer.step, await task(buyer)] as const));
      const each = <T>(value: T): (readonly [string, T])[] => steps.map(([step]) => [step, value]);

      // No wallet has paid twice, or more than was charged.
      for (const buyer of buyers) {
        expect([buyer.step, (await paidBy(buyer)) <= (await chargedTo(buyer))]).toEqual([
          buyer.step,
          true,
        ]);
      }
      const again = await all(askUntilOver);
      for (const [step, status] of again) {
        expect([step, ['paid', 'paid_without_content'].includes(String(status))]).toEqual([
          step,
          true,
        ]);
      }
      expect(await all(paidBy)).toEqual(each(1));
      expect(await all(chargedTo)).toEqual(each(1));

      // One payment, to the last byte, however often it was shown.
      for (const { step, address } of buyers) {
        expect([step, shop.shown.get(address.toLowerCase())?.size]).toEqual([step, 1]);
      }

      // A charge of an attempt that died is kept like any other.
      await wallets.flush();
      await all(({ agent }) => pay(agent, 'the-one'));
      expect(await all(paidBy)).toEqual(each(1));
      expect(await all(chargedTo)).toEqual(each(1));
    },
    400_000,
  );

  it('keeps one budget and one payment for an intent across two processes', async () => {
    const { agent, address, ownerToken } = await wallets.fundedWallet(FUNDS);
    await wallets.send('PUT', '/v1/wallets/me/policy', ownerToken, wallets.rules());
    const other = await wallets.another();
    const url = (at: number) => (at % 2 === 0 ? wallets.url : other.url);
    const buyer = { step: 'together', agent, address };
    const same = await Promise.all([0, 1, 2, 3].map((at) => pay(agent, 'same', url(at))));
    expect(new Set(same.map(({ body }) => body['transaction'])).size).toBe(1);
    expect(await paidBy(buyer)).toBe(1);

    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, at) => pay(agent, `one-of-20-${at}`, url(at))),
    );
    const statuses = answers.map(({ body }) => body['status'] ?? body['rule']);
    expect(statuses.filter((status) => status === 'paid')).toHaveLength(9);
    expect(statuses.filter((status) => status === 'budget')).toHaveLength(11);
    expect(await paidBy(buyer)).toBe(10);
    expect(await chargedTo(buyer)).toBe(10);
  });
});
