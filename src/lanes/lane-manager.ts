import type { Redis } from 'ioredis';
import type { ChainRegistry } from '../chain/chain-registry.js';
import type { EvmChain } from '../chain/evm-chain.js';
import { HeadWatcher } from '../chain/head-watcher.js';
import type { AppConfig, NetworkConfig } from '../config/app-config.js';
import { LeaseLostError, LedgerUnavailableError } from '../core/errors.js';
import { workChannel } from '../ledger/keys.js';
import type { LaneBoard } from '../ledger/lane-board.js';
import type { HeldLane, LaneLedger } from '../ledger/lane-ledger.js';
import type { LanePauses } from '../ledger/lane-pauses.js';
import type { ProcessRegistry } from '../processes/process-registry.js';
import { BatchSuspension } from './batch-suspension.js';
import { FeeOracle } from './fee-oracle.js';
import { GasBook } from './gas-book.js';
import type { LaneObserver } from './lane-observer.js';
import { LaneRunner } from './lane-runner.js';
import { LaneSigner } from './lane-signer.js';
import { SettlementWorker } from './settlement-worker.js';

/** A free lane is noticed this soon: with a lease of 3 s, 3.5 s after its writer died. */
const ACQUIRE_INTERVAL_MS = 500;
const STATUS_INTERVAL_MS = 1000;
/** A settlement whose job has not brought it here by then is brought by the sweep. */
const OVERDUE_MS = 1000;
const SWEPT_AT_ONCE = 500;
/** A process that holds its share lets others come first by waiting this many rounds. */
const MODESTY_ROUNDS = 4;

interface OwnLane {
  readonly name: string;
  readonly chain: EvmChain;
  readonly runner: LaneRunner;
  held: HeldLane | undefined;
  running: Promise<void> | undefined;
  /** Rounds in which this lane was free and left to others. */
  passed: number;
}

interface ChainDesk {
  readonly chain: EvmChain;
  readonly heads: HeadWatcher;
  readonly worker: SettlementWorker;
  readonly lanes: OwnLane[];
  isWorking: boolean;
}

export interface LaneManagerParts {
  readonly config: AppConfig;
  readonly chains: ChainRegistry;
  readonly ledger: LaneLedger;
  readonly board: LaneBoard;
  readonly processes: ProcessRegistry;
  readonly pauses: LanePauses;
  readonly redis: Redis;
  readonly subscriber: Redis;
  /** A connection of its own for each reader of a queue. */
  readonly connectWorker: () => Redis;
  readonly observer: LaneObserver;
}

/** Holds the lanes of this process: takes free ones, keeps their leases, and hands them over. */
export class LaneManager {
  readonly #desks: ChainDesk[];
  #timers: NodeJS.Timeout[] = [];
  #isStopping = false;

  constructor(private readonly parts: LaneManagerParts) {
    this.#desks = parts.config.networks
      .filter(({ signerKeys }) => signerKeys.length > 0)
      .flatMap((network) => {
        const chain = parts.chains.get(network.chainId);
        return chain === undefined ? [] : [this.#deskFor(network, chain)];
      });
  }

  #deskFor(network: NetworkConfig, chain: EvmChain): ChainDesk {
    const { config, ledger, redis, connectWorker, observer } = this.parts;
    const lanes: OwnLane[] = [];
    const heads = new HeadWatcher(chain, () =>
      lanes.some(({ runner }) => runner.isWaitingForBlocks),
    );
    const worker = new SettlementWorker(
      chain.chainId,
      ledger,
      redis,
      connectWorker,
      () => {
        for (const { runner } of lanes) runner.notifyWork();
      },
      (error) => {
        observer.failed(`${chain.chainId}`, 'queue', error);
      },
    );
    const shared = {
      chain,
      heads,
      ledger,
      observer,
      fees: new FeeOracle(chain),
      gasBook: new GasBook(config.maxGasPerSettle),
      suspension: new BatchSuspension(),
      onFinished: (ids: readonly string[]): void => {
        worker.finished(ids);
      },
    };
    for (const key of network.signerKeys) {
      const signer = new LaneSigner(key, chain.chainId);
      const name = `${chain.chainId}:${signer.address}`;
      const onChanged = (): void => {
        void this.#reportLaneNow(name);
      };
      const runner = new LaneRunner(
        name,
        { ...shared, signer, onChanged },
        {
          process: this.parts.processes.process,
          maxGas: config.maxGasPerSettle,
          windowMax: config.laneWindowMax,
          headMaxAgeMs: config.headMaxAgeMs,
          batchRules: {
            maxItems: config.batchMaxItems,
            safeAssets: config.batchSafeAssets,
            optOut: config.batchOptOut,
          },
        },
      );
      lanes.push({ name, chain, runner, held: undefined, running: undefined, passed: 0 });
    }
    return { chain, heads, worker, lanes, isWorking: false };
  }

  async start(): Promise<void> {
    const { subscriber, config } = this.parts;
    subscriber.on('message', (channel: string) => {
      const desk = this.#desks.find(({ chain }) => workChannel(chain.chainId) === channel);
      for (const { runner } of desk?.lanes ?? []) runner.notifyWork();
    });
    const channels = this.#desks.map(({ chain }) => workChannel(chain.chainId));
    if (channels.length > 0) await subscriber.subscribe(...channels);
    await this.#acquireFree();
    // Sellers that ask at once what is supported shall find the signers.
    await this.#report();
    this.#timers = [
      setInterval(() => void this.#acquireFree(), ACQUIRE_INTERVAL_MS),
      setInterval(() => void this.#renewHeld(), config.laneLeaseMs / 3),
      setInterval(() => void this.#report(), STATUS_INTERVAL_MS),
    ];
  }

  /** The lanes this process holds now. */
  get heldLanes(): readonly string[] {
    return this.#allLanes.filter(({ held }) => held !== undefined).map(({ name }) => name);
  }

  get #allLanes(): readonly OwnLane[] {
    return this.#desks.flatMap(({ lanes }) => lanes);
  }

  /** Stops taking work, lets what is being signed be sent, and gives the lanes to the others. */
  async stop(): Promise<void> {
    if (this.#isStopping) return;
    this.#isStopping = true;
    for (const timer of this.#timers) clearInterval(timer);
    for (const { runner } of this.#allLanes) runner.stop();
    await Promise.all(
      this.#allLanes.map(async (lane) => {
        await lane.running;
        if (lane.held !== undefined)
          await this.parts.ledger.release(lane.held).catch(() => undefined);
        lane.held = undefined;
      }),
    );
    await Promise.all(
      this.#desks.map(async ({ worker, heads }) => {
        await Promise.all([worker.stop(), heads.stop()]);
      }),
    );
  }

  // ---------------------------------------------------------------- leases

  #isAcquiring = false;

  async #acquireFree(): Promise<void> {
    if (this.#isAcquiring || this.#isStopping) return;
    this.#isAcquiring = true;
    try {
      for (const lane of this.#allLanes) {
        if (lane.held === undefined && lane.running === undefined) await this.#tryAcquire(lane);
      }
    } catch (error) {
      if (!(error instanceof LedgerUnavailableError)) throw error;
    } finally {
      this.#isAcquiring = false;
    }
  }

  async #tryAcquire(lane: OwnLane): Promise<void> {
    const { ledger, processes, config } = this.parts;
    if (lane.passed < MODESTY_ROUNDS && (await this.#hasShare())) {
      lane.passed += 1;
      return;
    }
    lane.passed = 0;
    const held = await ledger.acquire(
      lane.name,
      lane.chain.chainId,
      processes.process,
      config.laneLeaseMs,
    );
    if (held !== undefined) this.#begin(lane, held);
  }

  /** Whether this process holds as many lanes as would be its share among the living workers. */
  async #hasShare(): Promise<boolean> {
    const own = this.heldLanes.length;
    if (own === 0) return false;
    const workers = (await this.parts.processes.live()).filter(({ roles }) =>
      roles.includes('worker'),
    );
    return own >= Math.ceil(this.#allLanes.length / Math.max(1, workers.length));
  }

  #begin(lane: OwnLane, held: HeldLane): void {
    lane.held = held;
    const desk = this.#desks.find(({ lanes }) => lanes.includes(lane));
    if (desk !== undefined && !desk.isWorking) {
      desk.isWorking = true;
      desk.heads.start();
      desk.worker.start();
    }
    lane.running = lane.runner
      .run(held)
      .catch((error: unknown) => {
        this.parts.observer.lost(lane.name, error);
      })
      .finally(() => {
        if (this.#isStopping) return;
        lane.held = undefined;
        lane.running = undefined;
        if (desk !== undefined) void this.#closeIdle(desk);
      });
  }

  /** A process without a lane of a chain takes no jobs of it. */
  async #closeIdle(desk: ChainDesk): Promise<void> {
    if (!desk.isWorking || desk.lanes.some(({ held }) => held !== undefined)) return;
    desk.isWorking = false;
    await Promise.all([desk.worker.stop(), desk.heads.stop()]);
  }

  async #renewHeld(): Promise<void> {
    await Promise.all(
      this.#allLanes.map(async (lane) => {
        const { held } = lane;
        if (held === undefined) return;
        try {
          await this.parts.ledger.renew(held, this.parts.config.laneLeaseMs);
        } catch (error) {
          // A lease that could not be renewed in time is lost when a script says so.
          if (!(error instanceof LeaseLostError)) return;
          if (lane.held === held) lane.held = undefined;
          lane.runner.stop();
        }
      }),
    );
  }

  // ---------------------------------------------------------------- sweep and status

  #isReporting = false;

  async #report(): Promise<void> {
    if (this.#isReporting) return;
    this.#isReporting = true;
    try {
      const paused = await this.parts.pauses.all();
      for (const { name, runner } of this.#allLanes) runner.isPaused = paused.has(name);
      await Promise.all(this.#desks.map((desk) => this.#sweep(desk)));
      await Promise.all(this.#allLanes.map((lane) => this.#reportLane(lane)));
    } catch {
      // Neither Redis nor the chain has to answer now; the next round is a second away.
    } finally {
      this.#isReporting = false;
    }
  }

  async #sweep({ chain, lanes }: ChainDesk): Promise<void> {
    if (!lanes.some(({ held }) => held !== undefined)) return;
    const { ledger } = this.parts;
    const ids = await ledger.overdue(chain.chainId, OVERDUE_MS, SWEPT_AT_ONCE);
    if (ids.length > 0) await ledger.ready(chain.chainId, ids);
  }

  async #reportLane({ runner, held }: OwnLane): Promise<void> {
    if (held === undefined) return;
    await runner.refresh().catch(() => undefined);
    await this.parts.board.publish(runner.status());
  }

  async #reportLaneNow(name: string): Promise<void> {
    const lane = this.#allLanes.find((one) => one.name === name);
    try {
      if (lane !== undefined) await this.#reportLane(lane);
    } catch (error) {
      // The next report is a second away.
      if (!(error instanceof LedgerUnavailableError)) throw error;
    }
  }
}
