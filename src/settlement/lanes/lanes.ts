import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import type { Address } from 'viem';
import { ChainRegistry } from '../../platform/chain/chain-registry.js';
import type { EvmChain } from '../../platform/chain/evm-chain.js';
import { HeadWatcher } from '../../platform/chain/head-watcher.js';
import { confirmedLevel } from '../../platform/chain/payer-account.js';
import { Clock } from '../../platform/concurrency/clock.js';
import { AppConfig, type NetworkConfig } from '../../platform/config/app-config.js';
import type { SignerKey } from '../../platform/config/signer-settings.js';
import { SUBSCRIBER_REDIS } from '../../platform/redis/redis.module.js';
import type { DigestSigner } from '../../platform/signing/digest-signer.js';
import { signerFor } from '../../platform/signing/signer-for.js';
import { dataSuffixOf } from '../../protocol/payment/builder-code.js';
import { workChannel } from '../ledger/keys.js';
import type { LaneLedger } from '../ledger/lane-store.js';
import {
  LANE_ATTEMPTS,
  LANE_ENDINGS,
  LANE_LEASES,
  LANE_QUEUE,
  REFILL_STORE,
} from '../ledger/ledger.module.js';
import { ProcessRegistry } from '../ledger/process-registry.js';
import { LaneQueries } from '../ledger/queries/lane-queries.js';
import { LaneStatuses } from '../ledger/queries/lane-statuses.js';
import type { RefillStore } from '../ledger/refill-store.js';
import { SettlementConsumers } from '../queue/settlement.processor.js';
import { ChainWorker } from './chain-worker.js';
import { ChainOutcomeResolver } from './following/chain-outcome-resolver.js';
import { ChainReceiptReader } from './following/chain-receipt-reader.js';
import { ParkedFollower } from './following/parked-follower.js';
import { LaneHolder } from './lane-holder.js';
import { type LaneObserver, LOGGED_LANES } from './lane-observer.js';
import { LaneReporter } from './lane-reporter.js';
import { type ChainParts, LaneRunner, type LaneRunnerOptions } from './lane-runner.js';
import type { LaneEvents, TransactionSigner } from './ports.js';
import { ChainPreparationReader } from './preparing/chain-preparation-reader.js';
import { RefillSigner } from './refilling/refill-signer.js';
import { ChainBatchSimulator } from './sending/chain-batch-simulator.js';
import { ChannelsInFlight } from './sending/channels-in-flight.js';
import { FeeOracle } from './sending/fee-oracle.js';
import { MeasuredGasEstimates } from './sending/gas-estimates.js';
import { LaneSigner } from './sending/lane-signer.js';
import { AssetSuspension, BatchSuspension } from './sending/suspensions.js';

/** Parts that all lanes of this process share. */
@Injectable()
export class LanesParts {
  readonly ledger: LaneLedger;

  constructor(
    readonly config: AppConfig,
    readonly chains: ChainRegistry,
    @Inject(LANE_LEASES) leases: LaneLedger['leases'],
    @Inject(LANE_QUEUE) queue: LaneLedger['queue'],
    @Inject(LANE_ATTEMPTS) attempts: LaneLedger['attempts'],
    @Inject(LANE_ENDINGS) endings: LaneLedger['endings'],
    @Inject(REFILL_STORE) readonly refills: RefillStore,
    readonly statuses: LaneStatuses,
    readonly processes: ProcessRegistry,
    readonly laneQueries: LaneQueries,
    @Inject(SUBSCRIBER_REDIS) readonly subscriber: Redis,
    readonly consumers: SettlementConsumers,
    @Inject(LOGGED_LANES) readonly observer: LaneObserver,
    @Inject(Clock) readonly clock: Clock,
  ) {
    this.ledger = { leases, queue, attempts, endings };
  }
}

/** @param own - the differences from the other lanes of its chain. */
type RunnerFor = (
  address: Address,
  signer: TransactionSigner | undefined,
  own?: Partial<Pick<LaneRunnerOptions, 'treasury' | 'budgets' | 'preparationReader'>>,
) => LaneRunner;

/** The lanes of this process, built from the settings. */
export class Lanes {
  readonly #workers: readonly ChainWorker[];
  readonly #holder: LaneHolder;
  readonly #reporter: LaneReporter;
  readonly #signers: DigestSigner[] = [];

  constructor(private readonly options: LanesParts) {
    const { config, chains, ledger, processes, laneQueries, statuses, observer, clock } = options;
    this.#workers = config.networks.flatMap((network) => {
      const chain = chains.get(network.chainId);
      return chain === undefined ? [] : [this.#workerFor(network, chain)];
    });
    this.#holder = new LaneHolder({
      leases: ledger.leases,
      workers: this.#workers,
      processId: processes.processId,
      leaseMs: config.lanes.leaseMs,
      countWorkers: async () =>
        (await processes.live()).filter(({ roles }) => roles.includes('worker')).length,
      observer,
    });
    this.#reporter = new LaneReporter({
      workers: this.#workers,
      switched: (which) => laneQueries.switched(which),
      publish: (status) => statuses.publish(status),
      observer,
      clock,
    });
  }

  /** The lanes this process holds now. */
  get heldLanes(): readonly string[] {
    return this.#holder.heldLanes;
  }

  /** @throws StartError when a key belongs to another address than the settings name. */
  async start(): Promise<void> {
    await Promise.all(this.#signers.map((signer) => signer.start()));
    const { subscriber } = this.options;
    // The only wake-up: the step that made work ready publishes it, also for lanes of the same process. A message may
    // be lost with its connection, but each lane also looks for work every second.
    subscriber.on('message', (channel: string) => {
      this.#workers.find(({ chainId }) => workChannel(chainId) === channel)?.notifyWork();
    });
    const channels = this.#workers.map(({ chainId }) => workChannel(chainId));
    if (channels.length > 0) await subscriber.subscribe(...channels);
    await this.#holder.start();
    await this.#reporter.start();
  }

  /** Stops taking work, lets what is being signed be sent, and gives the lanes to the others. */
  async stop(): Promise<void> {
    this.#reporter.stop();
    await this.#holder.stop();
  }

  #workerFor(network: NetworkConfig, chain: EvmChain): ChainWorker {
    const { config, ledger, laneQueries, observer, clock, consumers, processes } = this.options;
    const { chainId } = chain;
    const heads: HeadWatcher = new HeadWatcher(chain, () =>
      worker.slots.some(({ runner }) => runner.isWaitingForBlocks),
    );
    const jobs = consumers.of(chainId);
    const events: LaneEvents = {
      finished: (ids) => {
        jobs.finished(ids);
      },
      conditionChanged: (lane) => {
        void this.#reporter.reportLane(lane);
      },
    };
    const gasEstimates = new MeasuredGasEstimates(config.maxGasPerSettle);
    const assetSuspensions = new AssetSuspension();
    const batchSuffix = dataSuffixOf(config.builderCode, undefined);
    const parts: ChainParts = {
      ...ledger,
      chain,
      heads,
      fees: new FeeOracle(chain),
      resolver: new ChainOutcomeResolver({
        chain,
        endings: ledger.endings,
        maxGas: config.maxGasPerSettle,
        onSearched: () => {
          worker.notifySearchEnded();
        },
        isOwnSigner: async (address) => {
          const isOwn = (lane: string): boolean => lane === `${chainId}:${address}`;
          if (worker.ownLanes.some(({ runner }) => isOwn(runner.lane))) return true;
          return (await laneQueries.all()).some(({ lane }) => isOwn(lane));
        },
      }),
      gasEstimates,
      suspensions: new BatchSuspension(),
      assetSuspensions,
      // A lane that another process has now keeps old attempts in memory here.
      channels: new ChannelsInFlight(() =>
        worker.slots.flatMap(({ held, runner }) => (held ? runner.state.pending : [])),
      ),
      budgets: {
        laneWei: network.dailyGasBudgetWei,
        payeeWei: network.dailyPayeeGasBudgetWei,
        fundingsWei: network.approvalSponsoring?.dailyWei,
        topUpWei: network.approvalSponsoring?.limits.topUpWei,
      },
      batchSuffix,
      preparationReader: network.approvalSponsoring && new ChainPreparationReader(chain),
      events,
      observer,
      clock,
    };
    const runnerFor: RunnerFor = (address, signer, own) =>
      new LaneRunner({
        ...parts,
        ...own,
        lane: `${chainId}:${address}`,
        address,
        signer,
        reader: new ChainReceiptReader(chain, address),
        simulatorFor: (onDecided) =>
          new ChainBatchSimulator(chain, gasEstimates, assetSuspensions, {
            maxGas: config.maxGasPerSettle,
            walletFactories: config.walletFactories,
            batchSuffix,
            onDecided,
            onError: (error) => {
              observer.failed(`${chainId}:${address}`, 'preflight', error);
            },
          }),
        processId: processes.processId,
        windowMax: config.lanes.windowMax,
        isRetiring: config.lanes.retiringSigners.has(address),
        headMaxAgeMs: config.headMaxAgeMs,
        batchRules: {
          maxItems: config.lanes.batchMaxItems,
          safeAssets: config.lanes.batchSafeAssets,
          optOut: config.lanes.batchOptOut,
        },
      });
    const signers = network.signerKeys.map(
      (key) => new LaneSigner(this.#signerFor(key, chainId), chainId, clock),
    );
    const worker: ChainWorker = new ChainWorker({
      chainId,
      queue: ledger.queue,
      endings: ledger.endings,
      heads,
      jobs,
      parked: new ParkedFollower({ ...parts, chainId }),
      observer,
      lanes: [
        ...signers.map((signer) => runnerFor(signer.address, signer)),
        ...this.#treasuryOf(network, chain, signers, runnerFor),
      ],
      follow: (_, address) => runnerFor(address, undefined),
    });
    return worker;
  }

  /** A lane whose work it is to refill the others of this process's settings. */
  #treasuryOf(
    { treasury: settings }: NetworkConfig,
    chain: EvmChain,
    signers: readonly LaneSigner[],
    runnerFor: RunnerFor,
  ): readonly LaneRunner[] {
    if (settings === undefined) return [];
    const { config, refills, laneQueries, clock } = this.options;
    const { chainId } = chain;
    const { key, ...levels } = settings;
    const { retiringSigners } = config.lanes;
    const lanes = new Set(
      signers.map(({ address }) => address).filter((address) => !retiringSigners.has(address)),
    );
    const rules = { ...levels, lanes };
    const own = new LaneSigner(this.#signerFor(key, chainId), chainId, clock);
    return [
      runnerFor(own.address, new RefillSigner(own, rules), {
        treasury: {
          rules,
          store: refills,
          levels: () => laneQueries.all(),
          look: (address) => confirmedLevel(chain, address, own.address),
        },
        // The daily limit is the budget of its lane.
        budgets: { laneWei: settings.dailyCapWei, payeeWei: undefined },
        preparationReader: undefined,
      }),
    ];
  }

  #signerFor(key: SignerKey, chainId: number): DigestSigner {
    const { config, observer, clock } = this.options;
    const lane = (): string => `${chainId}:${signer.address}`;
    const signer = signerFor(key, {
      config: config.lanes.signers,
      clock,
      observer: {
        signed: (ms) => {
          observer.signed(lane(), ms);
        },
        failed: (failure, code) => {
          observer.notSigned(lane(), failure, code);
        },
      },
    });
    this.#signers.push(signer);
    return signer;
  }
}
