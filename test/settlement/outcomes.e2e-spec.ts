import { afterAll, afterEach, beforeAll, beforeEach, describe, expect } from '@jest/globals';
import { Redis } from 'ioredis';
import type { Hex } from 'viem';
import { sandboxAccount, SIGNER } from '../../sandbox/accounts.js';
import { MULTICALL3, sandboxClient, sendNow } from '../../sandbox/deploy.js';
import type { Service } from '../../sandbox/service.js';
import { mint } from '../../sandbox/tokens.js';
import { RpcProxy } from '../chaos/rpc-proxy.js';
import { authorizationOf } from '../differential/cases.js';
import { cancellationData } from '../support/cancellation.js';
import { deployMoody, MOODY_NAME, setMoodFirst } from '../support/hostile-tokens.js';
import { type Answer, eventually, get, post } from '../support/http.js';
import { deep, it } from '../support/part.js';
import {
  type Body,
  eip3009Body,
  newAccount,
  newNonce,
  type PaymentOptions,
  permit2Body,
} from '../support/payments.js';
import { presentationData, transferData } from '../support/token-calls.js';
import { World } from '../support/world.js';

/** The chain mines when a test says so: each test decides what lands in which block, and who is first. */
describe('the outcome of a settlement', () => {
  let world: World;
  let service: Service;

  beforeAll(async () => {
    world = await World.start();
    await world.client.setAutomine(false);
    service = await world.service();
  });
  beforeEach(() => world.client.mine({ blocks: 1 }));
  afterAll(() => world.stop());

  const settle = (body: Body, headers: Record<string, string> = {}): Promise<Answer> =>
    post(`${service.url}/v2/settle`, body, headers);

  const mine = (blocks = 1): Promise<void> => world.client.mine({ blocks });

  async function aBody(more: Partial<PaymentOptions> = {}): Promise<Body> {
    const payer = more.payer ?? (await world.payer());
    const payTo = newAccount().address;
    return eip3009Body({ payer, chainId: world.chainId, token: world.usd, payTo, ...more });
  }

  const isInPool = (count = 1) =>
    eventually('in the pool', async () => (await world.client.getTxpoolStatus()).pending >= count);

  /** The one transaction of a signer that waits in the pool. */
  async function waiting(signer = SIGNER): Promise<{ hash: Hex; input: Hex; to: Hex }> {
    await isInPool();
    const { pending } = await world.client.getTxpoolContent();
    const own = Object.entries(pending).find(
      ([sender]) => sender.toLowerCase() === signer.address.toLowerCase(),
    );
    return Object.values(own?.[1] ?? {})[0] as unknown as { hash: Hex; input: Hex; to: Hex };
  }

  it('pays from a contract wallet, in a transaction of its own', async () => {
    const owner = newAccount();
    const wallet = await world.deployTest('OwnedWallet', [owner.address]);
    await world.fund(wallet, 5000n);
    const settling = settle(await aBody({ payer: owner, from: wallet, amount: 5000n }));
    await isInPool();
    await mine();
    expect((await settling).body).toMatchObject({
      success: true,
      payer: wallet,
      extra: { batchSize: 1 },
    });
    expect(await world.balance(world.usd, wallet)).toBe(0n);
  });

  it('a token that reports no transfer has not paid, told when it is final', async () => {
    const token = await deployMoody(world.client, 'honest', {}, world.artifacts);
    const payer = newAccount();
    await mint(world.client, token, payer.address, 1000n);
    const settling = settle(await aBody({ payer, token, name: MOODY_NAME }));
    const { hash } = await waiting();
    // It has paid in every simulation.
    await setMoodFirst(world.client, token, 'does_nothing');
    await mine(3);
    expect((await settling).body).toMatchObject({
      success: false,
      errorReason: 'invalid_exact_evm_transfer_event_mismatch',
      transaction: hash,
    });
  });

  it('a transfer that reverts has failed with its hash, and may be tried again', async () => {
    const payer = await world.payer({ balance: 1000n });
    const body = await aBody({ payer });
    const settling = settle(body);
    const { hash } = await waiting();
    // The payer spends its balance one transaction ahead.
    await moveAway(payer, 1000n);
    await mine(3);
    const failed = await settling;
    expect(failed.body).toMatchObject({
      success: false,
      errorReason: 'invalid_exact_evm_insufficient_balance',
      transaction: hash,
    });
    const { body: status } = await get(
      `${service.url}/v2/settlements/${failed.headers.get('settlement-id') ?? ''}`,
    );
    expect(status).toMatchObject({ state: 'reverted', paid: false, transaction: hash });

    await world.fund(payer.address, 1000n);
    const again = settle(body);
    await isInPool();
    await mine();
    const paid = await again;
    expect(paid.body).toMatchObject({ success: true });
    expect(paid.body['transaction']).not.toBe(hash);
  });

  /** A transfer by the payer that is mined before anything of the facilitator. */
  async function moveAway(payer: { address: Hex }, amount: bigint): Promise<void> {
    await world.client.impersonateAccount({ address: payer.address });
    await world.client.setBalance({ address: payer.address, value: 10n ** 18n });
    await world.client.sendUnsignedTransaction({
      from: payer.address,
      to: world.usd,
      gasPrice: 10n ** 12n,
      data: transferData(newAccount().address, amount),
    });
  }

  it('an authorization that was used before is refused with the hash that used it', async () => {
    const body = await aBody();
    const hash = await presentElsewhere(body);
    const answer = await settle(body);
    expect(answer.body).toMatchObject({
      success: false,
      errorReason: 'invalid_exact_evm_nonce_already_used',
      transaction: hash,
    });
    const { nonce, from } = authorizationOf(body) as Record<string, string>;
    const query = `network=eip155:${world.chainId}&asset=${world.usd.toUpperCase().replace('0X', '0x')}&payer=${from}&nonce=${nonce}`;
    const { status, body: known } = await get(`${service.url}/v2/settlements?${query}`);
    expect(status).toBe(200);
    expect(known).toMatchObject({ source: 'chain', used: true, transaction: hash });
  });

  deep('a Permit2 nonce that was used before is refused with the hash that used it', async () => {
    const payer = await world.payer({ approves: true });
    const payTo = newAccount().address;
    const options = { payer, chainId: world.chainId, token: world.coin, payTo };
    const body = await permit2Body(options);
    const first = settle(body);
    await isInPool();
    await mine();
    const hash = (await first).body['transaction'];
    await mine(3);
    // A service with another ledger has never seen it.
    const other = await world.service({ REDIS_URL: `${world.redis.url}/3` });
    expect((await post(`${other.url}/settle`, body)).body).toMatchObject({
      success: false,
      errorReason: 'permit2_invalid_nonce',
      transaction: hash,
    });
    await other.stop();
  });

  describe('of a payment that the ledger has forgotten, where something else looks wrong first', () => {
    let forgetful: Service;

    beforeAll(async () => {
      forgetful = await world.service({ REDIS_URL: `${world.redis.url}/4` });
    });
    afterAll(() => forgetful.stop());

    const isRefused = async (body: Body, reason: string, hash: unknown): Promise<void> => {
      const { body: answer } = await post(`${forgetful.url}/settle`, body);
      expect(answer).toMatchObject({ success: false, errorReason: reason, transaction: hash });
    };

    async function settled(body: Body): Promise<unknown> {
      const settling = settle(body);
      await isInPool();
      await mine(4);
      const { body: answer } = await settling;
      expect(answer).toMatchObject({ success: true });
      return answer['transaction'];
    }

    it('names its transaction when its payer has become a contract', async () => {
      const payer = await world.payer();
      const body = await aBody({ payer });
      const hash = await settled(body);
      await world.client.setCode({ address: payer.address, bytecode: '0x5b600056' });
      await isRefused(body, 'invalid_exact_evm_nonce_already_used', hash);
    });

    it('names its transaction when it took all that the payer had', async () => {
      const payer = await world.payer({ balance: 1000n, approves: true });
      const payTo = newAccount().address;
      const body = await permit2Body({
        payer,
        chainId: world.chainId,
        token: world.coin,
        payTo,
        amount: 1000n,
      });
      const hash = await settled(body);
      await isRefused(body, 'permit2_invalid_nonce', hash);
    });

    deep('names its transaction when its time is over', async () => {
      const body = await aBody({ validFor: 11 });
      const hash = await settled(body);
      const { validBefore } = authorizationOf(body) as { validBefore: string };
      const closesAt = (Number(validBefore) - 5) * 1000;
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, closesAt - Date.now())));
      await isRefused(body, 'invalid_exact_evm_nonce_already_used', hash);
    });

    const undo: (() => Promise<void>)[] = [];
    afterEach(async () => {
      for (const stop of undo.splice(0).reverse()) await stop();
    });

    /** A node between the service and the chain that the test can make misbehave. */
    async function aProxy(): Promise<RpcProxy> {
      const proxy = await RpcProxy.start(world.anvil.url, world.anvil.url);
      undo.push(() => proxy.stop());
      return proxy;
    }

    /** A service with a ledger of its own that knows nothing yet. */
    async function serviceBehind(proxy: RpcProxy, database: number): Promise<Service> {
      const service = await world.service({
        REDIS_URL: `${world.redis.url}/${database}`,
        [`RPC_URLS_${world.chainId}`]: proxy.url,
      });
      undo.push(() => service.stop());
      return service;
    }

    deep('names its transaction although the search for it fails three times', async () => {
      const proxy = await aProxy();
      const other = await serviceBehind(proxy, 5);
      const body = await aBody();
      const hash = await settled(body);
      let failures = 3;
      proxy.watcher = (method) => {
        const fails = method === 'eth_getLogs' && failures > 0;
        if (fails) failures -= 1;
        return fails ? Promise.reject(new Error('cut off')) : Promise.resolve();
      };
      expect((await post(`${other.url}/settle`, body)).body).toMatchObject({
        errorReason: 'invalid_exact_evm_nonce_already_used',
        transaction: hash,
      });
      expect(failures).toBe(0);
    });

    deep(
      'names its transaction although its node failed when it was first asked for logs',
      async () => {
        const proxy = await aProxy();
        const body = await aBody();
        const hash = await settled(body);
        proxy.fault = { kind: 'errors' };
        const other = await serviceBehind(proxy, 6);
        proxy.fault = { kind: 'none' };
        expect((await post(`${other.url}/settle`, body)).body).toMatchObject({
          errorReason: 'invalid_exact_evm_nonce_already_used',
          transaction: hash,
        });
      },
    );

    deep(
      'names its transaction to everybody while its node drops every second request',
      async () => {
        const proxy = await aProxy();
        const other = await serviceBehind(proxy, 7);
        const body = await aBody();
        const hash = await settled(body);
        proxy.fault = { kind: 'drops' };
        const ask = async (): Promise<Answer['body']> => {
          const { body: answer } = await post(`${other.url}/settle`, body);
          return answer['errorReason'] === 'network_unavailable' ? ask() : answer;
        };
        const answers = await Promise.all(Array.from({ length: 12 }, ask));
        expect(answers.map((answer) => answer['transaction'])).toEqual(answers.map(() => hash));
      },
    );

    deep(
      'names its transaction although a second node, a block behind, answers for the first',
      async () => {
        const proxy = await aProxy();
        const other = await serviceBehind(proxy, 8);
        const payer = await world.payer({ approves: true });
        const payTo = newAccount().address;
        const options = { payer, chainId: world.chainId, payTo };
        const bodies = [
          await eip3009Body({ ...options, token: world.usd }),
          await permit2Body({ ...options, token: world.coin }),
        ];
        for (const body of bodies) {
          const settling = settle(body);
          await isInPool();
          await mine();
          const hash = (await settling).body['transaction'];
          // The simulation of this payment is answered by the newest block, what is asked after it by the one before.
          proxy.lie = ({ method, params }) => {
            const asked = JSON.stringify(params).toLowerCase();
            const isOfPayer = asked.includes(payer.address.slice(2).toLowerCase());
            if (method === 'eth_call' && isOfPayer) proxy.fault = { kind: 'lags', blocks: 1 };
            return undefined;
          };
          const { body: unsure } = await post(`${other.url}/settle`, body);
          expect(unsure).toMatchObject({ errorReason: 'network_unavailable', transaction: '' });
          proxy.lie = undefined;
          proxy.fault = { kind: 'none' };
          const { body: answer } = await post(`${other.url}/settle`, body);
          expect(answer).toMatchObject({ success: false, transaction: hash });
        }
      },
    );

    it('says what is wrong with one that was never used', async () => {
      const payer = await world.payer({ balance: 10n, approves: true });
      const payTo = newAccount().address;
      const options = { payer, chainId: world.chainId, token: world.coin, payTo, amount: 1000n };
      const body = await permit2Body(options);
      await isRefused(body, 'permit2_insufficient_balance', '');
    });
  });

  /** Sends the authorization of a payment in a foreign transaction, and mines it. */
  async function presentElsewhere(body: Body): Promise<Hex> {
    const client = sandboxClient(world.anvil.url);
    const receipt = await sendNow(client, { to: world.usd, data: presentationData(body) });
    return receipt.transactionHash;
  }

  it('a payment that somebody copies from the pool and sends first is paid, with that hash', async () => {
    const body = await aBody();
    const settling = settle(body);
    const { input, to } = await waiting();
    await mineCopyFirst(to, input);
    await mine(2);
    const answer = await settling;
    expect(answer.body).toMatchObject({ success: true });
    const own = await world.client.getTransaction({ hash: answer.body['transaction'] as Hex });
    expect(own.from.toLowerCase()).not.toBe(SIGNER.address.toLowerCase());
    const { body: status } = await get(
      `${service.url}/v2/settlements/${answer.headers.get('settlement-id') ?? ''}`,
    );
    expect(status).toMatchObject({ state: 'foreign', paid: true, sale: 'sold' });
    expect((await settle(body)).body).toMatchObject({ errorReason: 'duplicate_settlement' });
  });

  async function mineCopyFirst(to: Hex, data: Hex): Promise<void> {
    const thief = sandboxClient(world.anvil.url);
    await thief.sendTransaction({ chain: null, to, data, gas: 300_000n, gasPrice: 10n ** 12n });
    await mine();
  }

  describe('in a batch that one payer spoils by turning into a contract that burns all gas', () => {
    const OTHER_SIGNER = sandboxAccount(3);
    let lone: Service;

    beforeAll(async () => {
      lone = await world.service({
        LANE_WINDOW_MAX: '1',
        REDIS_URL: `${world.redis.url}/5`,
        SIGNER_KEYS: OTHER_SIGNER.key,
      });
    });

    /** One after the other: what comes while the first is in the pool goes into one batch. */
    async function spoiledBatch(): Promise<{ honest: Body; settled: Promise<Answer>[] }> {
      const settleThere = (body: Body): Promise<Answer> => post(`${lone.url}/settle`, body);
      const spoiler = await world.payer();
      const [opening, honest, spoiled] = [
        await aBody(),
        await aBody(),
        await aBody({ payer: spoiler }),
      ];
      const first = settleThere(opening);
      await isInPool();
      // Payees go by arrival: the gas is gone before the call of the honest one.
      const spoiling = settleThere(spoiled);
      await eventually('one is queued', async () => (await queueOf('5')).queued === 1);
      const settled = [settleThere(honest), spoiling];
      await eventually('both are queued', async () => (await queueOf('5')).queued === 2);
      await mine();
      expect((await first).body).toMatchObject({ success: true });
      const { to } = await waiting(OTHER_SIGNER);
      expect(to.toLowerCase()).toBe(MULTICALL3.toLowerCase());
      await world.client.setCode({ address: spoiler.address, bytecode: '0x5b600056' });
      await mine();
      return { honest, settled };
    }

    it('the honest one is sent again alone and paid, the other one fails', async () => {
      const { settled } = await spoiledBatch();
      await mine(2);
      await isInPool();
      await mine();
      const [honest, spoiler] = await Promise.all(settled);
      expect(honest?.body).toMatchObject({ success: true, extra: { batchSize: 1 } });
      expect(spoiler?.body).toMatchObject({ success: false });
    });

    deep('the honest one is paid too when somebody copies it meanwhile', async () => {
      const { honest, settled } = await spoiledBatch();
      const hash = await presentElsewhere(honest);
      await mine(3);
      const answer = await settled[0];
      expect(answer?.body).toMatchObject({ success: true, transaction: hash });
    });

    async function queueOf(database: string): Promise<{ queued: number }> {
      const redis = new Redis(`${world.redis.url}/${database}`);
      const queued = await redis.zcard(`x402:{${world.chainId}:0}:queued`);
      redis.disconnect();
      return { queued };
    }
  });

  it('a payment that its payer cancels first has failed as used', async () => {
    const payer = await world.payer();
    const nonce = newNonce();
    const settling = settle(await aBody({ payer, nonce }));
    await isInPool();
    const data = await cancellationData(payer, world.chainId, world.usd, nonce);
    await mineCopyFirst(world.usd, data);
    await mine(2);
    expect((await settling).body).toMatchObject({
      success: false,
      errorReason: 'invalid_exact_evm_nonce_already_used',
    });
  });

  it('a payment whose deadline passes unmined has expired', async () => {
    const settling = settle(await aBody({ validFor: 12 }));
    const { hash } = await waiting();
    await world.client.increaseTime({ seconds: 20 });
    await mine(4);
    expect((await settling).body).toMatchObject({
      success: false,
      errorReason: 'invalid_exact_evm_payload_authorization_valid_before',
      transaction: hash,
    });
  });

  it('counts what a payer has in flight against its balance', async () => {
    const payer = await world.payer({ balance: 1500n });
    const first = settle(await aBody({ payer }));
    await isInPool();
    const second = await settle(await aBody({ payer }));
    expect(second.body).toMatchObject({
      success: false,
      errorReason: 'invalid_exact_evm_insufficient_balance',
      transaction: '',
    });
    const third = settle(await aBody({ payer, amount: 500n }));
    await isInPool(2);
    await mine();
    expect((await first).body).toMatchObject({ success: true });
    expect((await third).body).toMatchObject({ success: true });
  });
});
