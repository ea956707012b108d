import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SIGNER } from '../../sandbox/accounts.js';
import { type Anvil, startAnvil } from '../../sandbox/anvil.js';
import { sandboxClient } from '../../sandbox/deploy.js';
import { freePort } from '../../sandbox/processes.js';
import { eventually, get, post } from '../support/http.js';
import { type Body, eip3009Body, newAccount } from '../support/payments.js';
import { World } from '../support/world.js';
import { scrape } from './scrape.js';

/** Even a reader that waits for a job has been silent for too long by then. */
const GIVEN_UP_MS = 17_000;

/** What `/health` says of one thing. */
async function healthOf(
  url: string,
  indicator: string,
  name: string,
): Promise<Readonly<Record<string, unknown>>> {
  const { body } = await get(`${url}/health`);
  const details = body['details'] as Record<string, Record<string, Record<string, unknown>>>;
  return details[indicator]?.[name] ?? {};
}

describe('in trouble', () => {
  let world: World;
  const others: Anvil[] = [];

  beforeEach(async () => {
    world = await World.start({ blockTime: 0.3 });
  });
  afterEach(async () => {
    await Promise.all(others.splice(0).map((anvil) => anvil.stop('SIGKILL')));
    await world.stop();
  });

  const payments = async (count: number): Promise<{ bodies: Body[]; payTo: `0x${string}` }> => {
    const payer = await world.payer();
    const payTo = newAccount().address;
    const { chainId, usd: token } = world;
    const made = Array.from({ length: count }, () => eip3009Body({ payer, chainId, token, payTo }));
    return { bodies: await Promise.all(made), payTo };
  };
  const settles = (url: string): Promise<void> =>
    eventually('settles', async () => (await get(`${url}/health`)).status === 200);

  it('a frozen Redis takes a process out of service within two seconds, and only so long', async () => {
    const { url, opsUrl } = await world.service();
    await settles(url);
    world.redis.child.kill('SIGSTOP');
    try {
      const begun = performance.now();
      expect((await get(`${url}/health/ready`)).status).toBe(503);
      expect(performance.now() - begun).toBeLessThan(2000);
      expect((await get(`${url}/health/live`)).status).toBe(200);
      expect((await scrape(opsUrl)).value('x402_redis_up')).toBe(0);
    } finally {
      world.redis.child.kill('SIGCONT');
    }
    await eventually('ready', async () => (await get(`${url}/health/ready`)).status === 200);
    expect((await scrape(opsUrl)).value('x402_redis_up')).toBe(1);
  });

  it('a Redis that stands still until every connection is given up is found again soon', async () => {
    const { url } = await world.service();
    await settles(url);
    const { bodies, payTo } = await payments(2);
    const [during, after] = bodies;
    world.redis.child.kill('SIGSTOP');
    try {
      const { body } = await post(`${url}/v2/settle`, during);
      expect(body).toMatchObject({ success: false, errorReason: 'network_unavailable' });
      await new Promise((resolve) => setTimeout(resolve, GIVEN_UP_MS));
    } finally {
      world.redis.child.kill('SIGCONT');
    }
    await eventually('settles', async () => (await get(`${url}/health`)).status === 200, 5000);
    expect((await post(`${url}/v2/settle`, after)).body).toMatchObject({ success: true });
    const isSettled = async (): Promise<boolean> =>
      (await post(`${url}/v2/settle`, during)).body['success'] === true;
    await eventually('settles what was asked meanwhile', isSettled);
    const amount = BigInt(String(during?.paymentRequirements['amount']));
    expect(await world.balance(world.usd, payTo)).toBe(2n * amount);
  }, 60_000);

  it('a network whose blocks stop coming is named, and the other goes on', async () => {
    const still = await startAnvil({ port: await freePort(), chainId: 777, blockTime: 0.3 });
    others.push(still);
    const { url, opsUrl } = await world.service({
      NETWORKS: `eip155:${world.chainId},eip155:777`,
      RPC_URLS_777: still.url,
      HEAD_MAX_AGE_MS: '3000',
    });
    const canSettle = async (network: string): Promise<unknown> =>
      (await healthOf(opsUrl, 'networks', network))['canSettle'];
    await eventually('settles on both', async () => (await canSettle('eip155:777')) === true);
    await sandboxClient(still.url).setIntervalMining({ interval: 0 });
    await eventually('is named', async () => (await canSettle('eip155:777')) === false, 20_000);
    expect(await healthOf(opsUrl, 'networks', 'eip155:777')).toMatchObject({ code: 'head_stale' });
    expect((await get(`${url}/health`)).status).toBe(200);
    const seen = await scrape(opsUrl);
    expect(seen.value('x402_network_can_settle', { network: 'eip155:777' })).toBe(0);
    expect(seen.value('x402_network_head_age_seconds', { network: 'eip155:777' })).toBeGreaterThan(
      3,
    );
    const { bodies } = await payments(1);
    expect((await post(`${url}/settle`, bodies[0])).body).toMatchObject({ success: true });
  });

  it('an endpoint that lags is named by its place, with what each can do', async () => {
    // The same chain id, and no blocks but the first, which is an hour old.
    const beginsAt = Math.floor(Date.now() / 1000) - 3600;
    const lagging = await startAnvil({ port: await freePort(), chainId: world.chainId, beginsAt });
    others.push(lagging);
    const network = `eip155:${world.chainId}`;
    const { opsUrl } = await world.service({
      [`RPC_URLS_${world.chainId}`]: `${world.anvil.url},${lagging.url}/?key=a-secret-key`,
    });
    // The first look compares two endpoints of which neither is known; the next one leaves out the old head.
    await eventually('is named', async () => {
      const { endpoints } = await healthOf(opsUrl, 'networks', network);
      return (endpoints as { code?: string }[])[1]?.code === 'lagging';
    });
    const report = await healthOf(opsUrl, 'networks', network);
    expect(report).toMatchObject({
      endpoints: [
        { endpoint: 0, lagBlocks: 0, hasLogs: true, hasFinalizedTag: true, acceptsBatches: true },
        { endpoint: 1, code: 'lagging' },
      ],
      contracts: {
        permit2: true,
        permit2Proxy: true,
        uptoProxy: true,
        multicall3: true,
        channelEscrow: true,
        erc3009Collector: true,
        permit2Collector: true,
      },
    });
    expect(JSON.stringify(report)).not.toMatch(/http|secret|127\.0\.0\.1/);
    const labels = { network, endpoint: '1' };
    expect((await scrape(opsUrl)).value('x402_rpc_endpoint_lag_blocks', labels)).toBeGreaterThan(2);
  });

  it('a signer that runs dry is named before a settle fails, and none fails on chain', async () => {
    const { url, opsUrl, log } = await world.service();
    await settles(url);
    const lane = `${world.chainId}:${SIGNER.address.toLowerCase()}`;
    const left = async (): Promise<number> =>
      Number((await healthOf(opsUrl, 'lanes', lane))['settlementsLeft']);
    expect(await left()).toBeGreaterThan(1000);

    await world.client.setBalance({ address: SIGNER.address, value: 0n });
    await eventually('is named', async () => (await left()) === 0);
    await eventually('is down', async () => (await get(`${url}/health`)).status === 503);
    expect(await healthOf(opsUrl, 'networks', `eip155:${world.chainId}`)).toMatchObject({
      canSettle: false,
      code: 'no_gas',
      settlementsLeft: 0,
    });
    const { bodies, payTo } = await payments(3);
    for (const body of bodies) {
      const { body: answer } = await post(`${url}/settle`, body);
      expect(answer).toMatchObject({ success: false, errorReason: 'no_gas', transaction: '' });
    }
    expect(await world.client.getTransactionCount({ address: SIGNER.address })).toBe(0);
    const seen = await scrape(opsUrl);
    expect(seen.value('x402_lane_settlements_left')).toBe(0);
    expect(seen.value('x402_lane_trouble', { code: 'no_gas' })).toBe(1);
    expect(seen.value('x402_attempts_total')).toBeUndefined();
    await eventually('refusals are counted', async () => {
      const { body } = await get(`${opsUrl}/health`);
      const { settles: answered } = body['details'] as Record<string, Record<string, unknown>>;
      return answered?.['refused'] === 3;
    });
    // One line, and not one for each payment.
    const lines = (): Readonly<Record<string, unknown>>[] =>
      log()
        .split('\n')
        .flatMap((line) =>
          line.startsWith('{') ? [JSON.parse(line) as Record<string, unknown>] : [],
        )
        .filter((line) => line['lane'] === lane && String(line['msg']).startsWith('a lane takes'));
    await eventually('it is logged', () => lines().length > 0, 20_000);
    expect(lines()).toMatchObject([{ level: 40, code: 'no_gas', msg: 'a lane takes no work' }]);

    await world.client.setBalance({ address: SIGNER.address, value: 10n ** 18n });
    await settles(url);
    const again = await Promise.all(bodies.map((body) => post(`${url}/settle`, body)));
    expect(again.map(({ body }) => body['success'])).toEqual([true, true, true]);
    expect(await world.balance(world.usd, payTo)).toBe(3000n);
    await eventually('it is well', () => lines().length > 1, 20_000);
    expect(lines()[1]).toMatchObject({ level: 30, was: 'no_gas', msg: 'a lane takes work again' });
  }, 90_000);

  it('without any worker the answering processes stay ready and answer in time', async () => {
    const settings = { ROLES: 'api', SIGNER_KEYS: '', SETTLE_WAIT_MS: '6000' };
    const [one, two] = [await world.service(settings), await world.service(settings)];
    const worker = await world.service({ ROLES: 'worker' });
    await settles(one.url);
    await worker.stop('SIGKILL');
    const { bodies, payTo } = await payments(4);
    const begun = performance.now();
    const answers = bodies.map((body, index) =>
      post(`${(index % 2 === 0 ? one : two).url}/settle`, body),
    );
    const network = `eip155:${world.chainId}`;
    await eventually(
      'is idle',
      async () => (await scrape(one.opsUrl)).value('x402_queue_idle') === 1,
    );
    expect(await healthOf(two.opsUrl, 'queue', network)).toMatchObject({ depth: 4, code: 'idle' });
    for (const { url } of [one, two]) {
      expect((await get(`${url}/health/ready`)).status).toBe(200);
    }
    for (const { status, body } of await Promise.all(answers)) {
      expect(status).toBe(200);
      expect(body).toMatchObject({ success: false, errorReason: 'settlement_not_sent' });
    }
    expect(performance.now() - begun).toBeLessThan(8000);
    const seen = await scrape(one.opsUrl);
    expect(seen.value('x402_processes', { role: 'worker' })).toBe(0);
    expect(seen.value('x402_processes', { role: 'api' })).toBe(2);
    expect(seen.value('x402_lane_up')).toBe(0);
    expect(seen.value('x402_network_trouble', { network, code: 'no_lane' })).toBe(1);
    expect(await world.balance(world.usd, payTo)).toBe(0n);
  });
});
