import type { EvmChain } from '../chain/evm-chain.js';
import type { LaneStatus } from '../core/settlement/lane-status.js';

/** Why a network cannot be settled on now. */
export type NetworkTrouble =
  'wrong_chain' | 'rpc_unreachable' | 'head_stale' | 'no_lane' | NonNullable<LaneStatus['trouble']>;

/** What can be said of one network without asking anybody now. */
export interface NetworkHealth {
  readonly network: string;
  /** Whether all live processes together can settle on it. */
  readonly canSettle: boolean;
  readonly code?: NetworkTrouble;
  readonly lanes: number;
  readonly settlementsLeft: number;
  readonly headAgeMs?: number;
}

/** A head seen by a probe may be this much older than it is. */
const PROBE_INTERVAL_MS = 10_000;

/**
 * @param lanes - of this network, those whose process lives.
 * @param headMaxAgeMs - `HEAD_MAX_AGE_MS`; 0 for chains that mine on demand.
 */
export function networkHealth(
  chain: EvmChain,
  lanes: readonly LaneStatus[],
  headMaxAgeMs: number,
  now: number,
): NetworkHealth {
  const head = chain.bestHead?.head;
  const headAgeMs = head === undefined ? undefined : Math.max(0, now - head.timestamp * 1000);
  const code = troubleOf(chain, lanes, headAgeMs, headMaxAgeMs);
  return {
    network: chain.config.network,
    canSettle: code === undefined,
    ...(code !== undefined && { code }),
    lanes: lanes.length,
    settlementsLeft: lanes.reduce((sum, lane) => sum + lane.settlementsLeft, 0),
    ...(headAgeMs !== undefined && { headAgeMs }),
  };
}

function troubleOf(
  chain: EvmChain,
  lanes: readonly LaneStatus[],
  headAgeMs: number | undefined,
  headMaxAgeMs: number,
): NetworkTrouble | undefined {
  if (!chain.isRightChain) return 'wrong_chain';
  if (lanes.length === 0) return 'no_lane';
  if (chain.endpoints.every(({ isReachable }) => isReachable === false)) return 'rpc_unreachable';
  const isStale =
    headMaxAgeMs > 0 && headAgeMs !== undefined && headAgeMs > headMaxAgeMs + PROBE_INTERVAL_MS;
  if (isStale) return 'head_stale';
  const troubles = lanes.map(({ trouble }) => trouble);
  return troubles.every((trouble) => trouble !== undefined) ? troubles[0] : undefined;
}
