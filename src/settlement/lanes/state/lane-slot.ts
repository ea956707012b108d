import type { HeldLane } from '../../ledger/lane-store.js';
import type { LaneRunner } from '../lane-runner.js';

/** A lane that this process can work on, whether it holds it or not. */
export interface LaneSlot {
  readonly runner: LaneRunner;
  held: HeldLane | undefined;
  running: Promise<void> | undefined;
  /** Rounds in which this lane was free and left to others. */
  passed: number;
  /** The lane is above the share of this process: its lease is released as soon as the lane has stopped. */
  isHandedOver: boolean;
  /** Whether the log has reported its long recovery. */
  isResyncReported: boolean;
}

export function slotFor(runner: LaneRunner): LaneSlot {
  return {
    runner,
    held: undefined,
    running: undefined,
    passed: 0,
    isHandedOver: false,
    isResyncReported: false,
  };
}
