import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { Address } from 'viem';
import { SIGNER } from '../../sandbox/accounts.js';
import type { Service } from '../../sandbox/service.js';
import { mint } from '../../sandbox/tokens.js';
import { readAuthorizationState } from '../../src/platform/chain/authorization-use.js';
import { EvmChain } from '../../src/platform/chain/evm-chain.js';
import type { NetworkConfig } from '../../src/platform/config/app-config.js';
import { Secret } from '../../src/platform/config/secret.js';
import { LedgerConnections } from '../../src/platform/redis/ledger-connections.js';
import { DEFAULT_SCHEME_CONTRACTS } from '../../src/protocol/evm/contracts.js';
import { AuditTrail } from '../../src/settlement/ledger/audit-trail.js';
import { LaneSwitches } from '../../src/settlement/ledger/queries/lane-switches.js';
import {
  deployMoody,
  deployWrappedLike,
  type Mood,
  MOODY_NAME,
  setMood,
  setMoodFirst,
} from '../support/hostile-tokens.js';
import { type Answer, eventually, post } from '../support/http.js';
import { type Body, eip3009Body, newAccount } from '../support/payments.js';
import { World } from '../support/world.js';

/** Any ERC-20 is served, so its code may do anything: it must cost the others nothing. */
describe('a hostile token', () => {
  let world: World;
  let service: Service;

  beforeAll(async () => {
    world = await World.start();
    service = await world.service({ MAX_GAS_PER_SETTLE: '300000' });
    await eventually('a lane', async () => {
      const response = await fetch(`${service.url}/v2/supported`);
      return JSON.stringify(await response.json()).includes(SIGNER.address);
    });
  });
  afterAll(() => world.stop());

  const verify = (body: Body): Promise<Answer> => post(`${service.url}/v2/verify`, body);
  const settle = (body: Body, headers: Record<string, string> = {}): Promise<Answer> =>
    post(`${service.url}/v2/settle`, body, headers);

  async function honestBody(): Promise<Body> {
    const payer = await world.payer();
    const { chainId, usd } = world;
    return eip3009Body({ payer, chainId, token: usd, payTo: newAccount().address });
  }

  /** A payment of a token that lacks nothing but good will. */
  async function bodyOf(token: Address): Promise<Body> {
    const payer = newAccount();
    await mint(world.client, token, payer.address, 10n ** 18n);
    const payTo = newAccount().address;
    return eip3009Body({ payer, chainId: world.chainId, token, payTo, name: MOODY_NAME });
  }

  const moody = (mood: Mood, threshold = 1_000_000n): Promise<Address> =>
    deployMoody(world.client, mood, { watched: SIGNER.address, threshold }, world.artifacts);

  it('that is honest is settled without being listed anywhere', async () => {
    const body = await bodyOf(await moody('honest'));
    expect((await verify(body)).body).toMatchObject({ isValid: true });
    expect((await settle(body)).body).toMatchObject({ success: true });
  });

  it('that burns what it is given beyond the cap is asked under the cap alone, and holds up nobody', async () => {
    const body = await bodyOf(await moody('burns_uncapped'));
    const begunAt = Date.now();
    const [hostile, honest] = await Promise.all([settle(body), settle(await honestBody())]);
    expect(hostile.body).toMatchObject({ success: true });
    expect(honest.body).toMatchObject({ success: true });
    expect(Date.now() - begunAt).toBeLessThan(5000);
  });

  it.each<[Mood, string]>([
    ['reverts_all', 'invalid_exact_evm_eip3009_not_supported'],
    ['halts_all', 'invalid_exact_evm_eip3009_not_supported'],
    ['burns_all', 'invalid_exact_evm_eip3009_not_supported'],
    ['burns_transfer', 'gas_limit_exceeded'],
    ['reverts_for_sender', 'invalid_exact_evm_transaction_simulation_failed'],
    ['reverts_at_price', 'invalid_exact_evm_transaction_simulation_failed'],
    ['does_nothing', 'invalid_exact_evm_transaction_simulation_failed'],
    ['does_nothing_for_sender', 'invalid_exact_evm_transaction_simulation_failed'],
    ['does_nothing_at_price', 'invalid_exact_evm_transaction_simulation_failed'],
    ['pays_half', 'invalid_exact_evm_transaction_simulation_failed'],
  ])('that %s is refused by verify and by settle alike', async (mood, reason) => {
    const body = await bodyOf(await moody(mood));
    expect((await verify(body)).body).toMatchObject({ isValid: false, invalidReason: reason });
    expect((await settle(body)).body).toMatchObject({ success: false, errorReason: reason });
    const later = await settle(body, { prefer: 'respond-async' });
    expect(later).toMatchObject({ status: 200, body: { success: false, transaction: '' } });
  });

  it.each<Mood>(['burns_state', 'reverts_state', 'reverts_for_others', 'reverts_below_gas'])(
    'that %s and pays all the same is paid',
    async (mood) => {
      // It wants more than it needs: the transaction carries the gas it was simulated with.
      const body = await bodyOf(await moody(mood, 200_000n));
      expect((await verify(body)).body).toMatchObject({ isValid: true });
      expect((await settle(body)).body).toMatchObject({ success: true });
    },
  );

  it('that takes any call and does nothing, as wrapped native coins do, is refused', async () => {
    const body = await bodyOf(await deployWrappedLike(world.client, world.artifacts));
    expect((await verify(body)).body).toMatchObject({ isValid: false });
  });

  describe('that turns while its payments wait', () => {
    let redis: Redis;
    let switches: LaneSwitches;

    beforeAll(() => {
      redis = new Redis(world.redis.url);
      const ledger = new LedgerConnections(redis);
      switches = new LaneSwitches(ledger, new AuditTrail(ledger, { history: undefined }));
    });
    const by = { at: Date.now(), by: 'test' };
    beforeEach(() => switches.set('paused', lane(), world.chainId, by));
    afterAll(async () => {
      await switches.clear('paused', lane(), world.chainId, by);
      redis.disconnect();
    });

    const lane = (): string => `${world.chainId}:${SIGNER.address.toLowerCase()}`;

    it.each<Mood>(['halts_all', 'burns_all', 'burns_transfer', 'reverts_all'])(
      'into one that %s leaves the queue with an answer, and delays no other payment',
      async (mood) => {
        const token = await moody('honest');
        const hostile = settle(await bodyOf(token));
        const honest = settle(await honestBody());
        await new Promise((resolve) => setTimeout(resolve, 500));
        await setMood(world.client, token, mood);
        await switches.clear('paused', lane(), world.chainId, by);
        const begunAt = Date.now();
        expect((await honest).body).toMatchObject({ success: true });
        expect(Date.now() - begunAt).toBeLessThan(2500);
        expect((await hostile).body).toMatchObject({ success: false, transaction: '' });
        expect((await hostile).body).not.toMatchObject({ errorReason: 'settlement_not_sent' });
      },
    );
  });

  it.each<[Mood, string]>([
    ['honest', 'unused'],
    ['burns_state', 'cannot_tell'],
    ['burns_all', 'cannot_tell'],
    ['halts_all', 'cannot_tell'],
    ['reverts_state', 'cannot_tell'],
    // Its first word is no yes or no.
    ['returns_much', 'cannot_tell'],
  ])(
    'that %s is asked once, within a limit, whether an authorization is used',
    async (mood, state) => {
      const asset = await moody(mood);
      const chain = await aChain();
      const ref = { method: 'eip3009', asset, payer: SIGNER.address, nonce: 1n } as const;
      const begunAt = Date.now();
      expect(await chain.withView((view) => readAuthorizationState(view, ref))).toBe(state);
      expect(Date.now() - begunAt).toBeLessThan(1500);
      await chain.close();
    },
  );

  async function aChain(): Promise<EvmChain> {
    const config = {
      chainId: world.chainId,
      network: `eip155:${world.chainId}`,
      rpcUrls: [new Secret(world.anvil.url)],
      schemeContracts: DEFAULT_SCHEME_CONTRACTS,
    };
    const chain = new EvmChain(config as unknown as NetworkConfig);
    await chain.probe();
    return chain;
  }

  it('that burns in a loop of sixteen callers does not slow down the verifies of others', async () => {
    const burner = await moody('burns_all');
    const body = await bodyOf(burner);
    const alone = await medianOfVerifies();
    let isGoing = true;
    let burnt = 0;
    const callers = Array.from({ length: 16 }, async () => {
      while (isGoing) {
        expect((await verify(body)).body).toMatchObject({ isValid: false });
        burnt += 1;
      }
    });
    await eventually('burnt', () => burnt >= 16, 30_000);
    const beside = await medianOfVerifies();
    isGoing = false;
    await Promise.all(callers);
    console.log(
      `verify beside a burner: ${(beside / alone).toFixed(2)} times alone, ${burnt} burnt`,
    );
    expect(beside / alone).toBeLessThan(3);
  });

  /** Milliseconds of an honest verify, one after the other, each of a new payment. */
  async function medianOfVerifies(): Promise<number> {
    const payer = await world.payer();
    const { chainId, usd } = world;
    const took: number[] = [];
    for (let count = 0; count < 41; count += 1) {
      const payTo = newAccount().address;
      const body = await eip3009Body({ payer, chainId, token: usd, payTo });
      const begunAt = performance.now();
      expect((await verify(body)).body).toMatchObject({ isValid: true });
      took.push(performance.now() - begunAt);
    }
    return took.sort((a, b) => a - b)[20] ?? 0;
  }
});

/** Tells a simulation from a transaction by what comes between the two. */
describe('an asset whose transactions succeed and pay nobody', () => {
  let world: World;
  let service: Service;

  beforeAll(async () => {
    world = await World.start();
    service = await world.service();
  });
  afterAll(() => world.stop());

  it('is suspended after three, and its payers are not', async () => {
    const token = await deployMoody(world.client, 'honest', {}, world.artifacts);
    const bodies: Body[] = [];
    for (let count = 0; count < 4; count += 1) {
      const payer = newAccount();
      await mint(world.client, token, payer.address, 10n ** 18n);
      const payTo = newAccount().address;
      bodies.push(
        await eip3009Body({ payer, chainId: world.chainId, token, payTo, name: MOODY_NAME }),
      );
    }
    for (const body of bodies.slice(0, 3)) {
      await world.client.setAutomine(false);
      const settling = post(`${service.url}/v2/settle`, body);
      await eventually('in the pool', async () => {
        return (await world.client.getTxpoolStatus()).pending >= 1;
      });
      await setMoodFirst(world.client, token, 'does_nothing');
      await world.client.mine({ blocks: 3 });
      expect((await settling).body).toMatchObject({
        success: false,
        errorReason: 'invalid_exact_evm_transfer_event_mismatch',
      });
      await world.client.setAutomine(true);
      await setMood(world.client, token, 'honest');
      await world.client.mine({ blocks: 2 });
    }
    await eventually('suspended', async () => {
      const { body } = await post(`${service.url}/v2/verify`, bodies[3]);
      return body['invalidReason'] === 'asset_suspended';
    });
    expect((await post(`${service.url}/v2/settle`, bodies[3])).body).toMatchObject({
      success: false,
      errorReason: 'asset_suspended',
      transaction: '',
    });
  });
});
