import type { Address } from 'viem';

/** Events of a lane, for operators. */
export const LANE_EVENTS = ['lane.low'] as const;

/** The gas money of a lane, as its writer last said. */
export interface LaneMoney {
  /** `<chainId>:<signer>` */
  readonly lane: string;
  readonly chainId: number;
  readonly signer: Address;
  readonly settlementsLeft: number;
  readonly balanceWei: string;
}

/** A lane that was found low, or well again. */
export interface LaneChange {
  readonly lane: string;
  readonly isLow: boolean;
  /** The body of the event for operators; `undefined` for no event. */
  readonly body: string | undefined;
}

export const LANE_LEVELS = Symbol('LANE_LEVELS');

/**
 * Which lanes are known to be low.
 *
 * @throws ArchiveError
 */
export interface LaneLevels {
  /**
   * Keeps what is decided, each change with its event, or nothing of it. One process decides at a time, with
   * what the one before has kept; while another one does, nothing is decided.
   *
   * @param decide - given whether each lane that was ever seen is low. What it throws is thrown.
   */
  change(
    decide: (isLow: ReadonlyMap<string, boolean>) => Promise<readonly LaneChange[]>,
  ): Promise<void>;
}

/** How much more than the mark a lane pays for that is not low any more: the price of gas goes up and down. */
const RECOVERED = 1.25;

/**
 * Whether a lane is low.
 *
 * @param mark - settlements; one that pays for fewer is low.
 * @param wasLow - what was known of it; `undefined` for a lane that was never seen.
 */
export function isLow(
  { settlementsLeft }: Pick<LaneMoney, 'settlementsLeft'>,
  mark: number,
  wasLow: boolean | undefined,
): boolean {
  return settlementsLeft < (wasLow === true ? mark * RECOVERED : mark);
}
