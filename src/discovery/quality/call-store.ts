import type { Address } from 'viem';
import type { Listing } from '../../protocol/listing/listing.js';
import type { Call, OtherPayees, Quality } from './quality.js';

/** A settlement, and what was declared with it. */
export interface DeclaredCall {
  readonly settlementId: string;
  readonly listing: Listing;
}

/** @throws ArchiveError. */
export interface CallWriter {
  /**
   * Of settlements that are over; those without an entry are skipped. Linking twice has no further
   * effect.
   */
  link(chainId: number, calls: readonly DeclaredCall[], now: Date): Promise<void>;
}

/** An entry that is to be rated. */
export interface DueEntry {
  readonly id: string;
  readonly payTo: Address;
}

export interface Rating {
  readonly quality: Quality;
  readonly ratedAt: Date;
  /** As it was taken with: an entry that got a call since stays due. */
  readonly takenUntil: Date;
  /** `undefined`: not before its next call. */
  readonly dueAt: Date | undefined;
}

/** What an entry's calls are rated from. @throws ArchiveError from every method. */
export interface CallReader {
  /** Longest due first; no other process gets them before `until`. */
  takeDue(now: Date, until: Date, most: number): Promise<readonly DueEntry[]>;

  /** The newest that were paid or failed, and whether one may still change. */
  calls(
    entry: DueEntry,
    since: Date,
    now: Date,
  ): Promise<{ readonly calls: readonly Call[]; readonly mayChange: boolean }>;

  /** Whom any of these has paid, for whatever. */
  paidBy(payers: readonly Address[], since: Date): Promise<readonly Address[]>;

  /**
   * Other payees from which these payers bought listed resources, if three further payers did so,
   * too. Resources that only a ring of payers buys say nothing about its members.
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

/** Of one entry; its newest. */
export const CALLS_MAX = 10_000;
/** Of whom was paid by some. */
export const FUNDED_MAX = 1000;
/** Other payees of one payer. */
export const OTHER_PAYEES_MAX = 4;
/** Payers that a payee has to have beside those of the entry. */
export const OTHER_PAYERS_MIN = 3;
/** An entry is rated no more often. */
export const PAUSE_MS = 60_000;
/** The outcome of a younger claim may still change. */
export const YOUNG_MS = 3_600_000;
