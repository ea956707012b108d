import { fileURLToPath } from 'node:url';
import { sandboxAccount } from '../../sandbox/accounts.js';
import { type Anvil, startAnvil } from '../../sandbox/anvil.js';
import { deploySandbox, type SandboxClient, sandboxClient } from '../../sandbox/deploy.js';
import { freePort, type Started, startProgram } from '../../sandbox/processes.js';
import { type SandboxRedis, startRedis } from '../../sandbox/redis.js';
import { productionMain, type Service, startService } from '../../sandbox/service.js';
import { PaymentFactory } from './payment-factory.js';
import { SeededBytes } from './seeded-bytes.js';

export const CHAIN_ID = 84_532;
export const V1_NETWORK = 'base-sepolia';
/** Seconds; the block time of BNB Chain. */
export const BLOCK_TIME = 0.45;

/** Ours and the reference pay from different keys, so that neither disturbs the other's nonces. */
export const OUR_SIGNER = sandboxAccount(0);
export const REFERENCE_SIGNER = sandboxAccount(3);

export interface Server extends Started {
  readonly url: string;
}

interface StageOptions {
  readonly payers?: number;
  readonly payees?: number;
  /** Of the node, for long runs: see `AnvilOptions`. */
  readonly statesMost?: number;
}

/** Both facilitators on one chain, each in a process of its own. */
export class BenchStage {
  private readonly started: Started[] = [];

  private constructor(
    readonly anvil: Anvil,
    readonly redis: SandboxRedis,
    readonly client: SandboxClient,
    readonly factory: PaymentFactory,
    readonly assets: string,
  ) {}

  static async build(
    seed: string,
    { payers = 1000, payees = 50, statesMost }: StageOptions = {},
  ): Promise<BenchStage> {
    const anvil = await startAnvil({
      port: await freePort(),
      chainId: CHAIN_ID,
      blockTime: BLOCK_TIME,
      ...(statesMost !== undefined && { statesMost }),
    });
    const redis = await startRedis(await freePort());
    const { usd, coin } = await deploySandbox(anvil.url);
    const client = sandboxClient(anvil.url);
    const chainId = CHAIN_ID;
    const factory = await PaymentFactory.build({
      client,
      chainId,
      v1Network: V1_NETWORK,
      usd,
      coin,
      payers,
      payees,
      bytes: new SeededBytes(seed),
    });
    const assets = [usd, coin].map((token) => `eip155:${chainId}/${token}`).join(',');
    return new BenchStage(anvil, redis, client, factory, assets);
  }

  /** Settings of every process of this service. */
  settings(more: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
    return {
      REDIS_URL: this.redis.url,
      ROLES: 'api,worker',
      NETWORKS: `eip155:${CHAIN_ID}`,
      [`RPC_URLS_${CHAIN_ID}`]: this.anvil.url,
      SIGNER_KEYS: OUR_SIGNER.key,
      BATCH_SAFE_ASSETS: this.assets,
      LOG_LEVEL: 'warn',
      ...more,
    };
  }

  /**
   * @param main - another build than this one as `npm run start:prod` starts it.
   * @param node - the program of another Node.
   */
  async ours(
    more: Readonly<Record<string, string>> = {},
    nodeOptions: readonly string[] = [],
    main = productionMain(),
    node?: string,
  ): Promise<Service> {
    const settings = this.settings(more);
    const service = await startService(await freePort(), settings, nodeOptions, main, node);
    this.started.push(service);
    return service;
  }

  reference(): Promise<Server> {
    return this.#program('reference-server', 'Facilitator listening', [
      this.anvil.url,
      String(CHAIN_ID),
      V1_NETWORK,
      REFERENCE_SIGNER.key,
    ]);
  }

  /** A Nest route that returns a constant. */
  constant(): Promise<Server> {
    return this.#program('constant-server', 'Constant listening', []);
  }

  /** One port in front of several services. */
  balancer(services: readonly Service[]): Promise<Server> {
    const ports = services.map(({ url }) => new URL(url).port);
    return this.#program('balancer', 'Balancer listening', ports);
  }

  /** Runs a file beside this one, whose first argument is its port. */
  async #program(name: string, ready: string, args: readonly string[]): Promise<Server> {
    const port = await freePort();
    const file = fileURLToPath(new URL(`./${name}.ts`, import.meta.url));
    const started = await startProgram(
      process.execPath,
      ['--import', 'tsx', file, String(port), ...args],
      (output) => output.includes(ready),
    );
    this.started.push(started);
    return { ...started, url: `http://127.0.0.1:${port}` };
  }

  async stop(): Promise<void> {
    await Promise.all(this.started.map((one) => one.stop()));
    await Promise.all([this.anvil.stop('SIGKILL'), this.redis.stop('SIGKILL')]);
  }
}
