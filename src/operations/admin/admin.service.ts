import { Injectable } from '@nestjs/common';
import { formatEther } from 'viem';
import { StatusService } from '../../facilitator/status/status.service.js';
import { OperatorHistory } from '../../history/operators/operator-history.js';
import { ChainRegistry } from '../../platform/chain/chain-registry.js';
import { AppConfig } from '../../platform/config/app-config.js';
import { VERSION } from '../../platform/config/version.js';
import {
  isSettlementId,
  isTransactionHash,
  readAddress,
} from '../../protocol/payment/wire-values.js';
import { ProcessRegistry } from '../../settlement/ledger/process-registry.js';
import {
  LANE_SILENT_MS,
  LaneQueries,
  type LaneSwitch,
  type PublishedStatus,
  type SwitchedBy,
} from '../../settlement/ledger/queries/lane-queries.js';
import { LaneSwitches } from '../../settlement/ledger/queries/lane-switches.js';
import type { SettlementPage } from '../../settlement/ledger/queries/settlement-listing.js';
import {
  newestPlaceFirst,
  type Settlement,
  SettlementQueries,
  type UnclaimedPart,
  type UnclaimedPlace,
} from '../../settlement/ledger/queries/settlement-queries.js';
import {
  type SettlementStatus,
  statusOf,
} from '../../settlement/ledger/queries/settlement-status.js';
import { UnclaimedList } from '../../settlement/ledger/queries/unclaimed-list.js';
import { type Attempt, newestTransactionOf } from '../../settlement/model/attempt.js';
import { ApiKeyStore } from '../access/api-key-store.js';
import { DeploymentReport } from '../health/deployment-report.js';
import type { UnclaimedHealth } from '../health/unclaimed-health.js';
import { SettleCounts } from '../settles/settle-counts.js';
import type {
  AttemptView,
  HistoryFacts,
  LaneAttemptView,
  LaneView,
  NetworkView,
  Overview,
  QueueView,
} from './dto/admin.response.js';

/** A lane without a holder for this long belongs to a removed key. */
const FORGOTTEN_MS = 24 * 3_600_000;
const ATTEMPTS_SHOWN = 200;
const SETTLEMENTS_SHOWN = 50;

/** As validated by `SettlementSearchDto`. */
interface UnclaimedQuery {
  readonly payTo?: string;
  readonly payer?: string;
  readonly asset?: string;
  readonly network?: string;
  readonly leastAmount?: string;
  readonly cursor?: string;
}

/** Views and actions for a person on call. */
@Injectable()
export class AdminService {
  constructor(
    private readonly chains: ChainRegistry,
    private readonly laneQueries: LaneQueries,
    private readonly settlementQueries: SettlementQueries,
    private readonly switches: LaneSwitches,
    private readonly unclaimedList: UnclaimedList,
    private readonly history: OperatorHistory,
    private readonly processes: ProcessRegistry,
    private readonly status: StatusService,
    private readonly deployment: DeploymentReport,
    private readonly settles: SettleCounts,
    private readonly apiKeys: ApiKeyStore,
    private readonly config: AppConfig,
  ) {}

  /** @throws RedisUnavailableError */
  async overview(): Promise<Overview> {
    const at = Date.now();
    const [processes, lanes, unclaimed, settles24h] = await Promise.all([
      this.processes.live(),
      this.#lanes(at),
      this.deployment.unclaimed(),
      this.settles.totals(),
    ]);
    const networks = await Promise.all(
      this.chains.all.map(async (chain): Promise<NetworkView> => {
        const head = chain.bestHead?.head;
        const { coin, explorerUrl: explorer } = chain.config;
        return {
          network: chain.config.network,
          ...(coin !== undefined && { coin }),
          ...(explorer !== undefined && { explorer }),
          queue: await this.#queue(chain.chainId),
          unclaimed: unclaimedOf(unclaimed, chain.config.network),
          headAgeMs: head === undefined ? null : Math.max(0, at - head.timestamp * 1000),
          endpoints: {
            reachable: chain.endpoints.filter(({ isReachable }) => isReachable === true).length,
            all: chain.endpoints.length,
          },
          lanes: lanes.filter(({ chainId }) => chainId === chain.chainId),
        };
      }),
    );
    return {
      version: VERSION,
      at,
      apiKeys: this.apiKeys.status,
      networks,
      settles24h,
      history: historyFactsOf(this.config),
      processes: processes.map(({ processId, roles, version }) => ({
        process: processId,
        roles,
        version,
      })),
    };
  }

  /**
   * The newest settlements, or those that match a text: a settlement id, a transaction hash, or the address of a payer.
   *
   * @throws RedisUnavailableError
   */
  async settlements(search: string): Promise<readonly SettlementStatus[]> {
    if (isTransactionHash(search)) {
      return this.status.byTransaction(search.toLowerCase() as `0x${string}`);
    }
    if (isSettlementId(search)) {
      const status = await this.status.byId(search);
      return status === undefined ? [] : [status];
    }
    const payer = readAddress(search);
    if (search !== '' && payer === undefined) return [];
    return this.#newest((chainId) =>
      payer === undefined
        ? this.settlementQueries.newest(chainId, SETTLEMENTS_SHOWN)
        : this.settlementQueries.newestOfPayer(chainId, payer, SETTLEMENTS_SHOWN),
    );
  }

  /**
   * Settlements that are paid and not delivered, the newest first.
   *
   * @param query - `cursor` is the `nextCursor` of the previous page.
   * @throws RedisUnavailableError
   */
  async unclaimed(query: UnclaimedQuery): Promise<SettlementPage> {
    const { network } = query;
    const asked = this.chains.all.filter(
      ({ config }) => network === undefined || config.network === network,
    );
    const after = placeOf(query.cursor);
    const filter = {
      payTo: readAddress(query.payTo),
      payer: readAddress(query.payer),
      asset: readAddress(query.asset),
      leastAmount: query.leastAmount === undefined ? undefined : BigInt(query.leastAmount),
    };
    const parts = await Promise.all(
      asked.map(({ chainId }) =>
        this.settlementQueries.newestUnclaimed(chainId, filter, after, SETTLEMENTS_SHOWN),
      ),
    );
    const { shown, next } = pageOf(parts, SETTLEMENTS_SHOWN);
    return {
      settlements: shown.map(statusOf),
      ...(next !== undefined && { nextCursor: `${next.since}.${next.id}` }),
    };
  }

  /**
   * Removes a payment from that list, and from the lists of the history.
   *
   * @returns whether it was on the list, or was closed before.
   * @throws RedisUnavailableError; CodedError where only the history can have it, and does not answer.
   */
  async closeUnclaimed(settlementId: string, by: string): Promise<boolean> {
    if (!isSettlementId(settlementId)) return false;
    const closed = await Promise.all(
      this.chains.all.map(({ chainId }) =>
        this.unclaimedList.close(chainId, settlementId, { at: Date.now(), by }),
      ),
    );
    // A settlement that has left the ledger is on the lists of the history. For one in the ledger the history may lag.
    return closed.find((one) => one !== undefined) ?? this.history.closeUnclaimed(settlementId, by);
  }

  async #newest(
    ask: (chainId: number) => Promise<readonly Settlement[]>,
  ): Promise<readonly SettlementStatus[]> {
    const found = await Promise.all(this.chains.all.map(({ chainId }) => ask(chainId)));
    return found
      .flat()
      .map(statusOf)
      .sort((a, b) => (b.times?.claimed ?? '').localeCompare(a.times?.claimed ?? ''))
      .slice(0, SETTLEMENTS_SHOWN);
  }

  /**
   * Attempts in flight of a settlement, on any lane.
   *
   * @throws RedisUnavailableError
   */
  async attemptsOf(chainId: number, settlementId: string): Promise<readonly LaneAttemptView[]> {
    const now = Date.now();
    const lanes = (await this.laneQueries.all()).filter((one) => one.chainId === chainId);
    const found = await Promise.all(
      lanes.map(async ({ lane }) => {
        const attempts = await this.laneQueries.attempts(chainId, lane);
        return attempts
          .filter(({ settlementIds }) => settlementIds.includes(settlementId))
          .map((attempt): LaneAttemptView => ({ lane, ...viewOf(attempt, now) }));
      }),
    );
    return found.flat();
  }

  /**
   * @returns the lane afterwards; `undefined` when no lane has this name.
   * @throws RedisUnavailableError
   */
  async switchLane(
    lane: string,
    which: LaneSwitch,
    isOn: boolean,
    by: string,
  ): Promise<LaneView | undefined> {
    const known = (await this.#lanes(Date.now())).find((one) => one.lane === lane);
    if (known === undefined) return undefined;
    const switched = { at: Date.now(), by };
    if (isOn) await this.switches.set(which, lane, known.chainId, switched);
    else await this.switches.clear(which, lane, known.chainId, switched);
    return (await this.#lanes(Date.now())).find((one) => one.lane === lane);
  }

  async #lanes(now: number): Promise<readonly LaneView[]> {
    const [lanes, pauses, retirements] = await Promise.all([
      this.laneQueries.all(),
      this.laneQueries.switched('paused'),
      this.laneQueries.switched('retiring'),
    ]);
    const known = lanes
      .filter(({ silentMs }) => silentMs < FORGOTTEN_MS)
      .sort((a, b) => a.lane.localeCompare(b.lane));
    return Promise.all(
      known.map(async (status): Promise<LaneView> => {
        const { balanceWei, processId, ...rest } = status;
        const attempts = await this.laneQueries.attempts(status.chainId, status.lane);
        const paused = pauses.get(status.lane) ?? null;
        return {
          ...rest,
          process: processId,
          trouble: troubleOf(status, paused),
          balance: formatEther(BigInt(balanceWei)),
          paused,
          retiring: retirements.get(status.lane) ?? null,
          attempts: attempts.slice(0, ATTEMPTS_SHOWN).map((attempt) => viewOf(attempt, now)),
        };
      }),
    );
  }

  async #queue(chainId: number): Promise<QueueView> {
    const [queue] = await this.laneQueries.queues([chainId]);
    const { depth = 0, oldestMs = 0, live = 0 } = queue ?? {};
    return { queued: depth, oldestQueuedMs: oldestMs, unfinished: live };
  }
}

/**
 * From the settings of this process. The processes that archive and reconcile have the same ones, or their health says
 * so.
 */
function historyFactsOf({ history, webhooks }: AppConfig): HistoryFacts {
  return {
    enabled: history !== undefined,
    webhooks: webhooks !== undefined,
    reconciles: history?.reconcilesAt !== undefined,
    catalogue: history?.catalogue !== undefined,
  };
}

/** @param cursor - in the form that its DTO requires. */
function placeOf(cursor: string | undefined): UnclaimedPlace | undefined {
  const [since, id] = cursor?.split('.') ?? [];
  return since === undefined || id === undefined ? undefined : { since: Number(since), id };
}

/**
 * One page of the lists of several networks. It ends where the first of them was cut off, because later entries of the
 * others belong to the next page.
 */
export function pageOf(
  parts: readonly UnclaimedPart[],
  most: number,
): { readonly shown: readonly Settlement[]; readonly next: UnclaimedPlace | undefined } {
  const stops = parts.flatMap(({ stoppedAt }) => stoppedAt ?? []).sort(newestPlaceFirst);
  const [stop] = stops;
  const found = parts
    .flatMap((part) => part.found)
    .filter(({ place }) => stop === undefined || newestPlaceFirst(place, stop) <= 0)
    .sort((a, b) => newestPlaceFirst(a.place, b.place));
  const shown = found.slice(0, most);
  const next = found.length > most ? shown.at(-1)?.place : stop;
  return { shown: shown.map(({ settlement }) => settlement), next };
}

function unclaimedOf(all: readonly UnclaimedHealth[], of: string): NetworkView['unclaimed'] {
  const { count = 0, oldestMs = 0, sums = [] } = all.find(({ network }) => network === of) ?? {};
  return { count, oldestMs, sums };
}

/** A pause counts from its write, not from the lane's next report. */
function troubleOf(
  { silentMs, trouble }: PublishedStatus,
  paused: SwitchedBy | null,
): LaneView['trouble'] {
  if (silentMs > LANE_SILENT_MS) return 'silent';
  if (paused !== null) return 'paused';
  return trouble === 'paused' ? null : (trouble ?? null);
}

/** Signed bytes are left out: they are valid until their nonce is used. */
function viewOf(attempt: Attempt, now: number): AttemptView {
  const { accountNonce, kind, settlementIds, transactions } = attempt;
  return {
    accountNonce,
    kind,
    settlementIds,
    transactions: transactions.map(({ hash }) => hash),
    maxFeePerGasWei: newestTransactionOf(attempt).maxFeePerGas.toString(),
    ageMs: Math.max(0, now - (transactions[0]?.signedAt ?? now)),
  };
}
