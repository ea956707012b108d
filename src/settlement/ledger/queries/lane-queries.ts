import type { Attempt } from '../../model/attempt.js';
import type { LaneStatus } from '../../model/lane-status.js';

/** A lane that has said nothing for this long is not counted: its process is gone. */
export const LANE_SILENT_MS = 5000;

export interface PublishedStatus extends LaneStatus {
  /** Milliseconds since the lane said so, by the clock of Redis. */
  readonly silentMs: number;
}

/**
 * What an operator can switch: a lane that is paused sends nothing new; one that retires takes only what
 * names its signer, and is offered no more.
 */
export type LaneSwitch = 'paused' | 'retiring';

/** Since when a lane is switched, and by whom. */
export interface SwitchedBy {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Id of the API key. */
  readonly by: string;
}

/** The queue of one chain, as the ledger counts it. */
export interface QueueStatus {
  readonly chainId: number;
  /** Settlements that wait to be signed. */
  readonly depth: number;
  /** Milliseconds the longest-waiting of them has waited; 0 when none does. */
  readonly oldestMs: number;
  /** Settlements that are not finished: those that wait, and those on their way to finality. */
  readonly live: number;
}

/**
 * Everything that is asked about lanes and the work they have before them. It changes nothing, and every
 * answer is bounded by the number of lanes and their windows.
 *
 * @throws RedisUnavailableError from every method.
 */
export interface LaneQueries {
  /** What every lane known last said of itself, silent ones and treasuries too. */
  all(): Promise<readonly PublishedStatus[]>;

  /** The lanes of a chain that settle and whose process spoke within {@link LANE_SILENT_MS}. */
  live(chainId: number): Promise<readonly PublishedStatus[]>;

  /** What operators have switched, by lane, `<chainId>:<signer>`. */
  switched(which: LaneSwitch): Promise<ReadonlyMap<string, SwitchedBy>>;

  /** The queue of each of these chains, in their order. */
  queues(chainIds: readonly number[]): Promise<readonly QueueStatus[]>;

  /**
   * How long settlements waited from their claim until their first transaction was stored, in
   * milliseconds. Those that are finished by now are missing from the result.
   */
  waitsMs(chainId: number, ids: readonly string[]): Promise<readonly number[]>;

  /** What a lane has in flight, by account nonce. */
  attempts(chainId: number, lane: string): Promise<readonly Attempt[]>;
}
