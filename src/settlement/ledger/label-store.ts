import type { ClaimRef } from './settlement-store.js';

/** Of one label; what came first goes first. A label is not proof, so that nothing is lost with one. */
export const LABELLED_MAX = 16;

/**
 * Which claims were made under a label: a name that a buyer gave its payment. Kept beside the ledger: no
 * step of a settlement reads it.
 *
 * @throws RedisUnavailableError from every method when Redis does not answer.
 */
export interface LabelStore {
  /**
   * @param tag - of the label within its scope.
   * @param ref - the claim; it may never be made.
   */
  note(tag: string, ref: ClaimRef): Promise<void>;

  /** At most {@link LABELLED_MAX}, newest first. */
  of(tag: string): Promise<readonly ClaimRef[]>;
}
