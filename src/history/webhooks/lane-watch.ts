import type { Address } from 'viem';
import { Rounds } from '../../platform/concurrency/rounds.js';
import { RedisUnavailableError } from '../../protocol/errors.js';
import {
  LANE_SILENT_MS,
  type LaneQueries,
  type PublishedStatus,
} from '../../settlement/ledger/queries/lane-queries.js';
import { laneLowBody } from './event-body.js';
import { isLow, type LaneChange, type LaneLevels, type LaneMoney } from './lane-levels.js';

interface LaneWatchOptions {
  readonly lanes: Pick<LaneQueries, 'all'>;
  readonly levels: LaneLevels;
  /** Settlements; a lane whose gas money pays for fewer is low. */
  readonly mark: number;
  readonly now: () => number;
  readonly observer: LaneWatchObserver;
}

export interface LaneWatchObserver {
  low(money: LaneMoney): void;
  /** Told once of an outage. */
  failed(error: unknown): void;
}

const LOOK_MS = 5000;

/**
 * Finds lanes whose gas money runs low, and has operators told of it. What is low is looked at, and not what
 * has changed: whoever dies leaves to the next one all that it has not kept.
 */
export class LaneWatch {
  readonly #rounds = new Rounds(() => this.round());
  #isFailing = false;

  constructor(private readonly options: LaneWatchOptions) {}

  start(): void {
    this.#rounds.start();
  }

  stop(): Promise<void> {
    return this.#rounds.stop();
  }

  /** Never fails. @returns how long to pause. */
  async round(): Promise<number> {
    const { levels, observer } = this.options;
    try {
      let fallen: readonly LaneMoney[] = [];
      await levels.change(async (known) => {
        const changed = await this.#changed(known);
        fallen = changed.flatMap(({ money, change }) => (change.isLow ? [money] : []));
        return changed.map(({ change }) => change);
      });
      for (const money of fallen) observer.low(money);
      this.#isFailing = false;
    } catch (error) {
      // That Redis is away is told by others.
      if (!this.#isFailing && !(error instanceof RedisUnavailableError)) observer.failed(error);
      this.#isFailing = true;
    }
    return LOOK_MS;
  }

  async #changed(
    known: ReadonlyMap<string, boolean>,
  ): Promise<readonly { readonly money: LaneMoney; readonly change: LaneChange }[]> {
    const { lanes, mark, now } = this.options;
    const at = new Date(now());
    return (await lanes.all()).filter(saysItsMoney).flatMap((status) => {
      const { lane, chainId, settlementsLeft, balanceWei } = status;
      const signer = status.signer as Address;
      const money: LaneMoney = { lane, chainId, signer, settlementsLeft, balanceWei };
      const wasLow = known.get(lane);
      const isLowNow = isLow(money, mark, wasLow);
      if (isLowNow === (wasLow ?? false)) return [];
      const body = isLowNow ? laneLowBody(money, mark, at) : undefined;
      return [{ money, change: { lane, isLow: isLowNow, body } }];
    });
  }
}

/**
 * A lane that has not yet asked for its balance and for what gas costs says that it pays for nothing, and one
 * whose process is gone says nothing any more.
 */
function saysItsMoney({ silentMs, gasPriceWei }: PublishedStatus): boolean {
  return silentMs <= LANE_SILENT_MS && gasPriceWei !== '0';
}
