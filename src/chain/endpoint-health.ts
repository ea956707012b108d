import type { BlockHeader } from './block.js';
import type { RpcEndpoint } from './rpc/rpc-endpoint.js';

/** What the last probe and the calls since then have shown about one endpoint. */
export interface EndpointHealth {
  readonly endpoint: RpcEndpoint;
  /** Whether it answered the last probe. */
  isReachable: boolean | undefined;
  /** `false` is proof that it serves another chain. */
  isRightChain: boolean | undefined;
  /** The newest block it has shown, and when (milliseconds of `performance.now`). */
  head: BlockHeader | undefined;
  headSeenAt: number;
  hasFinalizedTag: boolean | undefined;
  hasLogs: boolean | undefined;
  /** Probes in a row that were answered without logs. */
  refusedLogs: number;
  /** Blocks behind the best endpoint, measured in the same probe. */
  lag: bigint;
  /** After a failed call it is the last choice until then (milliseconds of `performance.now`). */
  coolsUntil: number;
  /** The least tip it takes, in wei, learned from its refusals. */
  leastTipWei: bigint;
}

/**
 * Blocks an endpoint may be behind the best one and still be believed when it says no: what a healthy
 * node lags by chance.
 */
export const LAG_MAX_BLOCKS = 2n;

const COOLING_MS = 2000;

export function newEndpointHealth(endpoint: RpcEndpoint): EndpointHealth {
  return {
    endpoint,
    isReachable: undefined,
    isRightChain: undefined,
    head: undefined,
    headSeenAt: 0,
    hasFinalizedTag: undefined,
    hasLogs: undefined,
    refusedLogs: 0,
    lag: 0n,
    coolsUntil: 0,
    leastTipWei: 0n,
  };
}

export function noteFailure(health: EndpointHealth): void {
  health.coolsUntil = performance.now() + COOLING_MS;
}

export function noteHead(health: EndpointHealth, head: BlockHeader): void {
  health.head = head;
  health.headSeenAt = performance.now();
}

/**
 * Endpoints in the order to ask them: the operator's order, those that lag or failed just now last.
 * One on another chain is never asked.
 */
export function byPreference(all: readonly EndpointHealth[]): EndpointHealth[] {
  const now = performance.now();
  const penalty = (health: EndpointHealth): number =>
    (health.lag > LAG_MAX_BLOCKS ? 2 : 0) + (health.coolsUntil > now ? 1 : 0);
  return all
    .filter((health) => health.isRightChain !== false)
    .sort((a, b) => penalty(a) - penalty(b));
}
