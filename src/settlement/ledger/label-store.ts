import type { ClaimRef } from './settlement-store.js';

/** Most claims per label; the oldest is dropped first. A label proves nothing, so no guarantee depends on it. */
export const LABELLED_MAX = 16;

/**
 * The claims with a label, which is the buyer's identifier of its payment. Labels are stored beside the ledger: no
 * step of a settlement reads them.
 *
 * @throws RedisUnavailableError from every method.
 */
export interface LabelStore {
  /**
   * @param tag - hash of the label within its scope.
   * @param ref - the claim, which may never be made.
   */
  note(tag: string, ref: ClaimRef): Promise<void>;

  /** At most {@link LABELLED_MAX}, newest first. */
  of(tag: string): Promise<readonly ClaimRef[]>;
}
