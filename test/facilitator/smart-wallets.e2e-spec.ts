import type { Server } from 'node:http';
import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { type Address, getAddress, type Hex } from 'viem';
import { generatePrivateKey } from 'viem/accounts';
import { SIGNER } from '../../sandbox/accounts.js';
import { stockBuyerAs } from '../../sandbox/buyer.js';
import { MULTICALL3, sendNow } from '../../sandbox/deploy.js';
import { freePort } from '../../sandbox/processes.js';
import { demoSeller, listen, PRICE } from '../../sandbox/seller.js';
import type { Service } from '../../sandbox/service.js';
import { smartWallet } from '../../sandbox/smart-wallet.js';
import { type Answer, eventually, get, post } from '../support/http.js';
import { deep, it } from '../support/part.js';
import { type Body, eip3009Body, newAccount, permit2Body } from '../support/payments.js';
import {
  type Mood,
  signatureIn,
  type UndeployedWallet,
  undeployedWallet,
  withSignature,
  wrappedIn,
} from '../support/smart-wallets.js';
import { presentationData } from '../support/token-calls.js';
import { World } from '../support/world.js';

const AMOUNT = 1000n;
const NOT_ALLOWED = 'eip6492_factory_not_allowed';
const UNSIGNED = 'invalid_exact_evm_signature';
const FAILED = 'invalid_exact_evm_transaction_simulation_failed';
const PATH = 'paymentPayload.payload.signature';

describe('smart wallets that are not deployed yet', () => {
  let world: World;
  let service: Service;
  let factory: Address;

  beforeAll(async () => {
    world = await World.start();
    factory = await world.deployTest('MoodyFactory');
    const ERC6492_FACTORIES = `${world.walletFactory},${factory}`;
    service = await world.service({ ERC6492_FACTORIES });
  });
  afterAll(() => world.stop());

  const verify = (body: Body, { url } = service): Promise<Answer> => post(`${url}/verify`, body);
  const settle = (body: Body, { url } = service): Promise<Answer> => post(`${url}/settle`, body);
  const hasCode = async (address: Address): Promise<boolean> =>
    ((await world.client.getCode({ address })) ?? '0x') !== '0x';
  const sentByLane = (): Promise<number> =>
    world.client.getTransactionCount({ address: SIGNER.address });

  /** A wallet with money, and a payment that it has signed. */
  async function aWallet(
    balance = AMOUNT,
  ): Promise<{ readonly wallet: UndeployedWallet; readonly bare: Body; readonly payTo: Address }> {
    const wallet = await undeployedWallet(world.client, factory);
    await world.fund(wallet.address, balance);
    const payTo = newAccount().address;
    const { chainId, usd: token } = world;
    const bare = await eip3009Body({
      payer: wallet.owner,
      from: wallet.address,
      chainId,
      token,
      payTo,
      amount: AMOUNT,
    });
    return { wallet, bare, payTo };
  }
  async function aPayment(mood: Mood = 'honest', balance = AMOUNT) {
    const made = await aWallet(balance);
    const body = wrappedIn(made.bare, factory, made.wallet.dataFor(mood));
    return { ...made, body };
  }

  it('buy with the stock client: the first payment deploys the wallet, the second is like any', async () => {
    const payTo = newAccount().address;
    const { usd, coin, client, chainId } = world;
    const network = `eip155:${chainId}` as const;
    const port = await freePort();
    const facilitatorUrl = service.url;
    const seller: Server = await listen(
      demoSeller({ facilitatorUrl, network, payTo, usd, coin }),
      port,
    );
    const wallet = await smartWallet(client, world.walletFactory, generatePrivateKey());
    await world.fund(wallet.address, PRICE * 2n);
    const buyer = stockBuyerAs(wallet, world.anvil.url);
    const targets: unknown[] = [];
    for (const paid of [PRICE, PRICE * 2n]) {
      const bought = await buyer.buy(`http://127.0.0.1:${port}/report`);
      expect(bought.status).toBe(200);
      expect(bought.receipt).toMatchObject({ success: true, payer: wallet.address });
      expect(await wallet.isDeployed()).toBe(true);
      expect(await world.balance(usd, payTo)).toBe(paid);
      const { from, to } = await client.getTransaction({
        hash: bought.receipt?.transaction as Hex,
      });
      expect(getAddress(from)).toBe(getAddress(SIGNER.address));
      targets.push(to && getAddress(to));
    }
    // A lane calls Multicall3 or the token, and never what a payload names.
    expect(targets).toEqual([MULTICALL3, getAddress(usd)]);
    seller.close();
    seller.closeAllConnections();
  });

  it('are verified and settled by the same call, which says who was paid', async () => {
    const { body, wallet, payTo } = await aPayment();
    expect((await verify(body)).body).toEqual({ isValid: true, payer: wallet.address });
    expect(await hasCode(wallet.address)).toBe(false);
    const settled = await settle(body);
    expect(settled.body).toMatchObject({ success: true, payer: wallet.address });
    expect(await world.balance(world.usd, payTo)).toBe(AMOUNT);
    const id = settled.headers.get('settlement-id') ?? '';
    const network = `eip155:${world.chainId}`;
    const status = await get(`${service.url}/v2/settlements/${id}?network=${network}`);
    expect(status.body).toMatchObject({ paid: true });
  });

  it('are sold once, whoever asks how often and in whatever wrapper', async () => {
    const { body, bare, wallet, payTo } = await aPayment();
    const before = await sentByLane();
    const rewrapped = wrappedIn(bare, factory, wallet.dataFor('talking'));
    const asked = [body, rewrapped, body, body, rewrapped, body, body, body];
    const answers = await Promise.all(asked.map((one) => settle(one)));
    const successes = answers.filter((answer) => answer.body['success']);
    expect(successes).toHaveLength(1);
    const reasons = answers.flatMap((answer) => answer.body['errorReason'] ?? []);
    expect(new Set(reasons)).toEqual(new Set(['duplicate_settlement']));
    // Nor is it another payment without its wrapper, or in one that may not be called.
    for (const again of [bare, rewrapped, wrappedIn(bare, newAccount().address, '0x')]) {
      expect((await settle(again)).body).toMatchObject({ errorReason: 'duplicate_settlement' });
    }
    expect((await sentByLane()) - before).toBe(1);
    expect(await world.balance(world.usd, payTo)).toBe(AMOUNT);
  });

  it('are refused with the factory where it is not on the list, and nothing is called', async () => {
    const { body, bare, wallet } = await aPayment();
    const before = await sentByLane();
    const closed = await world.service({ REDIS_URL: `${world.redis.url}/1` });
    const data = wallet.dataFor('honest');
    const asked: [Body, Service, Address][] = [
      [body, closed, factory],
      ...[newAccount().address, world.usd, SIGNER.address, MULTICALL3].map(
        (named): [Body, Service, Address] => [wrappedIn(bare, named, data), service, named],
      ),
    ];
    for (const [one, by, named] of asked) {
      const refused = await verify(one, by);
      expect(refused.body).toMatchObject({ isValid: false, invalidReason: NOT_ALLOWED });
      expect(refused.body).toMatchObject({
        extensions: { diagnosis: { path: PATH, got: named.toLowerCase(), fault: 'buyer' } },
      });
      expect((await settle(one, by)).body).toMatchObject({
        success: false,
        errorReason: NOT_ALLOWED,
        transaction: '',
      });
    }
    expect(await sentByLane()).toBe(before);
    expect(await hasCode(wallet.address)).toBe(false);
    await closed.stop('SIGKILL');
  });

  deep(
    'are refused by a worker whose own list lacks the factory, before anything is signed',
    async () => {
      const { body } = await aPayment();
      const before = await sentByLane();
      const shared = { REDIS_URL: `${world.redis.url}/2`, SETTLE_WAIT_MS: '5000' };
      const api = await world.service({ ...shared, ROLES: 'api', ERC6492_FACTORIES: factory });
      const worker = await world.service({ ...shared, ROLES: 'worker' });
      await eventually('judged by both', async () => {
        const { body: answer } = await settle(body, api);
        return answer['errorReason'] === NOT_ALLOWED;
      });
      expect(await sentByLane()).toBe(before);
      await Promise.all([api.stop('SIGKILL'), worker.stop('SIGKILL')]);
    },
  );

  it.each<[Mood, readonly string[]]>([
    ['idle', [FAILED]],
    ['reverting', [FAILED]],
    // The gas left after it is not enough for the transfer.
    ['burning', [FAILED, 'gas_limit_exceeded']],
  ])('are refused where their factory is %s', async (mood, reasons) => {
    const { body, wallet } = await aPayment(mood);
    const before = await sentByLane();
    expect(reasons).toContain((await verify(body)).body['invalidReason']);
    expect(reasons).toContain((await settle(body)).body['errorReason']);
    expect([await sentByLane(), await hasCode(wallet.address)]).toEqual([before, false]);
  });

  deep(
    'are refused where their factory answers at such length that the wallet is not heard',
    async () => {
      const { body } = await aPayment('talking');
      const before = await sentByLane();
      expect((await verify(body)).body).toMatchObject({ invalidReason: UNSIGNED });
      expect((await settle(body)).body).toMatchObject({ errorReason: UNSIGNED });
      expect(await sentByLane()).toBe(before);
    },
  );

  deep('are refused where the factory has the payment made before its time', async () => {
    const { bare, wallet, payTo } = await aWallet();
    const target = world.usd;
    const data = presentationData(bare);
    const body = wrappedIn(bare, factory, wallet.dataFor('reentering', { target, data }));
    expect((await verify(body)).body).toMatchObject({ invalidReason: FAILED });
    expect((await settle(body)).body).toMatchObject({ success: false, transaction: '' });
    expect(await world.balance(world.usd, payTo)).toBe(0n);
    // The same factory may do what it likes that takes nothing away.
    const harmless = wallet.dataFor('reentering', { target, data: '0x06fdde03' });
    expect((await settle(wrappedIn(bare, factory, harmless))).body).toMatchObject({
      success: true,
    });
    expect(await world.balance(world.usd, payTo)).toBe(AMOUNT);
  });

  it('are refused with the place where the wrapper is broken, and asked of nobody', async () => {
    const { bare, wallet, body } = await aPayment();
    const nested = wrappedIn(body, factory, wallet.dataFor('honest'));
    const malformed = withSignature(bare, `0x${'00'.repeat(64)}${'6492'.repeat(16)}`);
    const long = wrappedIn(bare, factory, `0x${'00'.repeat(8192)}`);
    for (const [one, expected] of [
      [nested, 'one ERC-6492 wrapper'],
      [malformed, 'abi.encode('],
      [long, 'at most 8192 bytes'],
    ] as const) {
      const { body: answer } = await verify(one);
      expect(answer).toMatchObject({ isValid: false, invalidReason: UNSIGNED });
      expect(answer).toMatchObject({
        extensions: { diagnosis: { path: PATH, expected: expect.stringContaining(expected) } },
      });
    }
  });

  it('are refused without the money, without a signature of theirs, and by Permit2', async () => {
    const { body: poor } = await aPayment('honest', AMOUNT - 1n);
    expect((await verify(poor)).body).toMatchObject({
      invalidReason: 'invalid_exact_evm_insufficient_balance',
    });
    const { bare, wallet } = await aWallet();
    const stranger = withSignature(bare, signatureIn((await aWallet()).bare));
    const data = wallet.dataFor('honest');
    expect((await verify(wrappedIn(stranger, factory, data))).body).toMatchObject({
      invalidReason: FAILED,
    });
    const { chainId, coin: token } = world;
    const { owner: payer, address: from } = wallet;
    const permit = await permit2Body({ payer, from, chainId, token, payTo: newAccount().address });
    expect((await verify(wrappedIn(permit, factory, data))).body).toMatchObject({
      invalidReason: 'invalid_permit2_signature',
    });
  });

  it('get nothing made for an account that is none of theirs', async () => {
    const { wallet } = await aWallet();
    const payer = await world.payer();
    const { chainId, usd: token } = world;
    const payTo = newAccount().address;
    const signed = await eip3009Body({ payer, chainId, token, payTo, amount: AMOUNT });
    const settled = await settle(wrappedIn(signed, factory, wallet.dataFor('honest')));
    expect(settled.body).toMatchObject({ success: true });
    const { to } = await world.client.getTransaction({
      hash: settled.body['transaction'] as Hex,
    });
    // A key has signed: the wrapper is ballast.
    expect(to && getAddress(to)).toBe(getAddress(token));
    expect(await hasCode(wallet.address)).toBe(false);
  });

  it('that are deployed between verify and settle go the usual way', async () => {
    const { body, wallet, payTo } = await aPayment();
    expect((await verify(body)).body).toMatchObject({ isValid: true });
    await sendNow(world.client, { to: factory, data: wallet.dataFor('honest') });
    const settled = await settle(body);
    expect(settled.body).toMatchObject({ success: true });
    const { to } = await world.client.getTransaction({ hash: settled.body['transaction'] as Hex });
    expect(to && getAddress(to)).toBe(getAddress(world.usd));
    expect(await world.balance(world.usd, payTo)).toBe(AMOUNT);
  });

  it('share no transaction with the payments of others', async () => {
    const { chainId, usd: token } = world;
    const asked: { readonly body: Body; readonly isAlone: boolean }[] = [];
    for (let count = 0; count < 12; count += 1) {
      const payTo = newAccount().address;
      const payer = await world.payer();
      asked.push({ body: await eip3009Body({ payer, chainId, token, payTo }), isAlone: false });
      if (count % 4 === 0) asked.push({ body: (await aPayment()).body, isAlone: true });
    }
    const answers = await Promise.all(asked.map(({ body }) => settle(body)));
    expect(answers.map(({ body }) => body['success'])).toEqual(asked.map(() => true));
    const hashes = answers.map(({ body }) => body['transaction'] as Hex);
    const own = hashes.filter((_, index) => asked[index]?.isAlone);
    expect(own).toHaveLength(3);
    for (const hash of own) expect(hashes.filter((one) => one === hash)).toHaveLength(1);
  });

  describe('when others are faster', () => {
    let held: World;
    let slow: Service;
    let moody: Address;

    beforeAll(async () => {
      held = await World.start();
      moody = await held.deployTest('MoodyFactory');
      slow = await held.service({ ERC6492_FACTORIES: moody });
    });
    afterAll(() => held.stop());

    /** A settle in the pool, and a foreign transaction before it in the same block. */
    async function overtaken(
      mood: Mood,
      by: (
        wallet: UndeployedWallet,
        ours: { to: Address; data: Hex },
      ) => { to: Address; data: Hex },
    ) {
      const { client, usd: token, chainId } = held;
      const wallet = await undeployedWallet(client, moody);
      await held.fund(wallet.address, AMOUNT);
      const payTo = newAccount().address;
      const { owner: payer, address: from } = wallet;
      const bare = await eip3009Body({ payer, from, chainId, token, payTo, amount: AMOUNT });
      const body = wrappedIn(bare, moody, wallet.dataFor(mood));
      await client.setAutomine(false);
      const settling = settle(body, slow);
      const ours = await laneTransactionOf(held);
      const first = await client.sendTransaction({
        chain: null,
        gas: 1_000_000n,
        ...by(wallet, ours),
        maxFeePerGas: 10n ** 12n,
        maxPriorityFeePerGas: 10n ** 11n,
      });
      await client.mine({ blocks: 1 });
      await client.setAutomine(true);
      for (let count = 0; count < 100; count += 1) await client.mine({ blocks: 1 });
      const answer = (await settling).body;
      const receipt = await client.getTransactionReceipt({ hash: first });
      expect(receipt.status).toBe('success');
      const paid = (): Promise<bigint> => held.balance(token, payTo);
      return { body, answer, first, paid };
    }

    deep('pays though the wallet was made one transaction before', async () => {
      const { answer, first, paid } = await overtaken('finding', (wallet) => ({
        to: moody,
        data: wallet.dataFor('finding'),
      }));
      expect(answer).toMatchObject({ success: true });
      expect(answer['transaction']).not.toBe(first);
      expect(await paid()).toBe(AMOUNT);
    });

    deep(
      'says that it failed where a factory cannot bear that, and pays when it is asked again',
      async () => {
        const { body, answer, paid } = await overtaken('honest', (wallet) => ({
          to: moody,
          data: wallet.dataFor('honest'),
        }));
        expect(answer).toMatchObject({
          success: false,
          errorReason: 'invalid_exact_evm_transaction_failed',
          transaction: expect.stringMatching(/^0x/),
        });
        expect(await paid()).toBe(0n);
        expect((await settle(body, slow)).body).toMatchObject({ success: true });
        expect(await paid()).toBe(AMOUNT);
      },
    );

    deep('finds a copy of its own transaction, wallet and payment, and names it', async () => {
      const { answer, first, paid } = await overtaken('honest', (_, ours) => ours);
      expect(answer).toMatchObject({ success: true, transaction: first });
      expect(await paid()).toBe(AMOUNT);
    });
  });
});

/** The transaction of the lane that waits in the pool. */
async function laneTransactionOf({ client }: World): Promise<{ to: Address; data: Hex }> {
  let found: { to: Address; data: Hex } | undefined;
  await eventually('in the pool', async () => {
    const { pending } = await client.getTxpoolContent();
    for (const [sender, byNonce] of Object.entries(pending)) {
      if (getAddress(sender) !== getAddress(SIGNER.address)) continue;
      for (const { to, input } of Object.values(byNonce)) if (to) found = { to, data: input };
    }
    return found !== undefined;
  });
  if (found === undefined) throw new Error('no transaction waits');
  return found;
}
