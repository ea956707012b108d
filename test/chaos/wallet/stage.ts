import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Address } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { freePort } from '../../../sandbox/processes.js';
import { type Service, startService } from '../../../sandbox/service.js';
import { newAccount } from '../../support/payments.js';
import { World } from '../../support/world.js';
import { RedisTripwire } from '../../wallet/tripwire.js';
import { ADMIN_KEY, WalletWorld } from '../../wallet/wallet-world.js';
import { Shop } from './shop.js';

const WALLETS = 4;
const FUNDS = 10n ** 24n;
/** The journal's disk: a file can fill it. */
const DISK_BYTES = 32 * 1024 * 1024;
const RETRY_MS = 50;

export interface Purse {
  readonly owner: PrivateKeyAccount;
  readonly agent: string;
  readonly address: Address;
}

/** The place of one wallet process: it is started again there when it has died. */
export class Slot {
  #service: Service | undefined;
  #starting: Promise<void> | undefined;

  constructor(
    readonly redis: RedisTripwire,
    private readonly port: number,
    private readonly settings: Readonly<Record<string, string>>,
  ) {}

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get service(): Service | undefined {
    return this.#service;
  }

  async start(): Promise<void> {
    this.#service = await startService(this.port, this.settings);
  }

  kill(): void {
    const service = this.#service;
    if (service === undefined) return;
    this.#service = undefined;
    this.#starting = service.stop('SIGKILL').then(() => this.start());
    // Its caller gets the error.
    this.#starting.catch(() => undefined);
  }

  signal(name: 'SIGSTOP' | 'SIGCONT'): void {
    this.#service?.child.kill(name);
  }

  async recovered(): Promise<void> {
    await this.#starting;
  }

  async stop(): Promise<void> {
    await this.#starting?.catch(() => undefined);
    await this.#service?.stop('SIGKILL');
    this.redis.stop();
  }
}

/** Two wallet processes with one Redis, one journal and one chain, and a seller that takes what it can. */
export class WalletStage {
  private constructor(
    readonly world: World,
    readonly slots: readonly Slot[],
    readonly shop: Shop,
    readonly purses: readonly Purse[],
    /** Where the journal is; `isDisk` when it has a disk of its own. */
    readonly journal: { readonly dir: string; readonly isDisk: boolean },
    private readonly dir: string,
  ) {}

  static async build(): Promise<WalletStage> {
    const world = await World.start({ blockTime: 0.3 });
    const dir = await mkdtemp(join(tmpdir(), 'wallet-chaos-'));
    const audit = join(dir, 'audit');
    await mkdir(audit);
    const journal = { dir: audit, isDisk: mountDisk(audit) };
    const slots: Slot[] = [];
    for (let count = 0; count < 2; count += 1) {
      const redis = await RedisTripwire.start(world.redis.port);
      const settings = world.settings({
        ...WalletWorld.settingsOf(world, dir),
        ROLES: 'wallet',
        REDIS_URL: redis.url,
        WALLET_FETCH_TIMEOUT_MS: '3000',
        WALLET_RATE_LIMIT: '100000',
      });
      const slot = new Slot(redis, await freePort(), settings);
      await slot.start();
      slots.push(slot);
    }
    const [first] = slots;
    if (first?.service === undefined) throw new Error('no wallet process was started');
    const owners = WalletWorld.around(world, first.service);
    const purses: Purse[] = [];
    for (let count = 0; count < WALLETS; count += 1) {
      const owner = newAccount();
      const agent = await owners.agentOf(owner);
      const { body } = await owners.send('GET', '/v1/wallets/me', agent);
      const address = body['ethereum'] as Address;
      await world.fund(address, FUNDS);
      purses.push({ owner, agent, address });
    }
    return new WalletStage(world, slots, await Shop.start(world), purses, journal, dir);
  }

  /** What the chain has moved out of a wallet. */
  async movedFrom({ address }: Purse): Promise<bigint> {
    return FUNDS - (await this.world.balance(this.world.usd, address));
  }

  /** Asks any process until one answers with this status. */
  async insist(
    purse: Purse,
    ask: { readonly method: string; readonly path: string; readonly body?: unknown },
    patienceMs = 60_000,
  ): Promise<Record<string, unknown>> {
    const deadline = Date.now() + patienceMs;
    for (let count = 0; ; count += 1) {
      const slot = this.slots[count % this.slots.length];
      const answer = await this.ask(slot?.url ?? '', purse, ask);
      if (answer?.status === 200) return answer.body;
      if (Date.now() > deadline) {
        throw new Error(`${ask.path}: ${answer?.status ?? 0} ${JSON.stringify(answer?.body)}`);
      }
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }

  /**
   * `undefined` without an answer. Rules are the operator's to change: owners' tokens end early.
   */
  async ask(
    url: string,
    { agent, owner }: Purse,
    {
      method,
      path,
      body,
    }: { readonly method: string; readonly path: string; readonly body?: unknown },
  ): Promise<{ readonly status: number; readonly body: Record<string, unknown> } | undefined> {
    const isOperators = method === 'PUT';
    const token = isOperators ? ADMIN_KEY : agent;
    const query = isOperators ? `?owner=${owner.address}` : '';
    try {
      const response = await fetch(`${url}${path}${query}`, {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(20_000),
      });
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    } catch {
      return undefined;
    }
  }

  logs(): string {
    return this.slots
      .map(({ url, service }) => `--- ${url}\n${service?.log() ?? '(down)'}`)
      .join('\n');
  }

  async stop(): Promise<void> {
    await Promise.all(this.slots.map((slot) => slot.stop()));
    this.shop.stop();
    await this.world.stop();
    if (this.journal.isDisk) execFileSync('umount', [this.journal.dir]);
    await rm(this.dir, { recursive: true, force: true });
  }
}

/** @returns whether a disk of its own could be had; it needs the right to mount. */
function mountDisk(dir: string): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_BYTES}`, 'tmpfs', dir], {
      stdio: 'ignore',
    });
    return true;
  } catch {
    return false;
  }
}
