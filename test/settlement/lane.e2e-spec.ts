import { afterAll, afterEach, beforeAll, beforeEach, describe, expect } from '@jest/globals';
import { Redis } from 'ioredis';
import type { Hex } from 'viem';
import { type SandboxAccount, sandboxAccount } from '../../sandbox/accounts.js';
import type { Service } from '../../sandbox/service.js';
import { laneKey, listKey } from '../../src/settlement/ledger/keys.js';
import { RpcProxy } from '../chaos/rpc-proxy.js';
import { type Answer, eventually, get, post } from '../support/http.js';
import { deep, it } from '../support/part.js';
import { type Body, eip3009Body, newAccount } from '../support/payments.js';
import { World } from '../support/world.js';

/** One lane and its line of account nonces, on a chain that mines when a test says so. */
describe('a lane', () => {
  let world: World;
  let proxy: RpcProxy;
  let signer: SandboxAccount;
  let redis: Redis;
  let database = 0;

  beforeAll(async () => {
    world = await World.start();
    await world.client.setAutomine(false);
  });
  beforeEach(async () => {
    database += 1;
    signer = sandboxAccount(10 + database);
    redis = new Redis(`${world.redis.url}/${database}`);
    proxy = await RpcProxy.start(world.anvil.url, world.anvil.url);
  });
  afterEach(async () => {
    redis.disconnect();
    await proxy.stop();
  });
  afterAll(() => world.stop());

  const aService = (more: Record<string, string> = {}): Promise<Service> =>
    world.service({
      REDIS_URL: `${world.redis.url}/${database}`,
      SIGNER_KEYS: signer.key,
      [`RPC_URLS_${world.chainId}`]: proxy.url,
      ...more,
    });

  const settle = ({ url }: Service, body: Body): Promise<Answer> => post(`${url}/settle`, body);

  async function aBody(): Promise<Body> {
    const payer = await world.payer();
    const payTo = newAccount().address;
    return eip3009Body({ payer, chainId: world.chainId, token: world.usd, payTo });
  }

  const mine = (blocks = 1): Promise<void> => world.client.mine({ blocks });
  const lane = (): string =>
    laneKey(world.chainId, `${world.chainId}:${signer.address.toLowerCase()}`);

  const isInPool = () =>
    eventually('in the pool', async () => (await world.client.getTxpoolStatus()).pending >= 1);

  async function settled(service: Service, payment?: Body): Promise<Hex> {
    const settling = settle(service, payment ?? (await aBody()));
    await isInPool();
    await mine();
    const { body } = await settling;
    expect(body).toMatchObject({ success: true });
    return body['transaction'] as Hex;
  }

  it('offers at least an eighth more at the same nonce for what no block takes', async () => {
    const service = await aService();
    proxy.fault = { kind: 'forgets' };
    const body = await aBody();
    const settling = settle(service, body);
    await eventually('it is allocated', async () => (await redis.hlen(`${lane()}:attempts`)) === 1);
    const attempts = async (): Promise<{ transactions: { hash: Hex; maxFeePerGas: string }[] }> =>
      JSON.parse((await redis.hget(`${lane()}:attempts`, '0')) ?? '{"transactions":[]}') as never;
    for (let block = 0; block < 9; block += 1) {
      await mine();
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
    await eventually('it is replaced', async () => (await attempts()).transactions.length >= 2);
    const { transactions } = await attempts();
    const [before, after] = transactions.map(({ maxFeePerGas }) => BigInt(maxFeePerGas));
    expect(Number(after) / Number(before)).toBeGreaterThanOrEqual(1.125);

    proxy.fault = { kind: 'none' };
    await eventually('the chain has it', async () => {
      await mine();
      await new Promise((resolve) => setTimeout(resolve, 100));
      return (await world.client.getTransactionCount({ address: signer.address })) === 1;
    });
    const { body: answer, headers } = await settling;
    expect(answer).toMatchObject({ success: true });
    const { body: status } = await get(
      `${service.url}/v2/settlements/${headers.get('settlement-id') ?? ''}`,
    );
    // Every hash is remembered, whichever was mined.
    expect(status['transactions']).toEqual(
      expect.arrayContaining(transactions.map(({ hash }) => hash)),
    );
    await service.stop();
  });

  it('notices that somebody else uses its key, says so, and goes on', async () => {
    const service = await aService();
    await settled(service);
    const { client } = world;
    await client.impersonateAccount({ address: signer.address });
    await client.sendUnsignedTransaction({ from: signer.address, to: signer.address, value: 0n });
    await mine(4);
    const hash = await settled(service);
    expect((await client.getTransaction({ hash })).nonce).toBe(2);
    expect(service.log()).toContain('another program uses the signer key; stop that program');
    await service.stop();
  });

  deep('notices it without another block, when it has looked at the newest before', async () => {
    const service = await aService();
    // Making payers mines blocks, and there are to be none after those of this test.
    const [first, second] = [await aBody(), await aBody()];
    await settled(service, first);
    const { client } = world;
    await client.impersonateAccount({ address: signer.address });
    await client.sendUnsignedTransaction({ from: signer.address, to: signer.address, value: 0n });
    await mine(4);
    await eventually(
      'the first is closed',
      async () => !(await redis.exists(`${lane()}:attempts`)),
    );
    const hash = await settled(service, second);
    expect((await client.getTransaction({ hash })).nonce).toBe(2);
    await service.stop();
  });

  deep('fills account nonces that were allocated and never used', async () => {
    const first = await aService();
    await settled(first);
    await first.stop();
    await redis.hincrby(lane(), 'next', 2);
    const second = await aService();
    await isInPool();
    const hash = settled(second);
    expect((await world.client.getTransaction({ hash: await hash })).nonce).toBe(3);
    await second.stop();
  });

  it('reads its next nonce from the chain when its record is gone', async () => {
    const service = await aService();
    await settled(service);
    await redis.del(lane());
    const hash = await settled(service);
    expect((await world.client.getTransaction({ hash })).nonce).toBe(1);
    expect(await redis.hget(lane(), 'next')).toBe('2');
    await service.stop();
  });

  deep(
    'whose key is taken out while its transactions are on their way is followed by another worker',
    async () => {
      const first = await aService();
      const settling = settle(first, await aBody()).catch(() => undefined);
      await isInPool();
      const [id = ''] = await redis.zrange(listKey(world.chainId, 'live'), '0', '-1');
      await first.stop('SIGKILL');
      await settling;
      const second = await aService({ SIGNER_KEYS: sandboxAccount(40 + database).key });
      await eventually('another process follows the lane', async () =>
        Boolean(await redis.exists(`${lane()}:lease`)),
      );
      await mine(4);
      const state = async (): Promise<unknown> =>
        (await get(`${second.url}/v2/settlements/${id}`)).body['state'];
      await eventually('it is told', async () => (await state()) === 'finalized');
      await eventually('the lane is left', async () => !(await redis.exists(`${lane()}:lease`)));
      await second.stop();
    },
  );
});
