import type { Address, Hex } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import { type SandboxAccount, sandboxAccount, SIGNER } from '../../sandbox/accounts.js';
import { type Anvil, startAnvil } from '../../sandbox/anvil.js';
import { freePort } from '../../sandbox/processes.js';
import { SERVICE_MAIN } from '../../sandbox/service.js';
import { ClusterGroup } from '../support/cluster-group.js';
import { newAccount } from '../support/payments.js';
import { SentinelGroup } from '../support/sentinel-group.js';
import { World } from '../support/world.js';
import { BlockMaker } from './block-maker.js';
import { delay } from './client.js';
import { Fleet } from './fleet.js';
import type { History } from './history/history.js';
import { type Hostile, makeFatToken, makeHostileTokens } from './hostile.js';
import { Ledger, type Replica } from './ledger.js';
import { Pool } from './pool.js';
import type { QueueRedis } from './queue-redis.js';
import { StepCatalogue } from './steps.js';
import { TREASURY, treasurySettings } from './treasury.js';
import { type FundedWallet, fundedWallets } from './wallets.js';

/** Finality, two blocks on, comes soon. */
const BLOCK_TIME_MS = 250;
/**
 * Longer than the four seconds after which a node of a fast chain that shows no new block counts as stuck; with twelve,
 * as Ethereum has them, a run would take twice as long.
 */
export const SLOW_BLOCK_TIME_MS = 6000;
/** The service measures over sixteen blocks how far they are apart, each ten seconds. */
const MEASURED_BLOCKS = 18;
const STRAY_CHAIN_ID = 4242;
const LANE_WEI = 10n ** 21n;
const PAYERS = 16;
const WALLETS = 60;

/** When acknowledged writes were lost: from the replica's last update until its promotion. */
interface Loss {
  readonly from: number;
  readonly to: number;
}

/** What each lane may spend at most, and what it had spent before. */
interface Budget {
  readonly dayOf: string;
  readonly roomWei: bigint;
  readonly before: readonly bigint[];
}

interface StageOptions {
  readonly settings?: Readonly<Record<string, string>>;
  /** The file that starts the service. */
  readonly main?: string;
  /** Then two processes more archive, and tell sellers. */
  readonly history?: History;
  /** Redis is a primary and two replicas behind three Sentinels, or a Cluster; one server without it. */
  readonly redis?: 'sentinel' | 'cluster' | undefined;
  /** Blocks come every six seconds. */
  readonly hasSlowBlocks?: boolean;
  /** Of the queues alone. */
  readonly queue?: QueueRedis | undefined;
  /** Of the ledger; one without it. */
  /** Whether an account refills the lanes. */
  readonly hasTreasury?: boolean;
}

/** A deployment of two answering and two settling processes, with two lanes or more, on one chain. */
export class Stage {
  readonly signers: readonly Address[];
  readonly signerKeys: readonly Hex[];
  /** The scripts that settlements need, in a fixed order; found out once. */
  flow: readonly string[] = [];
  /** What the current episode has found wrong so far, by what does not wait for its end. */
  found: string[] = [];
  /** Worth a look, and nothing wrong. */
  notes: string[] = [];
  losses: Loss[] = [];
  /** Of the current episode, besides those of its deals. */
  otherRequests = 0;
  budget: Budget | undefined;

  private constructor(
    readonly world: World,
    readonly blocks: BlockMaker,
    readonly fleet: Fleet,
    readonly ledger: Ledger,
    readonly pool: Pool,
    readonly steps: StepCatalogue,
    readonly payers: readonly PrivateKeyAccount[],
    /** Plays no part but to see whether payments are settled. */
    readonly prober: PrivateKeyAccount,
    /** Of a network that the deployment may get as a setting. */
    readonly stray: Anvil,
    readonly hostile: readonly Hostile[],
    /** A token that is honest and dear. */
    readonly fat: Hex,
    /** With money and without code; each pays once, as a block that is replaced takes its code away. */
    readonly wallets: FundedWallet[],
    readonly history: History | undefined,
    readonly queue: QueueRedis | undefined,
    lanes: readonly SandboxAccount[],
    readonly hasTreasury: boolean,
    /** Between two blocks. */
    readonly blockTimeMs: number,
  ) {
    this.signers = lanes.map(({ address }) => address);
    this.signerKeys = lanes.map(({ key }) => key);
  }

  static async build({
    settings = {},
    main = SERVICE_MAIN,
    history,
    redis,
    queue,
    hasTreasury = false,
    hasSlowBlocks = false,
  }: StageOptions = {}): Promise<Stage> {
    const [world, stray, group] = await Promise.all([
      World.start(),
      freePort().then((port) => startAnvil({ port, chainId: STRAY_CHAIN_ID, blockTime: 1 })),
      groupOf(redis),
    ]);
    const ledger = await ledgerOf(group, world.chainId);
    const lanes = [SIGNER, sandboxAccount(3)];
    for (const { address } of lanes) await world.client.setBalance({ address, value: LANE_WEI });
    const payers: PrivateKeyAccount[] = [];
    for (let count = 0; count < PAYERS; count += 1) {
      payers.push(await world.payer({ approves: true }));
    }
    const prober = await world.payer();
    const hostile = await makeHostileTokens(world);
    const fat = await makeFatToken(world, payers);
    const wallets = await fundedWallets(world, WALLETS);
    const network = `eip155:${world.chainId}`;
    const assets = [world.usd, world.coin, fat].map((asset) => `${network}/${asset}`);
    const blockTimeMs = hasSlowBlocks ? SLOW_BLOCK_TIME_MS : BLOCK_TIME_MS;
    const blocks = await BlockMaker.start(world.client, blockTimeMs);
    const measured = hasSlowBlocks ? delay(MEASURED_BLOCKS * blockTimeMs) : undefined;
    const pool = new Pool();
    const steps = new StepCatalogue();
    const fleet = new Fleet(
      {
        world,
        redisPort: () => ledger.port,
        redisUrl: ledger.url,
        database: history?.database,
        steps,
        strayNode: stray.url,
        main,
        settings: {
          SIGNER_KEYS: lanes.map(({ key }) => key).join(','),
          SETTLE_WAIT_MS: hasSlowBlocks ? '10000' : '5000',
          MAX_GAS_PER_SETTLE: String(GAS_MOST),
          BATCH_SAFE_ASSETS: assets.join(','),
          ...approvalSettings(world.chainId),
          ERC6492_FACTORIES: world.walletFactory,
          ...history?.settings,
          ...(hasTreasury && treasurySettings(world.chainId)),
          ...(queue !== undefined && { QUEUE_REDIS_URL: queue.url }),
          ...settings,
        },
      },
      ledger,
      (raw) => {
        pool.see(raw);
      },
      pool.forge,
    );
    const stage = new Stage(
      world,
      blocks,
      fleet,
      ledger,
      pool,
      steps,
      payers,
      prober,
      stray,
      hostile,
      fat,
      wallets,
      history,
      queue,
      lanes,
      hasTreasury,
      blockTimeMs,
    );
    const started = await Promise.allSettled([
      fleet.add('worker-1', 'worker'),
      fleet.add('worker-2', 'worker'),
      fleet.add('api-1', 'api'),
      fleet.add('api-2', 'api'),
      ...(history === undefined
        ? []
        : [fleet.add('history-1', 'history'), fleet.add('history-2', 'history')]),
    ]);
    const failed = started.find((one) => one.status === 'rejected');
    if (failed !== undefined) {
      await stage.stop();
      throw failed.reason;
    }
    await history?.begin(stage);
    await measured;
    return stage;
  }

  /** Earlier findings belong to another episode. */
  beginRun(): void {
    this.found = [];
    this.notes = [];
    this.losses = [];
    this.otherRequests = 0;
  }

  /** A payee without a payment. */
  newPayee(): Address {
    return this.history?.newPayee() ?? newAccount().address;
  }

  /** Every account that this deployment sends from. */
  get accounts(): readonly Address[] {
    return this.hasTreasury ? [...this.signers, TREASURY.address] : this.signers;
  }

  /** What a caller at this address shows of itself, where the deployment wants to know. */
  headersOf(from: string): Readonly<Record<string, string>> {
    return this.history?.headersOf(from) ?? {};
  }

  /** Where requests go; a process that is down is asked too. */
  urls(): readonly string[] {
    return this.fleet.of('api').map(({ url }) => url);
  }

  get hasSlowBlocks(): boolean {
    return this.blockTimeMs === SLOW_BLOCK_TIME_MS;
  }

  /** The Redis of the deployment dies, and one that missed the newest writes takes its place. */
  async failOver(replica: Replica, from: number, awayMs: number): Promise<void> {
    await this.fleet.failOver(replica, awayMs);
    this.losses.push({ from, to: Date.now() });
  }

  /** What a queue tool shows as not done. */
  openJobs(): Promise<string[]> {
    return (this.queue ?? this.ledger).openJobs();
  }

  /** What every process has printed, for a run that went wrong. */
  logs(): string {
    return this.fleet.slots
      .map(({ name, service }) => `--- ${name}\n${service?.log() ?? '(down)'}`)
      .join('\n');
  }

  async stop(): Promise<void> {
    await this.fleet.stop();
    await this.blocks.stop();
    await Promise.all([
      this.world.stop(),
      this.ledger.stop(),
      this.stray.stop('SIGKILL'),
      this.history?.stop(),
      this.queue?.stop(),
    ]);
  }
}

/** How approvals of payers without coins are paid for. */
export const approvalSettings = (chainId: number): Readonly<Record<string, string>> => ({
  [`APPROVAL_SPONSORING_${chainId}`]: '100',
  [`APPROVAL_MAX_FEE_GWEI_${chainId}`]: '5',
  [`APPROVAL_MAX_TOP_UP_${chainId}`]: '0.001',
});

/** Gas units one settlement may need. A batch of as many as fit is more than any node takes. */
const GAS_MOST = 700_000;

function groupOf(
  redis: 'sentinel' | 'cluster' | undefined,
): Promise<SentinelGroup | ClusterGroup | undefined> {
  if (redis === undefined) return Promise.resolve(undefined);
  return redis === 'sentinel' ? SentinelGroup.start() : ClusterGroup.start();
}

async function ledgerOf(
  group: SentinelGroup | ClusterGroup | undefined,
  chainId: number,
): Promise<Ledger> {
  if (group === undefined) return Ledger.start(chainId);
  return group instanceof ClusterGroup
    ? Ledger.within(group, chainId)
    : Ledger.behind(group, chainId);
}
