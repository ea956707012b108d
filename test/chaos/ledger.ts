import { rmSync } from 'node:fs';
import { Redis } from 'ioredis';
import { freePort } from '../../sandbox/processes.js';
import { type SandboxRedis, startRedis } from '../../sandbox/redis.js';
import { ledgerTag } from '../../src/platform/redis/hash-slot.js';
import { epochKey, idempotencyKey, listKey, outboxKey } from '../../src/settlement/ledger/keys.js';
import type { ClusterGroup } from '../support/cluster-group.js';
import type { SentinelGroup } from '../support/sentinel-group.js';
import { delay } from './client.js';
import { openJobsIn } from './open-jobs.js';

const SYNC_TIMEOUT_MS = 10_000;

/** A Redis that follows the primary until it is cut off from it. */
export class Replica {
  readonly #redis: Redis;

  private constructor(readonly server: SandboxRedis) {
    this.#redis = connectionTo(server);
  }

  static async of(primary: SandboxRedis): Promise<Replica> {
    const replica = new Replica(await startRedis(await freePort()));
    await replica.#redis.replicaof('127.0.0.1', primary.port);
    const deadline = Date.now() + SYNC_TIMEOUT_MS;
    while (!(await replica.#redis.info('replication')).includes('master_link_status:up')) {
      if (Date.now() > deadline) throw new Error('the replica did not follow');
      await delay(20);
    }
    return replica;
  }

  /** From now on it gets no more updates, and may be written to. */
  async cutOff(): Promise<void> {
    await this.#redis.replicaof('NO', 'ONE');
  }

  /** Its server lives on. */
  disconnect(): void {
    this.#redis.disconnect();
  }
}

/** The Redis of a deployment, and what can happen to one. */
export class Ledger {
  readonly #folders: string[] = [];
  #server: SandboxRedis | undefined;
  #redis: Redis;

  private constructor(
    server: SandboxRedis | undefined,
    redis: Redis,
    private readonly chainId: number,
    readonly sentinels?: SentinelGroup,
    readonly cluster?: ClusterGroup,
  ) {
    if (server !== undefined) this.#folders.push(server.dir);
    this.#server = server;
    this.#redis = redis;
  }

  static async start(chainId: number): Promise<Ledger> {
    const server = await startRedis(await freePort());
    return new Ledger(server, connectionTo(server), chainId);
  }

  /** Processes find the primary by themselves, past their proxies. */
  static behind(sentinels: SentinelGroup, chainId: number): Ledger {
    return new Ledger(undefined, sentinels.client(), chainId, sentinels);
  }

  /** Processes find the primary of each slot by themselves, past their proxies; this one that of a chain. */
  static within(cluster: ClusterGroup, chainId: number): Ledger {
    return new Ledger(undefined, cluster.client(ledgerTag(chainId)), chainId, undefined, cluster);
  }

  /** Whether it went back at any time, in earlier runs too: then it takes what it lacks for lost. */
  async hasGoneBack(): Promise<boolean> {
    const found = await this.#redis.hmget(epochKey(this.chainId), 'back', 'returned');
    return found.includes('1');
  }

  /** Where processes do not go through their proxies. */
  get url(): string | undefined {
    return this.sentinels?.url ?? this.cluster?.url;
  }

  get port(): number {
    return this.#primary.port;
  }

  get #primary(): SandboxRedis {
    if (this.#server === undefined) throw new Error('the primary is who others say');
    return this.#server;
  }

  /** Everything in it is gone. */
  async lose(): Promise<void> {
    await this.#redis.flushall();
  }

  /** Ends it without warning and starts it again on what it has on its disk. */
  async crash(awayMs: number): Promise<void> {
    const { port, dir } = this.#primary;
    await this.#end();
    await delay(awayMs);
    this.#server = await startRedis(port, dir);
  }

  /** It neither answers nor refuses for a while. */
  async freeze(ms: number): Promise<void> {
    const { child } = this.#primary;
    child.kill('SIGSTOP');
    await delay(ms);
    child.kill('SIGCONT');
  }

  replica(): Promise<Replica> {
    return Replica.of(this.#primary);
  }

  /** The primary is no more; this is the Redis of the deployment from now on. */
  async replaceBy(replica: Replica): Promise<void> {
    await this.#end();
    replica.disconnect();
    this.#server = replica.server;
    this.#folders.push(replica.server.dir);
    this.#redis.disconnect();
    this.#redis = connectionTo(replica.server);
  }

  /** How many changes are not archived yet. */
  waiting(): Promise<number> {
    return this.#redis.xlen(outboxKey(this.chainId));
  }

  /** As if what had ended before this moment had ended long ago. */
  async age(beforeMs: number): Promise<void> {
    const key = listKey(this.chainId, 'cooling');
    const ids = await this.#redis.zrangebyscore(key, '-inf', beforeMs);
    for (const id of ids) await this.#redis.zadd(key, 'XX', 1, id);
    // And as if its keys had been bound long ago.
    for (const bound of await this.#redis.keys(idempotencyKey('*'))) {
      const value = (await this.#redis.get(bound)) ?? '';
      const at = Number(/\d+$/.exec(value)?.[0] ?? beforeMs);
      if (at < beforeMs) await this.#redis.set(bound, value.replace(/\d+$/, '1'), 'KEEPTTL');
    }
  }

  /** The hash tags of its ledger. */
  get tag(): string {
    return ledgerTag(this.chainId);
  }

  openJobs(): Promise<string[]> {
    return openJobsIn(this.#redis);
  }

  async stop(): Promise<void> {
    this.#redis.disconnect();
    await this.sentinels?.stop();
    await this.cluster?.stop();
    if (this.#server !== undefined) await this.#end();
    for (const folder of this.#folders) rmSync(folder, { recursive: true, force: true });
  }

  async #end(): Promise<void> {
    const { child } = this.#primary;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const isGone = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await isGone;
  }
}

function connectionTo({ url }: SandboxRedis): Redis {
  const redis = new Redis(url, { maxRetriesPerRequest: null });
  redis.on('error', () => undefined);
  return redis;
}
