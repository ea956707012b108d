import type { SentBefore } from '../lane-store.js';
import { readHashes } from '../record.js';

/** What scripts say of the attempts that carried a settlement before. */
export function readSentBefore(since: string, hashes: string | undefined): SentBefore {
  return { sinceBlock: BigInt(since), hashes: readHashes(hashes) };
}
