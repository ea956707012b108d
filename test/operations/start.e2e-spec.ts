import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect } from '@jest/globals';
import { Redis } from 'ioredis';
import { SIGNER } from '../../sandbox/accounts.js';
import { freePort, type Started, startProgram } from '../../sandbox/processes.js';
import { startRedis } from '../../sandbox/redis.js';
import { type Service, startService } from '../../sandbox/service.js';
import { CHAIN_ID, MADE_UP_TOKEN } from '../../src/facilitator/warm-up/made-up-chain.js';
import { RedisProxy } from '../chaos/redis-proxy.js';
import { StepCatalogue } from '../chaos/steps.js';
import { eventually } from '../support/http.js';
import { deep, it } from '../support/part.js';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

describe('a start', () => {
  let dir: string;
  const running: Started[] = [];

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'x402-start-'));
  });
  afterEach(async () => {
    await Promise.all(running.splice(0).map((one) => one.stop('SIGKILL')));
    rmSync(dir, { recursive: true, force: true });
  });

  /** A Redis that is not set up as the service needs it. */
  async function redisWith(...args: readonly string[]): Promise<string> {
    const port = await freePort();
    running.push(
      await startProgram(
        'redis-server',
        [...args, '--port', String(port), '--bind', '127.0.0.1', '--dir', dir],
        (output) => /Ready to accept connections|Sentinel ID is/.test(output),
      ),
    );
    return `redis://127.0.0.1:${port}`;
  }

  /** A node of a cluster listens at a second port, which is its first one and 10,000 where none is named. */
  const bus = async (): Promise<readonly string[]> => ['--cluster-port', String(await freePort())];

  async function service(redisUrl: string, more: Record<string, string> = {}): Promise<Service> {
    const started = await startService(await freePort(), {
      REDIS_URL: redisUrl,
      ROLES: 'api',
      NETWORKS: 'eip155:31337',
      RPC_URLS_31337: `http://127.0.0.1:${await freePort()}`,
      ...more,
    });
    running.push(started);
    return started;
  }

  const sentinel = (): string => {
    const file = join(dir, 'sentinel.conf');
    writeFileSync(file, 'sentinel monitor main 127.0.0.1 1 1\n');
    return file;
  };

  it.each([
    ['a node of a Redis Cluster', async () => ['--cluster-enabled', 'yes', ...(await bus())]],
    ['a replica', () => ['--replicaof', '127.0.0.1', '1']],
    ['a Sentinel', () => [sentinel(), '--sentinel']],
  ])('refuses %s in a line that names the setting', async (what, args) => {
    const url = await redisWith(...(await args()));
    const refused = service(url);
    await expect(refused).rejects.toThrow(new RegExp(`^REDIS_URL: leads to ${what}`, 'm'));
    await expect(refused).rejects.not.toThrow(/^ +at /m);
  });

  it('is warmed up before its port opens, and no node, ledger or metric sees anything of that', async () => {
    const asked: string[] = [];
    const node = createServer((request, response) => {
      request
        .on('data', (chunk: Buffer) => asked.push(chunk.toString()))
        .on('end', () => {
          response.writeHead(503).end();
        });
    })
      .listen(0, '127.0.0.1')
      .unref();
    await once(node, 'listening');
    const url = await redisWith('--appendonly', 'yes');
    const rpcUrl = `http://127.0.0.1:${(node.address() as AddressInfo).port}`;
    const started = await service(url, { RPC_URLS_31337: rpcUrl, LOG_LEVEL: 'debug' });
    expect(started.log()).toMatch(/"payments":\d+.*warmed up[^]*Facilitator listening/);
    expect(asked.join('')).toContain('eth_');
    expect(asked.join('')).not.toContain(MADE_UP_TOKEN.slice(2));
    const redis = new Redis(url);
    const keys = await redis.keys('*');
    redis.disconnect();
    expect(keys.filter((key) => key.includes(String(CHAIN_ID)) || /:[sa]:/.test(key))).toEqual([]);
    const metrics = await (await fetch(`${started.opsUrl}/metrics`)).text();
    expect(metrics).toContain('x402_verifies_total');
    expect(metrics).not.toMatch(/^x402_verifies_total\{/m);
    node.close();
  });

  it.each([
    ['is not written to disk', ['--appendonly', 'no'], 'appendonly is off'],
    [
      'may be evicted',
      ['--appendonly', 'yes', '--maxmemory-policy', 'allkeys-lru'],
      'maxmemory-policy lets it evict keys',
    ],
  ])('refuses a Redis whose data %s, unless it is allowed to', async (_what, args, problem) => {
    const url = await redisWith(...args);
    const refused = service(url);
    await expect(refused).rejects.toThrow(
      new RegExp(
        `^REDIS_URL: this Redis may lose or evict data: ${problem}.* REDIS_UNSAFE=true$`,
        'm',
      ),
    );
    await expect(refused).rejects.not.toThrow(/^ +at /m);
    const { log } = await service(url, { REDIS_UNSAFE: 'true' });
    await eventually('the warning', () => log().includes('may lose or evict ledger data'));
    for (const line of log().trim().split('\n')) expect(line).toMatch(/^\{.*\}$/);
  });

  it.each<[string, (folder: string) => Record<string, string>, RegExp]>([
    [
      'a file of API keys that is not there',
      (folder) => ({ API_KEYS_FILE: join(folder, 'none.json') }),
      /^API_KEYS_FILE: \/.*none\.json cannot be read \(ENOENT\)$/m,
    ],
    [
      'a malformed network of proxies',
      () => ({ TRUST_PROXY: '10.0.0.0/99' }),
      /^ {2}- TRUST_PROXY: must be off, a count of proxies, or their addresses/m,
    ],
    [
      'an address that is not of this machine',
      () => ({ HOST: '192.0.2.1' }),
      /^HOST: 192\.0\.2\.1 is not an address of this machine$/m,
    ],
  ])('refuses %s in a line that names the setting', async (_what, settings, line) => {
    const refused = service(await redisWith('--appendonly', 'yes'), settings(dir));
    await expect(refused).rejects.toThrow(line);
    await expect(refused).rejects.not.toThrow(/^ +at /m);
  });

  it('refuses a port that is in use in a line that names the setting', async () => {
    const url = await redisWith('--appendonly', 'yes');
    const { url: taken } = await service(url);
    const { port } = new URL(taken);
    const refused = service(url, { PORT: port });
    await expect(refused).rejects.toThrow(
      new RegExp(`^PORT: 127\\.0\\.0\\.1:${port} is in use by another program$`, 'm'),
    );
    await expect(refused).rejects.not.toThrow(/^ +at /m);
  });

  it('says which limits hold, and lists the settings when it is asked for help', async () => {
    const { log } = await service(await redisWith('--appendonly', 'yes'), { ROLES: 'api,wallet' });
    expect(log()).toContain('WALLET_PROVIDER is not set: the role wallet serves nothing');
    expect(log()).toContain('Limits: gas a day on eip155:31337: unlimited per lane');
    const help = spawn(process.execPath, [MAIN, '--help'], { env: {} });
    let printed = '';
    help.stdout.on('data', (text: Buffer) => (printed += text.toString()));
    expect(await new Promise((resolve) => help.once('exit', resolve))).toBe(0);
    expect(printed).toMatch(/^ {2}GAS_BUDGET_DAILY_<chainId> +unset$/m);
  });

  it('says that durability is unknown where Redis forbids to ask', async () => {
    const url = await redisWith('--appendonly', 'yes', '--rename-command', 'CONFIG', '');
    const { log } = await service(url);
    await eventually('the warning', () => log().includes('Redis does not report its appendonly'));
  });

  it('logs the address it listens at, not the one it is reached at', async () => {
    const url = await redisWith('--appendonly', 'yes');
    const { log } = await service(url, { HOST: '0.0.0.0' });
    await eventually('the line', () => log().includes('Facilitator listening on 0.0.0.0:'));
  });

  it('refuses an argument, which would have no effect', () => {
    const { status, stderr } = spawnSync(process.execPath, [MAIN, '--port=1'], {
      encoding: 'utf8',
    });
    expect(status).toBe(2);
    expect(stderr).toBe(
      '--port=1: the service takes no arguments. Settings are environment variables: --help lists them.\n',
    );
  });

  it('ends on SIGTERM with 0, at once, while it still waits for Redis', async () => {
    const child = spawn(process.execPath, [MAIN], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: {
        REDIS_URL: `redis://127.0.0.1:${await freePort()}`,
        NETWORKS: 'eip155:31337',
        RPC_URLS_31337: 'http://127.0.0.1:1',
        SIGNER_KEYS: SIGNER.key,
      },
    });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
    await eventually('it waits', () => output.includes('Redis is unreachable'));
    const begun = performance.now();
    child.kill('SIGTERM');
    expect(await ended).toBe(0);
    expect(performance.now() - begun).toBeLessThan(2000);
    // One outage of several connections.
    expect(output.match(/Redis is unreachable/g)).toHaveLength(1);
  });

  deep('asks a Redis again that lets every first question of a start pass by', async () => {
    const port = await freePort();
    running.push(await startRedis(port));
    const proxy = await RedisProxy.start(() => port, new StepCatalogue());
    const asked = new Set<string>();
    proxy.watcher = (step) => {
      if (asked.has(step)) return { kind: 'pass' };
      asked.add(step);
      return { kind: 'swallow', silentMs: 2500 };
    };
    try {
      const { child } = await service(proxy.url, {
        ROLES: 'api,hub',
        HUB_DATA_DIR: join(dir, 'hub'),
      });
      expect(child.exitCode).toBeNull();
      expect([...asked]).toEqual(expect.arrayContaining(['open_epoch', 'publish_status']));
    } finally {
      await proxy.stop();
    }
  });

  deep('does without a Redis that comes a moment later', async () => {
    const port = await freePort();
    const starting = service(`redis://127.0.0.1:${port}`);
    await new Promise((resolve) => setTimeout(resolve, 3000));
    const redis = await startRedis(port);
    running.push(redis);
    expect((await starting).child.exitCode).toBeNull();
  });
});
