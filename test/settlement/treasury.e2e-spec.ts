import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { type Address, parseEther } from 'viem';
import { type SandboxAccount, sandboxAccount } from '../../sandbox/accounts.js';
import type { Service } from '../../sandbox/service.js';
import { laneAttemptsKey, laneKey, laneSpentKey } from '../../src/settlement/ledger/keys.js';
import { RpcProxy } from '../chaos/rpc-proxy.js';
import { eventually, get, post } from '../support/http.js';
import { eip3009Body, newAccount } from '../support/payments.js';
import { World } from '../support/world.js';

const PATIENCE_MS = 30_000;

/** An account that refills lanes, on a chain with blocks of their own. */
describe('a treasury', () => {
  let world: World;
  let redis: Redis;
  let proxy: RpcProxy;
  let lane: SandboxAccount;
  let treasury: SandboxAccount;
  let services: Service[];
  let database = 0;

  beforeAll(async () => {
    world = await World.start({ blockTime: 0.5 });
  });
  beforeEach(async () => {
    database += 1;
    services = [];
    lane = sandboxAccount(9 + database);
    treasury = newAccountWithKey(database);
    redis = new Redis(`${world.redis.url}/${database}`);
    proxy = await RpcProxy.start(world.anvil.url, world.anvil.url);
    await world.client.setBalance({ address: treasury.address, value: parseEther('10') });
    await world.client.setBalance({ address: lane.address, value: 0n });
  });
  afterEach(async () => {
    await Promise.all(services.map((service) => service.stop('SIGKILL')));
    redis.disconnect();
    await proxy.stop();
  });
  afterAll(() => world.stop());

  /** Accounts that nothing else in this file uses. */
  const newAccountWithKey = (index: number): SandboxAccount => sandboxAccount(14 + index);

  const settings = (more: Record<string, string> = {}): Record<string, string> => {
    const id = world.chainId;
    return {
      REDIS_URL: `${world.redis.url}/${database}`,
      SIGNER_KEYS: lane.key,
      [`RPC_URLS_${id}`]: proxy.url,
      [`TREASURY_KEY_${id}`]: treasury.key,
      [`TREASURY_REFILL_BELOW_${id}`]: '5',
      [`TREASURY_REFILL_TO_${id}`]: '20',
      [`TREASURY_DAILY_CAP_${id}`]: '1',
      ...more,
    };
  };
  const aService = async (more: Record<string, string> = {}): Promise<Service> => {
    const service = await world.service(settings(more));
    services.push(service);
    return service;
  };
  const balanceOf = (address: Address) => world.client.getBalance({ address });
  const countOf = (address: Address) => world.client.getTransactionCount({ address });
  const name = (): string => `${world.chainId}:${treasury.address.toLowerCase()}`;
  const inFlight = () => redis.hlen(laneAttemptsKey(world.chainId, name()));
  const isRefilled = () =>
    eventually(
      'the lane is refilled',
      async () => (await balanceOf(lane.address)) > 0n,
      PATIENCE_MS,
    );
  const isOver = () =>
    eventually('the refill is final', async () => (await inFlight()) === 0, PATIENCE_MS);
  const some = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

  async function settles({ url, opsUrl }: Service): Promise<void> {
    await eventually('the lane works', async () => {
      const { body } = await get(`${opsUrl}/health`);
      return JSON.stringify(body).includes('"canSettle":true');
    });
    const payer = await world.payer();
    const payTo = newAccount().address;
    const { chainId, usd: token } = world;
    const { body } = await post(
      `${url}/settle`,
      await eip3009Body({ payer, chainId, token, payTo }),
    );
    expect(body).toMatchObject({ success: true });
  }
  const trouble = (): string =>
    `x402_treasury_trouble{network="eip155:${world.chainId}",lane="${treasury.address.toLowerCase()}"`;
  const metrics = async ({ opsUrl }: Service): Promise<string> =>
    (await fetch(`${opsUrl}/metrics`)).text();

  it('refills a lane that is empty, and settles go on; its own account serves nobody', async () => {
    const service = await aService();
    await isRefilled();
    await settles(service);
    await isOver();
    expect(await countOf(treasury.address)).toBe(1);
    expect(service.log()).toContain('lane refilled');
    // Gauges are of the last report of the lane, a second ago.
    await eventually('the cap shows', async () =>
      /x402_treasury_cap_left_coins\{[^}]*\} 0\.9/.test(await metrics(service)),
    );
    const seen = await metrics(service);
    expect(seen).toMatch(/x402_treasury_refilled_coins_total\{[^}]*\} 0\.\d+/);
    expect(seen).not.toContain(
      `x402_lane_settlements_left{network="eip155:${world.chainId}",lane="${treasury.address.toLowerCase()}"`,
    );
    const { body: supported } = await get(`${service.url}/supported`);
    expect(JSON.stringify(supported).toLowerCase()).not.toContain(treasury.address.toLowerCase());
    // The part reserved for the highest price is released once the cost is known.
    const spentGwei = Number(await redis.get(laneSpentKey(world.chainId, name(), today())));
    const left = await balanceOf(treasury.address);
    expect(spentGwei).toBe(Number((parseEther('10') - left + 999_999_999n) / 1_000_000_000n));
    await settles(service);
  });

  it('refills once when the process is killed between store and send', async () => {
    const doomed: { service?: Service } = {};
    let sends = 0;
    proxy.watcher = async (method, isDone) => {
      if (method !== 'eth_sendRawTransaction' || isDone) return;
      sends += 1;
      await doomed.service?.stop('SIGKILL');
      // It never reaches the node.
      await new Promise(() => undefined);
    };
    doomed.service = await aService();
    await eventually('it is stored', async () => (await inFlight()) === 1, PATIENCE_MS);
    await eventually('it is dead', () => sends > 0, PATIENCE_MS);
    const [stored] = await redis.hvals(laneAttemptsKey(world.chainId, name()));
    expect([await countOf(treasury.address), await balanceOf(lane.address)]).toEqual([0, 0n]);
    proxy.watcher = undefined;
    const next = await aService();
    await isRefilled();
    await isOver();
    await settles(next);
    await some(5000);
    expect(await countOf(treasury.address)).toBe(1);
    const { transactions } = JSON.parse(stored ?? '{}') as {
      transactions: { hash: `0x${string}` }[];
    };
    const mined = await world.client.getTransactionReceipt({
      hash: transactions[0]?.hash ?? '0x',
    });
    expect(mined.status).toBe('success');
  });

  it('refills once where two processes have its key, and the second goes on when one is killed', async () => {
    const both = await Promise.all([aService(), aService()]);
    await isRefilled();
    await isOver();
    await some(5000);
    expect(await countOf(treasury.address)).toBe(1);
    await both[0].stop('SIGKILL');
    await world.client.setBalance({ address: lane.address, value: 0n });
    await isRefilled();
    await isOver();
    expect(await countOf(treasury.address)).toBe(2);
  });

  it('stops at its cap, says so, and settles go on', async () => {
    const cap = `TREASURY_DAILY_CAP_${world.chainId}`;
    const first = await aService();
    await isRefilled();
    await isOver();
    const oneCosts = parseEther('10') - (await balanceOf(treasury.address));
    await first.stop();
    // As much again as was spent today, and a half.
    const capWei = (oneCosts * 5n) / 2n;
    const coins = `0.${capWei.toString().padStart(18, '0')}`;
    const service = await aService({ [cap]: coins });
    for (const count of [2]) {
      await world.client.setBalance({ address: lane.address, value: 0n });
      await isRefilled();
      await isOver();
      expect(await countOf(treasury.address)).toBe(count);
    }
    const before = await balanceOf(treasury.address);
    await world.client.setBalance({ address: lane.address, value: 0n });
    await eventually(
      'it says that its day is spent',
      async () => (await metrics(service)).includes(`${trouble()},code="budget_exhausted"} 1`),
      PATIENCE_MS,
    );
    await some(5000);
    expect(await balanceOf(treasury.address)).toBe(before);
    await world.client.setBalance({ address: lane.address, value: parseEther('1') });
    await settles(service);
  });

  it('is told of when it is empty, and stops no settle', async () => {
    await world.client.setBalance({ address: treasury.address, value: 0n });
    await world.client.setBalance({ address: lane.address, value: parseEther('1') });
    const service = await aService();
    await eventually(
      'it says that it is empty',
      async () => (await metrics(service)).includes(`${trouble()},code="no_gas"} 1`),
      PATIENCE_MS,
    );
    await settles(service);
    expect(await redis.hget(laneKey(world.chainId, name()), 'refill')).toBeNull();
  });

  it('is refused at the start where settings make no sense', async () => {
    const id = world.chainId;
    const wrong = {
      [`TREASURY_KEY_${id}`]: lane.key,
      [`TREASURY_REFILL_TO_${id}`]: '5',
      [`TREASURY_DAILY_CAP_${id}`]: '',
    };
    const started = aService(wrong);
    await expect(started).rejects.toThrow(/must not be the key of/);
    await expect(started).rejects.toThrow(
      /TREASURY_DAILY_CAP_31337: is required with TREASURY_KEY_31337/,
    );
  });
});

function today(): string {
  return new Date().toISOString().slice(0, 10);
}
