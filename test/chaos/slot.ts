import { freePort, startProgram } from '../../sandbox/processes.js';
import type { Service } from '../../sandbox/service.js';
import type { World } from '../support/world.js';
import { ask, delay } from './client.js';
import type { Database } from './history/database.js';
import { PostgresProxy } from './history/pg-proxy.js';
import { RedisProxy } from './redis-proxy.js';
import { RpcProxy } from './rpc-proxy.js';
import type { StepCatalogue } from './steps.js';

export type Role = 'api' | 'worker' | 'history';

const START_TRIES = 8;

/** What all processes of a deployment have in common. */
export interface Surroundings {
  readonly world: World;
  readonly redisPort: () => number;
  /** Where processes do not go through a proxy: Sentinels tell them where to go. */
  readonly redisUrl: string | undefined;
  /** Where there is a history. */
  readonly database: Database | undefined;
  readonly steps: StepCatalogue;
  /** A node of another chain. */
  readonly strayNode: string;
  /** The file that starts the service. */
  readonly main: string;
  readonly settings: Readonly<Record<string, string>>;
}

interface Ports {
  readonly own: number;
  readonly ops: number;
}

async function freePorts(): Promise<Ports> {
  const [own, ops] = await Promise.all([freePort(), freePort()]);
  return { own, ops };
}

/** The place of one process of the deployment: it is started again there when it has died. */
export class Slot {
  service: Service | undefined;
  #restarting: Promise<void> | undefined;
  #isRetired = false;
  /** Changed for all starts to come, until they are changed back. */
  #changes: Readonly<Record<string, string>> = {};

  private constructor(
    readonly name: string,
    readonly role: Role,
    readonly redis: RedisProxy,
    readonly database: PostgresProxy | undefined,
    /** Two doors to the same chain. */
    readonly rpcs: readonly RpcProxy[],
    private readonly ports: Ports,
    private readonly main: string,
    private readonly settings: Readonly<Record<string, string>>,
  ) {}

  static async open(name: string, role: Role, surroundings: Surroundings): Promise<Slot> {
    const { world, redisPort, redisUrl, database, steps, strayNode, main } = surroundings;
    const redis = await RedisProxy.start(redisPort, steps);
    const toDatabase = database && (await PostgresProxy.start(database.port, steps));
    const rpcs = [
      await RpcProxy.start(world.anvil.url, strayNode),
      await RpcProxy.start(world.anvil.url, strayNode),
    ];
    const { SIGNER_KEYS: keys = '', ...open } = world.settings({
      REDIS_URL: redisUrl ?? redis.url,
      [`RPC_URLS_${world.chainId}`]: rpcs.map(({ url }) => url).join(','),
      ROLES: role,
      ...(toDatabase && { DATABASE_URL: database.urlAt(toDatabase.port) }),
      ...surroundings.settings,
    });
    const own = role === 'worker' ? { ...open, SIGNER_KEYS: keys } : open;
    return new Slot(name, role, redis, toDatabase, rpcs, await freePorts(), main, own);
  }

  get url(): string {
    return `http://127.0.0.1:${this.ports.own}`;
  }

  /** Where it says how it is: to operators, or to everybody where there is no port for them. */
  get healthUrls(): readonly string[] {
    return [`http://127.0.0.1:${this.ports.ops}/health`, `${this.url}/health`];
  }

  get isUp(): boolean {
    return this.service !== undefined;
  }

  /** As an orchestrator starts it: one that gives up at its start is started again. */
  async start(prefix: Readonly<Record<string, string>> = {}): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        await this.#startOnce(prefix);
        return;
      } catch (error) {
        if (tries === START_TRIES || this.#isRetired) throw error;
        await delay(500);
      }
    }
  }

  async #startOnce(prefix: Readonly<Record<string, string>>): Promise<void> {
    let log = '';
    const started = await startProgram(
      process.execPath,
      [this.main],
      async () =>
        (await ask(`${this.url}/health/live`, { timeoutMs: 1000 }).catch(() => undefined))
          ?.status === 200,
      {
        patienceMs: 60_000,
        env: {
          PATH: process.env['PATH'] ?? '',
          HOST: '127.0.0.1',
          PORT: String(this.ports.own),
          OPS_PORT: String(this.ports.ops),
          ...this.settings,
          ...this.#changes,
          ...prefix,
        },
        onOutput: (text) => {
          log += text;
        },
      },
    );
    const opsUrl = `http://127.0.0.1:${this.ports.ops}`;
    this.service = { ...started, url: this.url, opsUrl, log: () => log };
  }

  /** Ends the process without a word; it is started again a moment later. */
  kill(afterMs = 300): void {
    const { service } = this;
    if (service === undefined || this.#isRetired) return;
    service.child.kill('SIGKILL');
    this.service = undefined;
    this.#restarting = delay(afterMs).then(() => (this.#isRetired ? undefined : this.start()));
  }

  /** Ends the process without a word and starts it again, in other surroundings, unless it was retired. */
  async restart(prefix: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.#restarting;
    const { service } = this;
    if (service === undefined || this.#isRetired) return;
    this.service = undefined;
    this.#restarting = service
      .stop('SIGKILL')
      .then(() => (this.#isRetired ? undefined : this.start(prefix)));
    await this.#restarting;
  }

  /** Starts it again with other settings, which it keeps. */
  async change(settings: Readonly<Record<string, string>>): Promise<void> {
    this.#changes = settings;
    await this.restart();
  }

  /** Ends it without a word; it stays away. */
  async halt(): Promise<void> {
    await this.#restarting;
    await this.service?.stop('SIGKILL');
    this.service = undefined;
  }

  /** Starts what was halted, with these changes to its settings. */
  async resume(settings: Readonly<Record<string, string>>): Promise<void> {
    this.#changes = settings;
    await this.start();
  }

  /** Resolves when the process is there again after what was done to it. */
  async recovered(): Promise<void> {
    await this.#restarting;
  }

  freeze(): void {
    this.service?.child.kill('SIGSTOP');
  }

  thaw(): void {
    this.service?.child.kill('SIGCONT');
  }

  /**
   * As an orchestrator ends a process: it may finish what it does.
   *
   * @throws Error when it did not end by itself and well. Who is killed meanwhile has an excuse.
   */
  async drain(): Promise<void> {
    const { service } = this;
    await service?.stop('SIGTERM');
    if (service === undefined || service !== this.service) return;
    const { exitCode, signalCode } = service.child;
    if (exitCode !== 0) throw new Error(`${this.name}: drain ended with ${exitCode ?? signalCode}`);
  }

  async retire(): Promise<void> {
    this.#isRetired = true;
    await this.#restarting;
    this.thaw();
    await this.service?.stop('SIGKILL');
    const doors = [this.redis, ...(this.database ? [this.database] : []), ...this.rpcs];
    await Promise.all(doors.map((door) => door.stop()));
  }
}
