import { Redis } from 'ioredis';
import type { PrivateKeyAccount } from 'viem/accounts';
import { sandboxAccount, SIGNER } from '../../sandbox/accounts.js';
import { type Anvil, startAnvil } from '../../sandbox/anvil.js';
import { freePort } from '../../sandbox/processes.js';
import { World } from '../support/world.js';
import { BlockMaker } from './block-maker.js';
import { Fleet } from './fleet.js';

/** Finality, two blocks on, comes soon. */
const BLOCK_TIME_MS = 300;
const STRAY_CHAIN_ID = 4242;
const SIGNERS = [SIGNER, sandboxAccount(3)];
const PAYERS = 16;

/** A deployment of two answering and two settling processes, with two lanes, on one chain. */
export class Stage {
  private constructor(
    readonly world: World,
    readonly blocks: BlockMaker,
    readonly fleet: Fleet,
    /** Looks at the ledger past every proxy. */
    readonly redis: Redis,
    readonly payers: readonly PrivateKeyAccount[],
    private readonly stray: Anvil,
  ) {}

  readonly signers = SIGNERS.map(({ address }) => address);

  static async build(settings: Readonly<Record<string, string>> = {}): Promise<Stage> {
    const [world, stray] = await Promise.all([
      World.start(),
      freePort().then((port) => startAnvil({ port, chainId: STRAY_CHAIN_ID, blockTime: 1 })),
    ]);
    const payers: PrivateKeyAccount[] = [];
    for (let count = 0; count < PAYERS; count += 1) {
      payers.push(await world.payer({ approves: true }));
    }
    const blocks = await BlockMaker.start(world.client, BLOCK_TIME_MS);
    const fleet = new Fleet(world, stray.url, {
      SIGNER_KEYS: SIGNERS.map(({ key }) => key).join(','),
      SETTLE_WAIT_MS: '8000',
      ...settings,
    });
    const stage = new Stage(
      world,
      blocks,
      fleet,
      new Redis(world.redis.url, { maxRetriesPerRequest: null }),
      payers,
      stray,
    );
    await Promise.all([
      fleet.add('worker-1', 'worker'),
      fleet.add('worker-2', 'worker'),
      fleet.add('api-1', 'api'),
      fleet.add('api-2', 'api'),
    ]);
    stage.redis.on('error', () => undefined);
    return stage;
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
    this.redis.disconnect();
    await Promise.all([this.world.stop(), this.stray.stop('SIGKILL')]);
  }
}
