import type { BlockHeader } from '../../platform/chain/block.js';
import type { Clock } from '../../platform/concurrency/clock.js';
import { RedisUnavailableError } from '../../protocol/errors.js';

/** A younger settlement may not be archived yet: it is compared again before it counts as a difference. */
const RECENT_MS = 600_000;
const LOOKS_MOST = 5;
const PAUSE_MS = 2000;
/** Looks while the archive is behind, which are not counted among the others. */
const WAITS_MOST = 30;
const BEHIND_MS = 1000;

/** How often one run looks again at what seems wrong. */
export class SecondLooks {
  #looks = LOOKS_MOST;
  #waits = WAITS_MOST;

  constructor(
    private readonly clock: Clock,
    /** The age of the archive's backlog; `undefined` where it is not known. */
    private readonly archiveLagMs: (() => Promise<number>) | undefined,
  ) {}

  /**
   * Waits for what may be on its way.
   *
   * @param last - the last block of the run.
   * @returns whether to look again.
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
