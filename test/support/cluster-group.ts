import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort, isPortFree } from '../../sandbox/processes.js';
import { type SandboxRedis, startRedis } from '../../sandbox/redis.js';
import { Secret } from '../../src/platform/config/secret.js';
import { slotOf } from '../../src/platform/redis/hash-slot.js';
import { connectProducer, connectReader } from '../../src/platform/redis/redis-connection.js';
import { eventually } from './http.js';

const PASSWORD = 'of-the-nodes';
const SLOTS = 16_384;
/** A node that is silent for so long is given up by the others. */
const NODE_TIMEOUT_MS = 2000;
const READY_MS = 30_000;
/** A failover that had begun when a primary came back goes on, and is over by then. */
const AGREED_FOR_MS = 2500;
/** The port of a node's bus is its own port and this. */
const BUS_OFFSET = 10_000;

interface Member {
  server: SandboxRedis;
  readonly dir: string;
  readonly admin: Redis;
  readonly id: string;
}

/** A Redis Cluster of three primaries, each with a replica, if nothing else is asked for; real ones, with a password. */
export class ClusterGroup {
  private constructor(
    private readonly dir: string,
    private readonly members: readonly Member[],
    private readonly primaries: number,
  ) {}

  static async start(primaries = 3, hasReplicas = true): Promise<ClusterGroup> {
    const dir = mkdtempSync(join(tmpdir(), 'x402-cluster-'));
    const members: Member[] = [];
    const nodes = hasReplicas ? 2 * primaries : primaries;
    for (let index = 0; index < nodes; index += 1) {
      members.push(await startMember(dir, await nodePort()));
    }
    const group = new ClusterGroup(dir, members, primaries);
    await group.#meet();
    return group;
  }

  /** Names the servers that began as primaries, in any role by now. */
  get url(): string {
    const hosts = this.members
      .slice(0, this.primaries)
      .map(({ server }) => `127.0.0.1:${server.port}`);
    return `redis+cluster://:${PASSWORD}@${hosts.join()}`;
  }

  /** One node, as if it were all there is. */
  get urlOfOne(): string {
    return `redis://:${PASSWORD}@127.0.0.1:${this.members[0]?.server.port}`;
  }

  /** Every node. */
  get servers(): readonly SandboxRedis[] {
    return this.members.map(({ server }) => server);
  }

  /** Everything in it is gone. Of primaries alone, each of which has no replica. */
  async lose(): Promise<void> {
    for (const { admin } of this.members) await admin.flushall();
  }

  /** The port of the primary that has the slot of a hash tag. */
  async portOf(tag: string): Promise<number> {
    return (await this.#ownerOf(tag)).server.port;
  }

  /** The primary that has the slot of this tag dies without a word. */
  async killOwnerOf(tag: string): Promise<void> {
    const { child } = (await this.#ownerOf(tag)).server;
    const isGone = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await isGone;
  }

  /** Neither answers nor refuses until it is thawed. */
  async freezeOwnerOf(tag: string): Promise<() => void> {
    const { child } = (await this.#ownerOf(tag)).server;
    child.kill('SIGSTOP');
    return () => child.kill('SIGCONT');
  }

  /** A connection to the owner of the slot of a hash tag. */
  client(tag: string): Redis {
    return connectReader(connectProducer(new Secret(this.url), tag)).on('error', () => undefined);
  }

  /** Resolves when the slot of a hash tag has had one living primary, and no other, for a while. */
  async agreed(tag: string, timeoutMs: number): Promise<void> {
    let since: number | undefined;
    let former: number | undefined;
    const isSettled = async (): Promise<boolean> => {
      const owner = await this.#ownerOf(tag);
      const { port } = owner.server;
      const isHeard =
        isAlive(owner) && (await owner.admin.info('replication')).includes('role:master');
      since = isHeard && port === former ? (since ?? Date.now()) : undefined;
      former = port;
      return since !== undefined && Date.now() - since > AGREED_FOR_MS;
    };
    await eventually('one has the slot', isSettled, timeoutMs);
  }

  /** Every key that a primary has, for looking at tags. */
  async keys(): Promise<readonly string[]> {
    const found = await Promise.all(
      this.members.filter(isAlive).map(async ({ admin }) => {
        const isPrimary = (await admin.info('replication')).includes('role:master');
        return isPrimary ? admin.keys('*') : [];
      }),
    );
    return found.flat();
  }

  /** Resolves when every primary has a connected replica again. */
  async recovered(): Promise<void> {
    for (const member of this.members) {
      if (isAlive(member)) continue;
      member.server = await startRedis(member.server.port, member.dir, OPTIONS);
    }
    await eventually('every primary has a replica', () => this.#isWhole(), READY_MS);
  }

  async stop(): Promise<void> {
    for (const { admin } of this.members) admin.disconnect();
    await Promise.all(this.members.map(({ server }) => server.stop('SIGKILL')));
    rmSync(this.dir, { recursive: true, force: true });
  }

  async #meet(): Promise<void> {
    const primaries = this.members.slice(0, this.primaries);
    for (const [index, { admin }] of primaries.entries()) {
      const [first, next] = [index, index + 1].map((n) => Math.floor((n * SLOTS) / this.primaries));
      await admin.call('CLUSTER', 'ADDSLOTSRANGE', first ?? 0, (next ?? 0) - 1);
      await admin.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
    }
    const [first] = this.members;
    for (const { server } of this.members.slice(1)) {
      await first?.admin.call('CLUSTER', 'MEET', '127.0.0.1', server.port);
    }
    await eventually('all know each other', () => this.#know(this.members.length), READY_MS);
    const replicas = this.members.slice(this.primaries);
    for (const [index, { admin }] of replicas.entries()) {
      await admin.call('CLUSTER', 'REPLICATE', this.members[index]?.id ?? '');
    }
    await eventually('every primary has a replica', () => this.#isWhole(), READY_MS);
  }

  async #know(count: number): Promise<boolean> {
    const all = await Promise.all(this.members.map(({ admin }) => admin.cluster('NODES')));
    return all.every(
      (text) =>
        String(text)
          .trim()
          .split('\n')
          .filter((line) => !line.includes('handshake')).length === count,
    );
  }

  async #isWhole(): Promise<boolean> {
    const infos = await Promise.all(
      this.members.map(async ({ admin }) => [
        await admin.cluster('INFO'),
        await admin.info('replication'),
      ]),
    );
    const heard = infos.filter(([, info = '']) => /role:master[^]*state=online/.test(info));
    const hasReplicas = this.members.length > this.primaries;
    return (
      (!hasReplicas || heard.length === this.primaries) &&
      infos.every(([state = '']) => state.includes('cluster_state:ok'))
    );
  }

  async #ownerOf(tag: string): Promise<Member> {
    const slot = slotOf(tag);
    for (const { admin } of this.members.filter(isAlive)) {
      const slots = await admin.cluster('SLOTS');
      const [, , primary] = slots.find(([first, last]) => first <= slot && slot <= last) ?? [];
      const owner = primary?.[2];
      const found = this.members.find(({ id }) => id === owner);
      if (found !== undefined) return found;
    }
    throw new Error('nobody says who has this slot');
  }
}

const OPTIONS = [
  '--requirepass',
  PASSWORD,
  '--masterauth',
  PASSWORD,
  '--repl-diskless-sync-delay',
  '0',
  '--cluster-enabled',
  'yes',
  '--cluster-config-file',
  'nodes.conf',
  '--cluster-node-timeout',
  String(NODE_TIMEOUT_MS),
  '--cluster-replica-validity-factor',
  '0',
];

async function startMember(dir: string, port: number): Promise<Member> {
  const own = mkdtempSync(join(dir, 'node-'));
  const server = await startRedis(port, own, OPTIONS);
  const admin = new Redis(port, { password: PASSWORD }).on('error', () => undefined);
  return { server, dir: own, admin, id: await admin.cluster('MYID') };
}

async function nodePort(): Promise<number> {
  for (;;) {
    const port = await freePort();
    if (await isPortFree(port + BUS_OFFSET)) return port;
  }
}

const isAlive = ({ server: { child } }: Member): boolean =>
  child.exitCode === null && child.signalCode === null;
