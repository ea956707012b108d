import type { BlockHeader } from '../../platform/chain/block.js';
import { type EndpointHealth, LAG_MAX_BLOCKS } from '../../platform/chain/endpoint-health.js';
import type { EvmChain } from '../../platform/chain/evm-chain.js';
import type { Ability } from '../../platform/chain/refusals.js';
import type { AppConfig } from '../../platform/config/app-config.js';
import type { ContractName } from '../../protocol/evm/contracts.js';
import type { LaneStatus } from '../../settlement/model/lane-status.js';

/** Why no payment can be settled on a network now. */
type NetworkCondition =
  'wrong_chain' | 'rpc_unreachable' | 'head_stale' | 'no_lane' | NonNullable<LaneStatus['trouble']>;

/** Why an endpoint is not used, or is the last choice. */
type EndpointCondition = 'unreachable' | 'wrong_chain' | 'lagging' | 'cannot_answer';

/** The state of an endpoint by its last probe and later calls. An endpoint is named by its position in `RPC_URLS`. */
interface EndpointReport {
  readonly endpoint: number;
  readonly code?: EndpointCondition;
  /** Blocks behind the best endpoint. */
  readonly lagBlocks: number;
  readonly headAgeMs?: number;
  /** Its abilities; missing before the first probe. */
  readonly hasFinalizedTag?: boolean;
  readonly hasLogs?: boolean;
  readonly acceptsBatches: boolean;
  /** The kinds of questions that it has proved unable to answer; other endpoints decide these. */
  readonly cannotAnswer?: readonly Ability[];
}

/** The facts about one network that need no new read. */
export interface NetworkHealth {
  readonly network: string;
  /** Whether all live processes together can settle on it. */
  readonly canSettle: boolean;
  readonly code?: NetworkCondition;
  readonly lanes: number;
  readonly settlementsLeft: number;
  readonly headAgeMs?: number;
  readonly endpoints: readonly EndpointReport[];
  /** Whether each contract that methods need is deployed; `unknown` until a node was asked. */
  readonly contracts: Readonly<Record<ContractName, boolean | 'unknown'>>;
}

/** A head from a probe may be older by this much. */
const PROBE_INTERVAL_MS = 10_000;

/** @param live - lanes of this network with a live holder. Lanes that are being removed settle nothing new. */
export function networkHealth(
  chain: EvmChain,
  live: readonly LaneStatus[],
  { headMaxAgeMs }: Pick<AppConfig, 'headMaxAgeMs'>,
  now: number,
): NetworkHealth {
  const lanes = live.filter(({ isRetiring }) => isRetiring !== true);
  const newest = chain.newestBlockTime;
  const headAgeMs = newest === undefined ? undefined : Math.max(0, now - newest * 1000);
  const code = conditionOf(chain, lanes, headAgeMs, headMaxAgeMs);
  return {
    network: chain.config.network,
    canSettle: code === undefined,
    ...(code !== undefined && { code }),
    lanes: lanes.length,
    settlementsLeft: lanes.reduce((sum, lane) => sum + lane.settlementsLeft, 0),
    ...(headAgeMs !== undefined && { headAgeMs }),
    endpoints: chain.endpoints.map((health, index) => endpointReport(health, index, now)),
    contracts: {
      permit2: chain.hasContract('permit2') ?? 'unknown',
      permit2Proxy: chain.hasContract('permit2Proxy') ?? 'unknown',
      uptoProxy: chain.hasContract('uptoProxy') ?? 'unknown',
      multicall3: chain.hasContract('multicall3') ?? 'unknown',
      channelEscrow: chain.hasContract('channelEscrow') ?? 'unknown',
      erc3009Collector: chain.hasContract('erc3009Collector') ?? 'unknown',
      permit2Collector: chain.hasContract('permit2Collector') ?? 'unknown',
    },
  };
}

function endpointReport(health: EndpointHealth, index: number, now: number): EndpointReport {
  const { head, lag, hasFinalizedTag, hasLogs, endpoint, refusals } = health;
  const code = endpointCondition(health);
  return {
    endpoint: index,
    ...(code !== undefined && { code }),
    lagBlocks: Number(lag),
    ...(head !== undefined && { headAgeMs: ageMs(head, now) }),
    ...(hasFinalizedTag !== undefined && { hasFinalizedTag }),
    ...(hasLogs !== undefined && { hasLogs }),
    acceptsBatches: endpoint.acceptsBatches,
    ...(refusals.proved.length > 0 && { cannotAnswer: refusals.proved }),
  };
}

function endpointCondition(health: EndpointHealth): EndpointCondition | undefined {
  if (health.isRightChain === false) return 'wrong_chain';
  if (health.isReachable === false) return 'unreachable';
  if (health.lag > LAG_MAX_BLOCKS) return 'lagging';
  return health.refusals.proved.length > 0 ? 'cannot_answer' : undefined;
}

/** Milliseconds since a block's own time; 0 if the block's clock is ahead. */
function ageMs({ timestamp }: BlockHeader, now: number): number {
  return Math.max(0, now - timestamp * 1000);
}

function conditionOf(
  chain: EvmChain,
  lanes: readonly LaneStatus[],
  headAgeMs: number | undefined,
  headMaxAgeMs: number,
): NetworkCondition | undefined {
  if (!chain.isRightChain) return 'wrong_chain';
  if (lanes.length === 0) return 'no_lane';
  if (chain.endpoints.every(({ isReachable }) => isReachable === false)) return 'rpc_unreachable';
  const isStale =
    headMaxAgeMs > 0 && headAgeMs !== undefined && headAgeMs > headMaxAgeMs + PROBE_INTERVAL_MS;
  if (isStale) return 'head_stale';
  const troubles = lanes.map(({ trouble }) => trouble);
  return troubles.every((trouble) => trouble !== undefined) ? troubles[0] : undefined;
}
