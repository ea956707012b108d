import { Inject, Injectable } from '@nestjs/common';
import { ChainRegistry } from '../../platform/chain/chain-registry.js';
import { CachedPromise } from '../../platform/concurrency/cached-promise.js';
import { AppConfig } from '../../platform/config/app-config.js';
import { LaneQueries, type QueueStatus } from '../../settlement/ledger/queries/lane-queries.js';
import { SettlementQueries } from '../../settlement/ledger/queries/settlement-queries.js';
import { type LaneHealth, laneHealths } from './lane-health.js';
import { type NetworkHealth, networkHealth } from './network-health.js';
import { type QueueHealth, queueHealth } from './queue-health.js';
import { type UnclaimedHealth, unclaimedHealth } from './unclaimed-health.js';

/** The ledger counts the queue at most this often, however many probes and scrapes come. */
const QUEUE_KEPT_MS = 1000;
/** The same for undelivered payments, because each of them is read. */
const UNCLAIMED_KEPT_MS = 5000;

/**
 * The state of the whole deployment as this process knows it: from the ledger, where every lane reports, and from the
 * last answers of RPC endpoints. It calls no RPC endpoint.
 */
@Injectable()
export class DeploymentReport {
  readonly #queues: CachedPromise<readonly QueueStatus[]>;
  readonly #unclaimed: CachedPromise<readonly UnclaimedHealth[]>;

  constructor(
    private readonly chains: ChainRegistry,
    private readonly laneQueries: LaneQueries,
    @Inject(SettlementQueries) settlements: Pick<SettlementQueries, 'unclaimed'>,
    @Inject(AppConfig) private readonly config: Pick<AppConfig, 'headMaxAgeMs'>,
  ) {
    const chainIds = chains.all.map(({ chainId }) => chainId);
    this.#queues = new CachedPromise(() => laneQueries.queues(chainIds), QUEUE_KEPT_MS);
    this.#unclaimed = new CachedPromise(async () => {
      const found = chainIds.map((chainId) => settlements.unclaimed(chainId));
      return (await Promise.all(found)).map(unclaimedHealth);
    }, UNCLAIMED_KEPT_MS);
  }

  /** @throws RedisUnavailableError */
  async networks(): Promise<readonly NetworkHealth[]> {
    return Promise.all(
      this.chains.all.map(async (chain) => {
        const lanes = await this.laneQueries.live(chain.chainId);
        return networkHealth(chain, lanes, this.config, Date.now());
      }),
    );
  }

  /** @throws RedisUnavailableError */
  async lanes(): Promise<readonly LaneHealth[]> {
    return laneHealths(await this.laneQueries.all());
  }

  /** @throws RedisUnavailableError */
  async queues(): Promise<readonly QueueHealth[]> {
    const [statuses, lanes] = await Promise.all([this.#queues.get(), this.lanes()]);
    return statuses.map((status) => queueHealth(status, lanes));
  }
  /**
   * Settlements that are paid and not delivered, some seconds old.
   *
   * @throws RedisUnavailableError
   */
  unclaimed(): Promise<readonly UnclaimedHealth[]> {
    return this.#unclaimed.get();
  }
}
