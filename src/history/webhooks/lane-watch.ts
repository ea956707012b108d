import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import type { Address } from 'viem';
import { Clock } from '../../platform/concurrency/clock.js';
import { Rounds } from '../../platform/concurrency/rounds.js';
import { AppConfig } from '../../platform/config/app-config.js';
import { AtShutdown } from '../../platform/lifecycle/at-shutdown.js';
import { RedisUnavailableError } from '../../protocol/errors.js';
import {
  LANE_SILENT_MS,
  LaneQueries,
  type PublishedStatus,
} from '../../settlement/ledger/queries/lane-queries.js';
import { ArchiveError } from '../archive.js';
import { HistoryTables } from '../history-tables.js';
import { laneLowBody } from './event-body.js';
import {
  isLow,
  LANE_LEVELS,
  type LaneChange,
  type LaneLevels,
  type LaneMoney,
} from './lane-levels.js';

const LOOK_MS = 5000;

/**
 * Finds lanes that run low on gas, and notifies operators. It compares levels, not changes, so another process can
 * continue after a crash.
 */
@Injectable()
export class LaneWatch implements OnModuleInit {
  readonly #rounds = new Rounds(() => this.round());
  #isFailing = false;

  constructor(
    @Inject(LaneQueries) private readonly lanes: Pick<LaneQueries, 'all'>,
    @Inject(LANE_LEVELS) private readonly levels: LaneLevels,
    private readonly config: AppConfig,
    @Inject(Clock) private readonly clock: Pick<Clock, 'now'>,
    @Inject(HistoryTables) private readonly tables: Pick<HistoryTables, 'whenThere'>,
    @Inject(PinoLogger) private readonly logger: Pick<PinoLogger, 'warn' | 'error'>,
  ) {}

  onModuleInit(): void {
    this.tables.whenThere(() => {
      this.#rounds.start();
    });
  }

  @AtShutdown('background', 'lane watch')
  stop(): Promise<void> {
    return this.#rounds.stop();
  }

  /**
   * Never fails.
   *
   * @returns milliseconds to pause.
   */
  async round(): Promise<number> {
    const { levels, logger } = this;
    try {
      let fallen: readonly LaneMoney[] = [];
      await levels.change(async (known) => {
        const changed = await this.#changed(known);
        fallen = changed.flatMap(({ money, change }) => (change.isLow ? [money] : []));
        return changed.map(({ change }) => change);
      });
      for (const { lane, settlementsLeft } of fallen)
        logger.warn({ event: 'lane.low', lane, settlementsLeft }, 'a lane is low on gas');
      this.#isFailing = false;
    } catch (error) {
      // The outage of Redis is logged by another part.
      if (!this.#isFailing && !(error instanceof RedisUnavailableError)) {
        const condition = error instanceof ArchiveError ? error.condition : undefined;
        logger.error(
          { trouble: condition, err: error },
          'cannot queue the webhook lane.low of a lane',
        );
      }
      this.#isFailing = true;
    }
    return LOOK_MS;
  }

  async #changed(
    known: ReadonlyMap<string, boolean>,
  ): Promise<readonly { readonly money: LaneMoney; readonly change: LaneChange }[]> {
    const { lanes, clock } = this;
    const mark = this.config.webhooks?.laneLowSettlements ?? 0;
    const at = new Date(clock.now());
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
 * A lane that has not read its balance and the gas price yet reports 0, and a lane without a process reports nothing
 * new.
 */
function saysItsMoney({ silentMs, gasPriceWei }: PublishedStatus): boolean {
  return silentMs <= LANE_SILENT_MS && gasPriceWei !== '0';
}
