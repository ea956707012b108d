import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { PrivateKeyAccount } from 'viem';
import type { Service } from '../../sandbox/service.js';
import { ledgerTag } from '../../src/platform/redis/hash-slot.js';
import { ClusterGroup } from '../support/cluster-group.js';
import { eventually, get, post } from '../support/http.js';
import { type Body, eip3009Body, newAccount } from '../support/payments.js';
import { World } from '../support/world.js';

/** What the service promises after a node is gone. */
const WORKS_AGAIN_MS = 30_000;
const PAYMENTS = 12;
const AMOUNT = 1000n;
/** The answer to a sold payment: by the sale, or by the chain. */
const SOLD_OR_USED = /^(duplicate_settlement|invalid_exact_evm_nonce_already_used)$/;

describe('a Redis Cluster', () => {
  let world: World;
  let redis: ClusterGroup;
  let api: Service;
  let payer: PrivateKeyAccount;
  let ledger: string;

  beforeAll(async () => {
    [world, redis] = await Promise.all([World.start({ blockTime: 0.5 }), ClusterGroup.start()]);
    payer = await world.payer();
    ledger = ledgerTag(world.chainId);
    const shared = {
      REDIS_URL: redis.url,
      SETTLE_WAIT_MS: '8000',
      RATE_LIMIT_SETTLE: '5000',
    };
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
  async function settled(
    body: Body,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<string> {
    const deadline = Date.now() + WORKS_AGAIN_MS;
    for (;;) {
      const { body: answer } = await post(`${api.url}/v2/settle`, body, headers);
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
    expect(await settled(await aBody(payTo))).toBe('success');
    expect(await world.balance(world.usd, payTo)).toBe(AMOUNT * BigInt(PAYMENTS + 1));
    const again = await Promise.all(bodies.map((body) => settled(body)));
    for (const repeated of again) expect(repeated).toMatch(SOLD_OR_USED);
  }

  it('holds what a settlement needs: its ledger and its queue in one slot, an order in its own', async () => {
    const body = await aBody();
    const order = { 'Idempotency-Key': 'an order of mine' };
    expect(await settled(body, order)).toBe('success');
    expect(await settled(body, order)).toBe('success');
    expect(await settled(body)).toBe('duplicate_settlement');
    const keys = await redis.keys();
    const tags = new Set(keys.map((key) => /\{([^}]*)\}/.exec(key)?.[1] ?? key));
    expect(tags).toContain(ledger);
    expect(tags).toContain('deployment');
    expect([...tags].filter((tag) => tag.startsWith('k:'))).toHaveLength(1);
    const queues = keys.filter((key) => key.includes('bull'));
    expect(queues.length).toBeGreaterThan(0);
    expect(queues.filter((key) => !key.startsWith(`x402:{${ledger}}:bull`))).toEqual([]);
  }, 60_000);

  it('settles while the primary of the ledger dies and its replica takes over', async () => {
    const former = await redis.portOf(ledger);
    await settleDuring(() => redis.killOwnerOf(ledger));
    expect(await redis.portOf(ledger)).not.toBe(former);
  }, 120_000);

  it('settles while the primary of the ledger freezes, and leaves it alone when it comes back', async () => {
    let thaw = (): void => undefined;
    await settleDuring(async () => {
      thaw = await redis.freezeOwnerOf(ledger);
    });
    thaw();
    await redis.recovered();
    expect(await settled(await aBody())).toBe('success');
  }, 120_000);

  it('settles while the primary of what belongs to no chain dies', async () => {
    await settleDuring(() => redis.killOwnerOf('deployment'));
  }, 120_000);

  it('is not started as if one node were all of it, nor with a hub that cannot use it', async () => {
    await expect(world.service({ REDIS_URL: redis.urlOfOne })).rejects.toThrow(
      /^REDIS_URL: leads to a node of a Redis Cluster/m,
    );
    await expect(world.service({ REDIS_URL: redis.url, ROLES: 'api,hub' })).rejects.toThrow(
      /HUB_REDIS_URL: is required where REDIS_URL names a Redis Cluster/,
    );
  }, 60_000);
});
