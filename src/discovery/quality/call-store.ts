import type { Address } from 'viem';
import type { Listing } from '../../protocol/listing/listing.js';
import type { Call, OtherPayees, Quality } from './quality.js';

/** A settlement with its declaration. */
export interface DeclaredCall {
  readonly settlementId: string;
  readonly listing: Listing;
}

/** @throws ArchiveError. */
export interface CallWriter {
  /** For ended settlements; those without an entry are skipped. Linking twice has no further effect. */
  link(chainId: number, calls: readonly DeclaredCall[], now: Date): Promise<void>;
}

/** An entry that is due for a rating. */
export interface DueEntry {
  readonly id: string;
  readonly payTo: Address;
}

export interface Rating {
  readonly quality: Quality;
  readonly ratedAt: Date;
  /** Its due time when it was taken: an entry with a new call since stays due. */
  readonly takenUntil: Date;
  /** `undefined`: not before its next call. */
  readonly dueAt: Date | undefined;
}

/** Reads the calls for the rating of an entry. @throws ArchiveError from every method. */
export interface CallReader {
  /** Longest due first; no other process gets them before `until`. */
  takeDue(now: Date, until: Date, most: number): Promise<readonly DueEntry[]>;

  /** The newest paid or failed calls, and whether one may still change. */
  calls(
    entry: DueEntry,
    since: Date,
    now: Date,
  ): Promise<{ readonly calls: readonly Call[]; readonly mayChange: boolean }>;

  /** The accounts that any of these has paid, for anything. */
  paidBy(payers: readonly Address[], since: Date): Promise<readonly Address[]>;

  /**
   * Other payees from which these payers bought listed resources, if three further payers did so too. Resources that
   * only a ring of payers buys say nothing about its members.
   *
   * @param payers - the payers in question.
   * @param circle - payees that do not count.
   * @param all - payers of the entry.
   */
  otherPayees(
    payers: readonly Address[],
    circle: readonly Address[],
    all: readonly Address[],
    since: Date,
  ): Promise<OtherPayees>;

  rate(entry: DueEntry, rating: Rating): Promise<void>;
}

/** Limit for one entry: its newest calls. */
export const CALLS_MAX = 10_000;
/** Limit of accounts that some payees have paid. */
export const FUNDED_MAX = 1000;
/** Limit of other payees for one payer. */
export const OTHER_PAYEES_MAX = 4;
/** Further payers that a payee must have, besides those of the entry. */
export const OTHER_PAYERS_MIN = 3;
/** Minimum time between two ratings of an entry. */
export const PAUSE_MS = 60_000;
/** The outcome of a younger claim may still change. */
export const YOUNG_MS = 3_600_000;
