import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Hex, PrivateKeyAccount } from 'viem';
import type { SandboxAccount } from '../../sandbox/accounts.js';
import type { Service } from '../../sandbox/service.js';
import { Partitions } from '../../src/platform/redis/partitions.js';
import { ClusterGroup } from '../support/cluster-group.js';
import { eventually, get, post } from '../support/http.js';
import { laneKeyIn } from '../support/lane-keys.js';
import { type Body, charging, eip3009Body, newAccount, uptoBody } from '../support/payments.js';
import { World } from '../support/world.js';

const READY_MS = 30_000;
const COUNT = 4;
const AMOUNT = 1000n;
/** It has no lane at first. */
const UNSERVED = 3;

describe('a ledger in four partitions of a Redis Cluster', () => {
  let world: World;
  let redis: ClusterGroup;
  let api: Service;
  let partitions: Partitions;
  let lanes: readonly SandboxAccount[];
  let shared: Readonly<Record<string, string>>;
  const payers: PrivateKeyAccount[] = [];

  beforeAll(async () => {
    [world, redis] = await Promise.all([World.start({ blockTime: 0.5 }), ClusterGroup.start()]);
    const { chainId } = world;
    partitions = new Partitions(new Map([[chainId, COUNT]]));
    lanes = partitions.all(chainId).map((one) => laneKeyIn(partitions, one, 'e2e'));
    for (const { address } of lanes) {
      await world.client.setBalance({ address, value: 10n ** 18n });
    }
    while (payers.filter(Boolean).length < COUNT) {
      const account = newAccount();
      const { partition } = partitions.ofAccount(chainId, account.address);
      payers[partition] ??= account;
    }
    for (const { address } of payers) {
      await world.fund(address, 10n ** 24n);
      await world.client.setBalance({ address, value: 10n ** 18n });
    }
    for (const payer of payers) await world.approvePermit2(payer, world.coin, 2n ** 255n);
    shared = {
      ...{ REDIS_URL: redis.url, SETTLE_WAIT_MS: '4000', RATE_LIMIT_SETTLE: '5000' },
      [`LEDGER_PARTITIONS_${chainId}`]: `${COUNT}`,
    };
    api = await world.service({ ...shared, ROLES: 'api' });
    const keys = lanes.filter((_, partition) => partition !== UNSERVED).map(({ key }) => key);
    await world.service({ ...shared, ROLES: 'worker', SIGNER_KEYS: keys.join() });
    await eventually(
      'settles',
      async () => (await get(`${api.opsUrl}/health`)).status === 200,
      READY_MS,
    );
  }, 120_000);
  afterAll(async () => {
    await world.stop();
    await redis.stop();
  });

  const aBody = (partition: number, payTo = newAccount().address): Promise<Body> =>
    eip3009Body({
      ...{ payer: payerOf(partition), chainId: world.chainId, token: world.usd, payTo },
      amount: AMOUNT,
    });
  const settle = (body: Body) => post(`${api.url}/v2/settle`, body);
  const payerOf = (partition: number): PrivateKeyAccount => {
    const payer = payers[partition];
    if (payer === undefined) throw new Error('no such payer');
    return payer;
  };
  const laneOf = (partition: number): SandboxAccount => {
    const lane = lanes[partition];
    if (lane === undefined) throw new Error('no such lane');
    return lane;
  };
  const networkHealth = async (): Promise<Readonly<Record<string, unknown>>> => {
    const { body } = await get(`${api.opsUrl}/health`);
    const details = body['details'] as Record<string, Record<string, Record<string, unknown>>>;
    return details['networks']?.[`eip155:${world.chainId}`] ?? {};
  };

  it('settles for each payer by a lane of its partition, once, and finds it again', async () => {
    for (const partition of [0, 1, 2]) {
      const payTo = newAccount().address;
      const body = await aBody(partition, payTo);
      const { body: answer, headers } = await settle(body);
      expect(answer).toMatchObject({ success: true });
      const hash = answer['transaction'] as Hex;
      const { from } = await world.client.getTransaction({ hash });
      expect(from.toLowerCase()).toBe(laneOf(partition).address.toLowerCase());
      expect((await settle(body)).body).toMatchObject({ errorReason: 'duplicate_settlement' });
      expect(await world.balance(world.usd, payTo)).toBe(AMOUNT);
      const id = headers.get('settlement-id') ?? '';
      const byId = await get(`${api.url}/v2/settlements/${id}`);
      expect(byId).toMatchObject({ status: 200, body: { transaction: hash } });
      const byHash = await get(`${api.url}/v2/settlements?transaction=${hash}`);
      expect(byHash.status).toBe(200);
      expect(JSON.stringify(byHash.body)).toContain(id);
    }
  }, 60_000);

  it('has keys of a partition in its slot alone, and one queue', async () => {
    const tags = (await redis.keys()).map((key) => /\{([^}]*)\}/.exec(key)?.[1] ?? key);
    const own = new Set(tags.filter((tag) => tag.startsWith(`${world.chainId}:`)));
    expect(own).toEqual(new Set([0, 1, 2, 3].map((n) => `${world.chainId}:${n}`)));
    const queues = (await redis.keys()).filter((key) => key.includes(':bull:settle'));
    expect(queues.length).toBeGreaterThan(0);
    expect(queues.filter((key) => !key.startsWith(`x402:{${world.chainId}:0}:`))).toEqual([]);
  });

  it('offers nothing that names a lane, and settles it where the lane is one of its payer', async () => {
    const { body } = await get(`${api.url}/supported`);
    const kinds = body['kinds'] as readonly { readonly scheme: string }[];
    expect(new Set(kinds.map(({ scheme }) => scheme))).toEqual(new Set(['exact']));
    const payTo = newAccount().address;
    const upto = async (lane: number): Promise<Body> =>
      charging(
        await uptoBody({
          ...{ payer: payerOf(1), chainId: world.chainId, token: world.coin, payTo },
          ...{ amount: 2n * AMOUNT, facilitator: laneOf(lane).address },
        }),
        AMOUNT.toString(),
      );
    expect((await settle(await upto(2))).body).toMatchObject({
      errorReason: 'upto_facilitator_mismatch',
    });
    expect((await settle(await upto(1))).body).toMatchObject({ success: true });
    expect(await world.balance(world.coin, payTo)).toBe(AMOUNT);
  }, 30_000);

  it('lets the payers of a partition without a lane wait, says so, and settles once one comes', async () => {
    expect(await networkHealth()).toMatchObject({
      ...{ canSettle: true, partitionsWithoutLane: [UNSERVED] },
    });
    const metrics = await (await fetch(`${api.opsUrl}/metrics`)).text();
    expect(metrics).toContain(
      `x402_ledger_partitions_without_lane{network="eip155:${world.chainId}"} 1`,
    );
    const payTo = newAccount().address;
    const body = await aBody(UNSERVED, payTo);
    expect((await settle(body)).body).toMatchObject({ errorReason: 'settlement_not_sent' });
    // The others do not wait for it.
    expect((await settle(await aBody(0))).body).toMatchObject({ success: true });
    const { key } = laneOf(UNSERVED);
    await world.service({ ...shared, ROLES: 'worker', SIGNER_KEYS: key });
    await eventually(
      'each has a lane',
      async () => (await networkHealth())['partitionsWithoutLane'] === undefined,
      READY_MS,
    );
    expect((await settle(body)).body).toMatchObject({ success: true });
    expect(await world.balance(world.usd, payTo)).toBe(AMOUNT);
  }, 60_000);

  it.each(['1', '2', '16'])(
    'is not opened by a process that takes it for one in %s',
    async (count) => {
      const before = (await redis.keys()).filter((key) => key.endsWith(':format')).sort();
      const name = `LEDGER_PARTITIONS_${world.chainId}`;
      await expect(world.service({ ...shared, [name]: count })).rejects.toThrow(
        new RegExp(
          `LEDGER_PARTITIONS: .* holds a ledger in 4 partitions, and it is set to ${count}`,
        ),
      );
      const after = (await redis.keys()).filter((key) => key.endsWith(':format')).sort();
      expect(after).toEqual(before);
    },
    60_000,
  );

  it('is set to nothing but a power of two', async () => {
    const name = `LEDGER_PARTITIONS_${world.chainId}`;
    await expect(world.service({ ...shared, [name]: '3' })).rejects.toThrow(
      `${name}: must be one of 1, 2, 4, 8, 16`,
    );
  });
});
