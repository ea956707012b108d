import type { HubService } from '../hub.service.js';
import type { HubListing } from '../index/hub-listing.js';

const DAY_MS = 86_400_000;
/** Files that are looked at together. */
const AT_ONCE = 100;
/** Given up by one sweep: the next one goes on. */
const SWEEP_MOST = 10_000;

/**
 * Removes files that are older than their owners want. A file with a price stays until the price is
 * removed.
 *
 * @param now - milliseconds since the epoch.
 * @returns how many files were given up.
 * @throws StorageUnavailableError, IndexUnavailableError: the next sweep goes on.
 */
export async function sweepOnce(
  hub: Pick<HubService, 'expire'>,
  listing: Pick<HubListing, 'retentions' | 'olderThan'>,
  now: number,
): Promise<number> {
  let count = 0;
  for (const { owner, days } of await listing.retentions()) {
    const before = (now - days * DAY_MS) * 1000;
    let kept = 0;
    for (;;) {
      const page = { offset: kept, length: AT_ONCE };
      const found = await listing.olderThan(owner, before, page);
      for (const object of found) {
        if (object === undefined) {
          kept += 1;
          continue;
        }
        await hub.expire(object);
        count += 1;
        if (count >= SWEEP_MOST) return count;
      }
      if (found.length < AT_ONCE) break;
    }
  }
  return count;
}
