import { caip2Of } from '../../protocol/payment/network.js';
import {
  LANE_SILENT_MS,
  type PublishedStatus,
} from '../../settlement/ledger/queries/lane-queries.js';
import type { LaneCondition } from '../../settlement/model/lane-status.js';
import type { TreasuryStatus } from '../../settlement/model/refill.js';

/** A lane as its holder last reported it. */
export interface LaneHealth {
  /** `<chainId>:<signer>` */
  readonly lane: string;
  readonly network: string;
  readonly signer: string;
  /** Why it accepts no work; `no_owner` when no live process holds it. */
  readonly code?: LaneCondition | 'no_owner';
  /** The process that holds it, or held it last. */
  readonly owner: string;
  readonly settlementsLeft: number;
  readonly balanceWei: string;
  readonly inFlight: number;
  readonly window: number;
  readonly gaps: number;
  /** Milliseconds since the oldest transaction in flight was sent. */
  readonly oldestInFlightMs: number;
  /** For the account that refills the lanes. */
  readonly treasury?: TreasuryStatus;
}

/** A lane without a holder for this long is not shown, because its key was removed. */
const REMEMBERED_MS = 3_600_000;

/** The lanes of the deployment, including those that lost their holder within the last hour. */
export function laneHealths(lanes: readonly PublishedStatus[]): readonly LaneHealth[] {
  return lanes
    .filter(({ silentMs }) => silentMs < REMEMBERED_MS)
    .map((lane) => {
      const code = lane.silentMs > LANE_SILENT_MS ? 'no_owner' : lane.trouble;
      const { chainId, signer, processId, settlementsLeft, balanceWei } = lane;
      const { inFlight, window, gaps, oldestInFlightMs } = lane;
      return {
        lane: lane.lane,
        network: caip2Of(chainId),
        signer,
        ...(code !== undefined && { code }),
        owner: processId,
        settlementsLeft,
        balanceWei,
        inFlight,
        window,
        gaps,
        oldestInFlightMs,
        ...(lane.treasury !== undefined && { treasury: lane.treasury }),
      };
    });
}
