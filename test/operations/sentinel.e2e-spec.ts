import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { PrivateKeyAccount } from 'viem/accounts';
import type { Service } from '../../sandbox/service.js';
import { eventually, get, post } from '../support/http.js';
import { type Body, eip3009Body, newAccount } from '../support/payments.js';
import { SentinelGroup } from '../support/sentinel-group.js';
import { World } from '../support/world.js';

/** The recovery time that operators are promised, from the fault on. */
const WORKS_AGAIN_MS = 30_000;
const PAYMENTS = 12;
const AMOUNT = 1000n;
/** The answer to a sold payment: by the sale, or by the chain. */
const SOLD_OR_USED = /^(duplicate_settlement|invalid_exact_evm_nonce_already_used)$/;

describe('Redis behind Sentinels', () => {
  let world: World;
  let redis: SentinelGroup;
  let api: Service;
  let payer: PrivateKeyAccount;

  beforeAll(async () => {
    [world, redis] = await Promise.all([World.start({ blockTime: 0.5 }), SentinelGroup.start()]);
    payer = await world.payer();
    const shared = { REDIS_URL: redis.url, SETTLE_WAIT_MS: '8000' };
    api = await world.service({ ...shared, ROLES: 'api' });
    await world.service({ ...shared, ROLES: 'worker' });
    await eventually('settles', canSettle, WORKS_AGAIN_MS);
  }, 120_000);
  afterAll(async () => {
    await world.stop();
    await redis.stop();
  });
  afterEach(() => redis.recovered(), 60_000);

  const canSettle = async (): Promise<boolean> =>
    (await get(`${api.opsUrl}/health`)).status === 200;

  const aBody = (payTo = newAccount().address): Promise<Body> =>
    eip3009Body({ payer, chainId: world.chainId, token: world.usd, payTo, amount: AMOUNT });

  /** As the stock client does: what was not decided is asked again. */
  async function settled(body: Body, patienceMs = WORKS_AGAIN_MS): Promise<string> {
    const deadline = Date.now() + patienceMs;
    for (;;) {
      const { body: answer } = await post(`${api.url}/v2/settle`, body);
      if (answer['success'] === true) return 'success';
      const reason = String(answer['errorReason']);
      const isOpen = /^(settlement_pending|network_unavailable|settlement_not_sent)$/.test(reason);
      if (!isOpen || Date.now() > deadline) return reason;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }

  /** Payments on their way while something happens: each is paid once and sold once. */
  async function settleDuring(fault: () => Promise<void>): Promise<void> {
    const payTo = newAccount().address;
    const bodies = await Promise.all(Array.from({ length: PAYMENTS }, () => aBody(payTo)));
    const settling = bodies.map((body) => settled(body));
    await fault();
    const begun = Date.now();
    expect(await Promise.all(settling)).toEqual(bodies.map(() => 'success'));
    await eventually('settles', canSettle, WORKS_AGAIN_MS - (Date.now() - begun));
    expect(await settled(await aBody(payTo), 5000)).toBe('success');
    expect(await world.balance(world.usd, payTo)).toBe(AMOUNT * BigInt(PAYMENTS + 1));
    const again = await Promise.all(bodies.map((body) => settled(body)));
    expect(again).toEqual(bodies.map(() => 'duplicate_settlement'));
  }

  it('settles while the primary dies and a replica takes over', async () => {
    await settleDuring(() => redis.killPrimary());
  }, 90_000);

  it('settles while the primary freezes, and leaves it alone when it comes back', async () => {
    let thaw = (): void => undefined;
    await settleDuring(async () => {
      thaw = await redis.freezePrimary();
    });
    thaw();
    await redis.recovered();
    expect(await settled(await aBody(), 10_000)).toBe('success');
  }, 120_000);

  it('tells nobody success again for what the new primary never heard of', async () => {
    const reconnect = await redis.cutReplicasOff();
    const body = await aBody();
    expect(await settled(body)).toBe('success');
    await redis.killPrimary();
    await reconnect();
    await eventually('settles', canSettle, WORKS_AGAIN_MS);
    expect(await settled(body)).toMatch(SOLD_OR_USED);
    expect(await settled(await aBody(), 10_000)).toBe('success');
  }, 90_000);

  it('tells nobody success again for what a primary lacks that was restored from an older file', async () => {
    const restore = await redis.snapshot();
    const body = await aBody();
    expect(await settled(body)).toBe('success');
    await restore();
    await eventually('settles', canSettle, WORKS_AGAIN_MS);
    expect(await settled(body)).toMatch(SOLD_OR_USED);
    expect(await settled(await aBody(), 10_000)).toBe('success');
  }, 90_000);

  it('says why a process did not start whose primary no Sentinel knows', async () => {
    const stranger = redis.url.replace('/main?', '/other?');
    const refused = world.service({ REDIS_URL: stranger, ROLES: 'api' });
    await expect(refused).rejects.toThrow(/^REDIS_URL: Redis did not become reachable.*sentinel/m);
  }, 60_000);
});
