import { freePort } from '../../sandbox/processes.js';
import { type Service, startService } from '../../sandbox/service.js';
import type { World } from '../support/world.js';
import { RedisProxy } from './redis-proxy.js';
import { RpcProxy } from './rpc-proxy.js';

export type Role = 'api' | 'worker';

/**
 * A moment in the life of a settlement at which a process can be ended: `before` a step means that the
 * step never reached Redis or the node, `after` that it did and the process never heard of it.
 */
export interface Moment {
  readonly when: 'before' | 'after';
  /** A script of the ledger, `enqueue`, or a JSON-RPC method. */
  readonly step: string;
}

export const describeMoment = ({ when, step }: Moment): string => `${when} ${step}`;

/** The place of one process of the deployment: it is started again there when it has died. */
export class Slot {
  service: Service | undefined;
  #restarting: Promise<void> | undefined;
  #isRetired = false;

  private constructor(
    readonly name: string,
    readonly role: Role,
    readonly redis: RedisProxy,
    /** Two doors to the same chain. */
    readonly rpcs: readonly RpcProxy[],
    private readonly port: number,
    private readonly settings: Readonly<Record<string, string>>,
  ) {}

  static async open(
    name: string,
    role: Role,
    world: World,
    strayNode: string,
    more: Readonly<Record<string, string>>,
  ): Promise<Slot> {
    const redis = await RedisProxy.start(world.redis.port);
    const rpcs = [
      await RpcProxy.start(world.anvil.url, strayNode),
      await RpcProxy.start(world.anvil.url, strayNode),
    ];
    const settings = world.settings({
      REDIS_URL: redis.url,
      [`RPC_URLS_${world.chainId}`]: rpcs.map(({ url }) => url).join(','),
      ROLES: role,
      ...more,
    });
    const { [`SIGNER_KEYS`]: keys, ...open } = settings;
    const own = role === 'worker' && keys !== undefined ? { ...open, SIGNER_KEYS: keys } : open;
    const slot = new Slot(name, role, redis, rpcs, await freePort(), own);
    await slot.start();
    return slot;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get isUp(): boolean {
    return this.service !== undefined;
  }

  async start(prefix: Readonly<Record<string, string>> = {}): Promise<void> {
    const service = await startService(this.port, { ...this.settings, ...prefix });
    this.service = service;
  }

  /** Ends the process without a word; it is started again a moment later. */
  kill(afterMs = 300): void {
    const { service } = this;
    if (service === undefined || this.#isRetired) return;
    service.child.kill('SIGKILL');
    this.service = undefined;
    this.#restarting = new Promise((resolve) => setTimeout(resolve, afterMs)).then(() =>
      this.#isRetired ? undefined : this.start(),
    );
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
    await Promise.all([this.redis.stop(), ...this.rpcs.map((rpc) => rpc.stop())]);
  }
}

/** The processes of one deployment, each behind doors of its own to Redis and to the chain. */
export class Fleet {
  readonly slots: Slot[] = [];
  #armed: Moment | undefined;
  #onReached: ((slot: Slot) => void) | undefined;

  constructor(
    private readonly world: World,
    private readonly strayNode: string,
    private readonly settings: Readonly<Record<string, string>>,
  ) {}

  async add(name: string, role: Role): Promise<Slot> {
    const slot = await Slot.open(name, role, this.world, this.strayNode, this.settings);
    this.#watch(slot);
    this.slots.push(slot);
    return slot;
  }

  async remove(slot: Slot): Promise<void> {
    this.slots.splice(this.slots.indexOf(slot), 1);
    await slot.retire();
  }

  of(role: Role): Slot[] {
    return this.slots.filter((slot) => slot.role === role);
  }

  /** The first process to come to this moment is ended there. Resolves with it. */
  killAt(moment: Moment): Promise<Slot> {
    this.#armed = moment;
    return new Promise((resolve) => {
      this.#onReached = resolve;
    });
  }

  disarm(): void {
    this.#armed = undefined;
    this.#onReached = undefined;
  }

  heal(): void {
    this.disarm();
    for (const slot of this.slots) {
      slot.thaw();
      for (const rpc of slot.rpcs) rpc.fault = { kind: 'none' };
    }
  }

  async recovered(): Promise<void> {
    await Promise.all(this.slots.map((slot) => slot.recovered()));
  }

  async stop(): Promise<void> {
    await Promise.all([...this.slots].map((slot) => this.remove(slot)));
  }

  #reach(slot: Slot): void {
    const tell = this.#onReached;
    this.disarm();
    slot.kill();
    tell?.(slot);
  }

  #watch(slot: Slot): void {
    slot.redis.watcher = (step) => {
      const armed = this.#armed;
      if (armed?.step !== step) return 'pass';
      if (armed.when === 'before') {
        this.#reach(slot);
        return 'withhold';
      }
      // Stopped at once, it cannot act on the answer; a moment later Redis has done the step.
      this.#armed = undefined;
      slot.freeze();
      setTimeout(() => {
        this.#reach(slot);
      }, 150);
      return 'pass';
    };
    for (const rpc of slot.rpcs) {
      rpc.watcher = async (method, isDone) => {
        const armed = this.#armed;
        if (armed?.step !== method || (armed.when === 'after') !== isDone) return;
        this.#reach(slot);
        // The process is gone; nothing of this exchange goes further.
        await new Promise((resolve) => setTimeout(resolve, 50));
        if (!isDone) throw new Error('the caller is gone');
      };
    }
  }
}
