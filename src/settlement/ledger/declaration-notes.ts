import type { ClaimRef } from './settlement-store.js';

/** Limits per chain, beyond which nothing new is noted: number of claims, and characters of their declarations. */
export const NOTED_CLAIMS_MAX = 20_000;
export const NOTED_CHARACTERS_MAX = 16_777_216;

/** A declaration, named by the hash of its content, so that equal declarations of many claims are stored once. */
export interface NotedContent {
  readonly tag: string;
  readonly content: string;
}

/** A claim whose request had a declaration. */
export interface NotedClaim {
  /** Id of the note; later notes have greater ids. */
  readonly entry: string;
  readonly settlementId: string;
  readonly tag: string;
}

/**
 * Declarations of claims, until the outcome of their payments is known. They are stored beside the ledger: no step of
 * a settlement reads them, and they hold nothing of a payment.
 *
 * @throws RedisUnavailableError from every method.
 */
export interface DeclarationNotes {
  /**
   * @param ref - the claim, which may never be made.
   * @returns whether there was room.
   */
  note(ref: ClaimRef, noted: NotedContent): Promise<boolean>;

  /**
   * Oldest first.
   *
   * @param after - the id of a note.
   */
  read(chainId: number, after: string | undefined, most: number): Promise<readonly NotedClaim[]>;

  /** The contents by tag; deleted ones are missing. */
  contents(chainId: number, tags: readonly string[]): Promise<ReadonlyMap<string, string>>;

  /** Deletes notes, and contents that no other note names. Idempotent. */
  forget(chainId: number, claims: readonly NotedClaim[]): Promise<void>;
}

/** The time of a note, ms since the epoch. */
export function notedAt({ entry }: NotedClaim): number {
  return Number(entry.slice(0, entry.indexOf('-')));
}
