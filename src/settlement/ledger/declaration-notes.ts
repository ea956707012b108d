import type { ClaimRef } from './settlement-store.js';

/** Of one chain, beyond which nothing new is noted: claims, and characters of what they declare. */
export const NOTED_CLAIMS_MAX = 20_000;
export const NOTED_CHARACTERS_MAX = 16_777_216;

/** A declaration, named by its content: the same one is stored once, however many claims came with it. */
export interface NotedContent {
  readonly tag: string;
  readonly content: string;
}

/** A claim that came with a declaration. */
export interface NotedClaim {
  /** Names the note; later ones are greater. */
  readonly entry: string;
  readonly settlementId: string;
  readonly tag: string;
}

/**
 * What claims were declared with, until it is known whether they were paid. Kept beside the ledger: no step of a
 * settlement reads it, and nothing of a payment is in it.
 *
 * @throws RedisUnavailableError from every method when Redis does not answer.
 */
export interface DeclarationNotes {
  /**
   * @param ref - the claim; it may never be made.
   * @returns whether there was room.
   */
  note(ref: ClaimRef, noted: NotedContent): Promise<boolean>;

  /**
   * Oldest first.
   *
   * @param after - an entry.
   */
  read(chainId: number, after: string | undefined, most: number): Promise<readonly NotedClaim[]>;

  /** The contents by tag; those that are gone are left out. */
  contents(chainId: number, tags: readonly string[]): Promise<ReadonlyMap<string, string>>;

  /** Forgets notes, and contents that no other note names. Each may be forgotten again. */
  forget(chainId: number, claims: readonly NotedClaim[]): Promise<void>;
}

/** When a note was made, ms since the epoch. */
export function notedAt({ entry }: NotedClaim): number {
  return Number(entry.slice(0, entry.indexOf('-')));
}
