import type { BlockHeader } from '../../platform/chain/block.js';
import type { Clock } from '../../platform/concurrency/clock.js';
import { RedisUnavailableError } from '../../protocol/errors.js';

/** A younger settlement may not be archived yet, so it is compared again before it counts as a difference. */
const RECENT_MS = 600_000;
const LOOKS_MOST = 5;
const PAUSE_MS = 2000;
/** Retries while the archive is behind. They are not counted with the others. */
const WAITS_MOST = 30;
const BEHIND_MS = 1000;

/** Limits how often one run compares again. */
export class Rechecks {
  #looks = LOOKS_MOST;
  #waits = WAITS_MOST;

  constructor(
    private readonly clock: Clock,
    /** Age of the backlog of the archive; `undefined` if not known. */
    private readonly archiveLagMs: (() => Promise<number>) | undefined,
  ) {}

  /**
   * Waits for data that may still arrive.
   *
   * @param last - the last block of the run.
   * @returns whether to compare again.
   */
  async wait({ timestamp }: BlockHeader): Promise<boolean> {
    if (this.clock.now() - timestamp * 1000 > RECENT_MS) return false;
    if (this.#waits > 0 && (await this.#isArchiveBehind())) this.#waits -= 1;
    else if (this.#looks > 0) this.#looks -= 1;
    else return false;
    await this.clock.sleep(PAUSE_MS);
    return true;
  }

  async #isArchiveBehind(): Promise<boolean> {
    try {
      return ((await this.archiveLagMs?.()) ?? 0) > BEHIND_MS;
    } catch (error) {
      if (error instanceof RedisUnavailableError) return false;
      throw error;
    }
  }
}
