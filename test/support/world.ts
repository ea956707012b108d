import { fileURLToPath } from 'node:url';
import type { Address } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { SIGNER } from '../../sandbox/accounts.js';
import { type Anvil, startAnvil } from '../../sandbox/anvil.js';
import { type Artifact, type Artifacts, compileFolder } from '../../sandbox/compile.js';
import {
  artifactOf,
  deploy,
  type Deployment,
  deploySandbox,
  PERMIT2,
  type SandboxClient,
  sandboxClient,
} from '../../sandbox/deploy.js';
import { type SandboxChain, startGeth } from '../../sandbox/geth.js';
import { freePort } from '../../sandbox/processes.js';
import { type SandboxRedis, startRedis } from '../../sandbox/redis.js';
import { type Service, startService } from '../../sandbox/service.js';
import { balanceOf, mint } from '../../sandbox/tokens.js';
import { newAccount } from './payments.js';

interface WorldOptions {
  readonly chainId?: number;
  /** Seconds between blocks; `undefined` mines each transaction at once. */
  readonly blockTime?: number;
}

const TEST_CONTRACTS = fileURLToPath(new URL('../contracts', import.meta.url));

/** The binary of go-ethereum, which is the chain in place of anvil where it is given. */
const GETH = process.env['GETH'] ?? '';

async function startChain(options: { chainId: number; blockTime?: number }): Promise<SandboxChain> {
  if (GETH !== '') return startGeth({ binary: GETH, ...options });
  const chain = await startAnvil({ port: await freePort(), ...options });
  const deployment = await deploySandbox(chain.url);
  return { chain, client: sandboxClient(chain.url), deployment };
}

/** A Redis and a chain of their own, with contracts, money and as many services as a test wants. */
export class World {
  /** Whether the chain is go-ethereum, and not anvil. */
  readonly isGeth = GETH !== '';
  readonly #services: Service[] = [];
  #redis: SandboxRedis;

  private constructor(
    redis: SandboxRedis,
    readonly anvil: Anvil,
    readonly client: SandboxClient,
    private readonly deployment: Deployment,
    readonly artifacts: Artifacts,
  ) {
    this.#redis = redis;
  }

  get usd(): Address {
    return this.deployment.usd;
  }

  get coin(): Address {
    return this.deployment.coin;
  }

  /** Makes smart wallets; services call it where their settings say so. */
  get walletFactory(): Address {
    return this.deployment.walletFactory;
  }

  get redis(): SandboxRedis {
    return this.#redis;
  }

  /**
   * Ends Redis without warning and starts it again on what it has on its disk.
   *
   * @param meanwhile - what is done to its folder while it is away.
   */
  async crashRedis(awayMs: number, meanwhile?: (dir: string) => Promise<void>): Promise<void> {
    const { child, port, dir } = this.#redis;
    const isGone = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await isGone;
    await meanwhile?.(dir);
    await new Promise((resolve) => setTimeout(resolve, awayMs));
    const again = await startRedis(port, dir);
    this.#redis = { ...again, stop: this.#stopBoth(this.#redis, again) };
  }

  #stopBoth(first: SandboxRedis, second: SandboxRedis): SandboxRedis['stop'] {
    return async (signal) => {
      await second.stop(signal);
      // It is long gone, and takes the folder away.
      await first.stop(signal);
    };
  }

  static async start({ chainId = 31_337, blockTime }: WorldOptions = {}): Promise<World> {
    const [redis, { chain, client, deployment }] = await Promise.all([
      freePort().then((port) => startRedis(port)),
      startChain({ chainId, ...(blockTime !== undefined && { blockTime }) }),
    ]);
    const artifacts = compileFolder(TEST_CONTRACTS);
    return new World(redis, chain, client, deployment, artifacts);
  }

  get chainId(): number {
    return this.anvil.chainId;
  }

  /** Settings of a service for this world. */
  settings(more: Readonly<Record<string, string>> = {}): Record<string, string> {
    const network = `eip155:${this.chainId}`;
    return {
      REDIS_URL: this.redis.url,
      ROLES: 'api,worker',
      NETWORKS: network,
      [`RPC_URLS_${this.chainId}`]: this.anvil.url,
      SIGNER_KEYS: SIGNER.key,
      BATCH_SAFE_ASSETS: `${network}/${this.usd},${network}/${this.coin}`,
      HEAD_MAX_AGE_MS: '0',
      LOG_LEVEL: process.env['TEST_LOG_LEVEL'] ?? 'info',
      ...more,
    };
  }

  /** @param main - of another build than this one. */
  async service(
    more: Readonly<Record<string, string>> = {},
    port?: number,
    main?: string,
  ): Promise<Service> {
    const service = await startService(port ?? (await freePort()), this.settings(more), [], main);
    this.#services.push(service);
    return service;
  }

  /** An account that owns some of both tokens, and has approved Permit2 when asked to. */
  async payer({ balance = 10n ** 24n, approves = false } = {}): Promise<PrivateKeyAccount> {
    const account = newAccount();
    await this.fund(account.address, balance);
    if (approves) {
      await this.client.setBalance({ address: account.address, value: 10n ** 18n });
      await this.approvePermit2(account, this.coin, 2n ** 255n);
    }
    return account;
  }

  async fund(address: Address, balance: bigint): Promise<void> {
    for (const token of [this.usd, this.coin]) await mint(this.client, token, address, balance);
  }

  async approvePermit2(account: PrivateKeyAccount, token: Address, value: bigint): Promise<void> {
    const data = approveData(PERMIT2, value);
    const hash = await this.client.sendTransaction({ account, chain: null, to: token, data });
    await this.client.mine({ blocks: 1 });
    await this.client.waitForTransactionReceipt({ hash });
  }

  /** anvil reads the height and then the block: between the two a test may take the newest block away. */
  async balance(token: Address, owner: Address, tries = 10): Promise<bigint> {
    try {
      return await balanceOf(this.client, token, owner);
    } catch (error) {
      if (tries === 1 || !String(error).includes('BlockOutOfRange')) throw error;
      return this.balance(token, owner, tries - 1);
    }
  }

  /** Deploys one of the contracts in `test/contracts`. */
  deployTest(name: string, args: readonly unknown[] = []): Promise<Address> {
    return deploy(this.client, this.artifact(name), args);
  }

  artifact(name: string): Artifact {
    return artifactOf(this.artifacts, name);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#services.map((service) => service.stop('SIGKILL')));
    await Promise.all([this.anvil.stop('SIGKILL'), this.redis.stop('SIGKILL')]);
  }
}

function approveData(spender: Address, value: bigint): `0x${string}` {
  return `0x095ea7b3${spender.slice(2).toLowerCase().padStart(64, '0')}${value.toString(16).padStart(64, '0')}`;
}
