import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort, type Started, startProgram } from '../../sandbox/processes.js';
import { REDIS_SERVER, type SandboxRedis, startRedis } from '../../sandbox/redis.js';
import { eventually } from './http.js';

/** As the Sentinels call the primary. */
const MASTER = 'main';
const PASSWORD = 'of-the-servers';
const SENTINEL_PASSWORD = 'of-the-sentinels';
const SERVERS = 3;
const SENTINELS = 3;
/** A server that is silent for so long is given up by a Sentinel. */
const DOWN_AFTER_MS = 1500;
const READY_MS = 60_000;
/** A failover that had begun when the primary came back goes on, and is over by then. */
const AGREED_FOR_MS = 2500;

interface Member {
  server: SandboxRedis;
  readonly dir: string;
  readonly admin: Redis;
}

/** A primary and two replicas, watched by three Sentinels; real ones, with passwords. */
export class SentinelGroup {
  private constructor(
    private readonly dir: string,
    private readonly members: readonly Member[],
    private readonly sentinels: readonly Started[],
    private readonly ports: readonly number[],
    private readonly asked: Redis,
  ) {}

  static async start(): Promise<SentinelGroup> {
    const dir = mkdtempSync(join(tmpdir(), 'x402-sentinels-'));
    const first = await freePort();
    const ports = [first, await freePort(), await freePort()];
    const members = await Promise.all(
      ports
        .slice(0, SERVERS)
        .map((port, index) => startMember(dir, port, index === 0 ? [] : replicaOf(first))),
    );
    const sentinelPorts = await Promise.all(Array.from({ length: SENTINELS }, () => freePort()));
    const sentinels = await Promise.all(
      sentinelPorts.map((port) => startSentinel(dir, port, first)),
    );
    const asked = quiet(
      new Redis(sentinelPorts[0] ?? 0, { password: SENTINEL_PASSWORD, protocol: 2 }),
    );
    const group = new SentinelGroup(dir, members, sentinels, sentinelPorts, asked);
    await eventually('all know each other', () => group.#isWhole(), READY_MS);
    return group;
  }

  get url(): string {
    const hosts = this.ports.map((port) => `127.0.0.1:${port}`).join();
    return `redis+sentinel://:${PASSWORD}@${hosts}/${MASTER}?sentinelPassword=${SENTINEL_PASSWORD}`;
  }

  /** A connection to the present primary. */
  client(): Redis {
    return quiet(
      new Redis({
        sentinels: this.ports.map((port) => ({ host: '127.0.0.1', port })),
        name: MASTER,
        password: PASSWORD,
        sentinelPassword: SENTINEL_PASSWORD,
        maxRetriesPerRequest: null,
        sentinelCommandTimeout: 1000,
        socketTimeout: 3000,
        reconnectOnError: (error) => error.message.startsWith('READONLY'),
      }),
    );
  }

  /** Neither answers nor refuses until it is thawed. */
  async freezePrimary(): Promise<() => void> {
    const { child } = (await this.#primary()).server;
    child.kill('SIGSTOP');
    return () => child.kill('SIGCONT');
  }

  /** Dies without a word. */
  async killPrimary(): Promise<void> {
    await kill(await this.#primary());
  }

  /** Resolves when there is a primary that lives. */
  async promoted(timeoutMs: number): Promise<void> {
    await eventually(
      'another is the primary',
      async () => isAlive(await this.#primary()),
      timeoutMs,
    );
  }

  /** The port of the server that the Sentinels call the primary. */
  async primaryPort(): Promise<number> {
    return (await this.#primary()).server.port;
  }

  /**
   * Resolves when one living server alone has called itself the primary for a while: one that comes back while
   * another takes its place does so until the Sentinels tell it.
   */
  async agreed(timeoutMs: number): Promise<void> {
    let since: number | undefined;
    const isSettled = async (): Promise<boolean> => {
      const living = this.members.filter(isAlive);
      const roles = await Promise.all(living.map(({ admin }) => admin.info('replication')));
      const primaries = roles.filter((info) => info.includes('role:master')).length;
      since = primaries === 1 ? (since ?? Date.now()) : undefined;
      return since !== undefined && Date.now() - since > AGREED_FOR_MS;
    };
    await eventually('one is the primary', isSettled, timeoutMs);
  }

  /**
   * From now on the replicas miss all writes of the primary, and one of them may be promoted all
   * the same.
   */
  async cutReplicasOff(): Promise<() => Promise<void>> {
    const primary = await this.#primary();
    const replicas = this.members.filter((one) => one !== primary);
    const setPassword = async (password: string): Promise<void> => {
      await Promise.all(replicas.map(({ admin }) => admin.config('SET', 'masterauth', password)));
    };
    await setPassword('another');
    await Promise.all(replicas.map(({ admin }) => admin.client('KILL', 'TYPE', 'MASTER')));
    return () => setPassword(PASSWORD);
  }

  /**
   * Takes the present disk content of the primary; it restarts with that before a failover begins.
   */
  async snapshot(): Promise<() => Promise<void>> {
    const primary = await this.#primary();
    const copy = mkdtempSync(join(this.dir, 'copy-'));
    cpSync(primary.dir, copy, { recursive: true });
    return async () => {
      await kill(primary);
      rmSync(primary.dir, { recursive: true });
      cpSync(copy, primary.dir, { recursive: true });
      primary.server = await startRedis(primary.server.port, primary.dir, OPTIONS);
    };
  }

  /** Resolves when there is a primary with two connected replicas. */
  async recovered(): Promise<void> {
    for (const member of this.members) {
      if (isAlive(member)) continue;
      const { port } = member.server;
      await this.promoted(READY_MS);
      const primary = await this.#primary();
      const leader = replicaOf(primary.server.port);
      member.server = await startRedis(port, member.dir, [...OPTIONS, ...leader]);
    }
    await eventually('all know each other', () => this.#isWhole(), READY_MS);
  }

  async stop(): Promise<void> {
    this.asked.disconnect();
    for (const { admin } of this.members) admin.disconnect();
    const all = [...this.sentinels, ...this.members.map(({ server }) => server)];
    await Promise.all(all.map((one) => one.stop('SIGKILL')));
    rmSync(this.dir, { recursive: true, force: true });
  }

  async #primary(): Promise<Member> {
    const [, port] = (await this.#ask('get-master-addr-by-name', MASTER)) as string[];
    const found = this.members.find(({ server }) => server.port === Number(port));
    if (found === undefined) throw new Error('the Sentinels name a stranger');
    return found;
  }

  #ask(...what: readonly string[]): Promise<unknown> {
    return this.asked.call('SENTINEL', ...what);
  }

  async #isWhole(): Promise<boolean> {
    const [state = []] = (await this.#ask('masters')) as string[][];
    const fields = new Map(
      state.flatMap((name, index) => (index % 2 === 0 ? [[name, state[index + 1]] as const] : [])),
    );
    if (fields.get('num-other-sentinels') !== String(SENTINELS - 1)) return false;
    if (fields.get('flags') !== 'master') return false;
    const { admin } = await this.#primary();
    const info = await admin.info('replication');
    return (info.match(/state=online/g) ?? []).length === SERVERS - 1;
  }
}

const OPTIONS = [
  '--requirepass',
  PASSWORD,
  '--masterauth',
  PASSWORD,
  '--repl-diskless-sync-delay',
  '0',
];

const replicaOf = (port: number): string[] => ['--replicaof', `127.0.0.1 ${port}`];

async function startMember(dir: string, port: number, more: readonly string[]): Promise<Member> {
  const own = mkdtempSync(join(dir, 'server-'));
  const server = await startRedis(port, own, [...OPTIONS, ...more]);
  return { server, dir: own, admin: quiet(new Redis(port, { password: PASSWORD })) };
}

function startSentinel(dir: string, port: number, primary: number): Promise<Started> {
  const own = mkdtempSync(join(dir, 'sentinel-'));
  const file = join(own, 'sentinel.conf');
  writeFileSync(
    file,
    [
      `port ${port}`,
      'bind 127.0.0.1',
      `dir ${own}`,
      `requirepass ${SENTINEL_PASSWORD}`,
      `sentinel sentinel-pass ${SENTINEL_PASSWORD}`,
      `sentinel monitor ${MASTER} 127.0.0.1 ${primary} 2`,
      `sentinel auth-pass ${MASTER} ${PASSWORD}`,
      `sentinel down-after-milliseconds ${MASTER} ${DOWN_AFTER_MS}`,
      `sentinel failover-timeout ${MASTER} 5000`,
      '',
    ].join('\n'),
  );
  return startProgram(REDIS_SERVER, [file, '--sentinel'], (output) =>
    output.includes('Sentinel ID is'),
  );
}

async function kill({ server: { child } }: Member): Promise<void> {
  const isGone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await isGone;
}

const isAlive = ({ server: { child } }: Member): boolean =>
  child.exitCode === null && child.signalCode === null;

function quiet(redis: Redis): Redis {
  return redis.on('error', () => undefined);
}
