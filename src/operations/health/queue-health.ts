import { caip2Of } from '../../protocol/payment/network.js';
import type { QueueStatus } from '../../settlement/ledger/queries/lane-queries.js';
import type { LaneHealth } from './lane-health.js';

export interface QueueHealth {
  readonly network: string;
  /** Settlements that wait to be signed, and milliseconds the oldest of them has waited. */
  readonly depth: number;
  readonly oldestMs: number;
  /** Settlements that are not finished. */
  readonly live: number;
  /** Work waits, and no transaction of this network is in flight. */
  readonly code?: 'idle';
}

/** A settlement reaches a lane within milliseconds, or by the sweep after a second. */
const WAIT_MAX_MS = 3000;

export function queueHealth(
  { chainId, depth, oldestMs, live }: QueueStatus,
  lanes: readonly LaneHealth[],
): QueueHealth {
  const network = caip2Of(chainId);
  const isActive = lanes.some(
    (lane) =>
      lane.network === network &&
      lane.treasury === undefined &&
      lane.code !== 'no_owner' &&
      lane.inFlight > 0,
  );
  const isIdle = depth > 0 && oldestMs > WAIT_MAX_MS && !isActive;
  return { network, depth, oldestMs, live, ...(isIdle && { code: 'idle' }) };
}
