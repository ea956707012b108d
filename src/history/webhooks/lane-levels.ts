import type { Address } from 'viem';

/** Events of a lane, for operators. */
export const LANE_EVENTS = ['lane.low'] as const;

/** The gas balance of a lane, as its process last published it. */
export interface LaneMoney {
  /** `<chainId>:<signer>` */
  readonly lane: string;
  readonly chainId: number;
  readonly signer: Address;
  readonly settlementsLeft: number;
  readonly balanceWei: string;
}

/** A change of the level of a lane. */
export interface LaneChange {
  readonly lane: string;
  readonly isLow: boolean;
  /** The body of the event for operators; `undefined` without an event. */
  readonly body: string | undefined;
}

export const LANE_LEVELS = Symbol('LANE_LEVELS');

/**
 * The lanes that are known to be low.
 *
 * @throws ArchiveError
 */
export interface LaneLevels {
  /**
   * Stores changed levels and their events in one transaction. One process decides at a time, based on the stored
   * levels; another process decides nothing meanwhile.
   *
   * @param decide - receives the stored level of each known lane. Its errors are rethrown.
   */
  change(
    decide: (isLow: ReadonlyMap<string, boolean>) => Promise<readonly LaneChange[]>,
  ): Promise<void>;
}

/** A low lane must recover by this factor above the mark, because gas prices fluctuate. */
const RECOVERED = 1.25;

/**
 * Whether a lane is low.
 *
 * @param mark - number of settlements; a lane that pays for fewer is low.
 * @param wasLow - the stored level; `undefined` for a new lane.
 */
export function isLow(
  { settlementsLeft }: Pick<LaneMoney, 'settlementsLeft'>,
  mark: number,
  wasLow: boolean | undefined,
): boolean {
  return settlementsLeft < (wasLow === true ? mark * RECOVERED : mark);
}
