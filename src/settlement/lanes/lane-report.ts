import type { Address } from 'viem';
import type { Clock } from '../../platform/concurrency/clock.js';
import type { BatchRules } from '../model/grouping.js';
import type { LaneStatus } from '../model/lane-status.js';
import type { InclusionRate } from './following/inclusion-rate.js';
import type { AssetSuspensions, LaneChain } from './ports.js';
import type { RefillSending } from './refilling/refill-sending.js';
import type { GasBalance } from './sending/gas-balance.js';
import type { LaneReadiness } from './sending/lane-readiness.js';
import type { LaneState } from './state/lane-state.js';

interface LaneReportParts {
  /** `<chainId>:<signer>` */
  readonly lane: string;
  readonly chain: Pick<LaneChain, 'chainId'>;
  readonly address: Address;
  readonly processId: string;
  readonly batchRules: Pick<BatchRules, 'maxItems'>;
  readonly assetSuspensions: Pick<AssetSuspensions, 'suspended'>;
  readonly isRetiring: boolean;
  readonly clock: Clock;
  readonly state: LaneState;
  readonly readiness: LaneReadiness;
  readonly gasBalance: GasBalance;
  readonly rate: InclusionRate;
  /** Set for a treasury only. */
  readonly refills: RefillSending | undefined;
}

/** The status that a lane publishes for the other processes. */
export function laneReport(parts: LaneReportParts): LaneStatus {
  const { lane, chain, address, processId, batchRules, clock, state, refills } = parts;
  const { attempts, next } = state;
  const oldest = state.pending[0];
  // Without its key, nothing else identifies a treasury.
  const isTreasury = refills !== undefined || attempts.some(({ attempt }) => attempt.refill);
  const isRetiring = parts.isRetiring || state.isRetired || isTreasury;
  return {
    lane,
    chainId: chain.chainId,
    signer: address,
    processId,
    trouble: state.condition ?? refills?.condition,
    balanceWei: parts.gasBalance.balanceWei.toString(),
    settlementsLeft: parts.readiness.settlementsLeft(),
    inFlight: state.inFlight,
    window: state.windowSize,
    gaps: state.gapsFrom(attempts[0]?.accountNonce ?? next, state.windowSize).length,
    nextNonce: next,
    oldestNonce: attempts[0]?.accountNonce ?? next,
    oldestInFlightMs: oldest === undefined ? 0 : clock.now() - oldest.allocatedAt,
    inclusionMs: parts.rate.inclusionMs,
    gasPriceWei: parts.readiness.gasPriceWei.toString(),
    suspendedAssets: parts.assetSuspensions.suspended,
    // Processes of an older version know no treasury, and never offer a retiring lane.
    ...(isRetiring && { isRetiring: true }),
    ...(state.isShort && { isShort: true }),
    ...(refills !== undefined && { treasury: refills.status }),
    perSecond: parts.rate.perSecond(state.windowSize, batchRules.maxItems),
  };
}
