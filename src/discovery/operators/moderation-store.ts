import type { Address } from 'viem';
import type { Listing } from '../../protocol/listing/listing.js';

/** A denial covers all sales of a payee, or all resources of a host. */
export type DenialKind = 'payee' | 'host';

/** A payee or host that is denied. */
export interface DenialName {
  readonly kind: DenialKind;
  /** An address, or a host; lower case. */
  readonly value: string;
}

/** The filter of denials. */
export interface DenialFilter {
  readonly kind?: DenialKind | undefined;
  readonly value?: string | undefined;
}

export interface Denial extends DenialName {
  /** The reason that the operator gave. */
  readonly reason: string;
  /** Id of an API key; empty for a denial that was inserted into the table by hand. */
  readonly by: string;
  readonly at: Date;
}

/** An entry as operators see it, whether or not it is public. */
export interface ModeratedEntry {
  /** 64 hex digits. */
  readonly id: string;
  readonly chainId: number;
  readonly payTo: Address;
  readonly host: string;
  readonly listing: Listing;
  readonly firstPaidAt: Date;
  readonly lastPaidAt: Date;
  /** The number of other payees that were paid for the same resource; at most one of them sells it. */
  readonly otherPayees: number;
  /** Denials of its payee and of its host. */
  readonly denials: readonly Denial[];
}

export interface ModerationFilter {
  /** Words of its texts, names and URLs. */
  readonly text: string | undefined;
  readonly payTo: Address | undefined;
  /** Lower case. */
  readonly host: string | undefined;
}

/** {@link ModerationStore}; missing without a catalogue. */
export const ModerationStore = Symbol('ModerationStore');

/**
 * Changes of operators to the catalogue. Each change and its row in the audit are written in one
 * step.
 *
 * @throws ArchiveError from every method.
 */
export interface ModerationStore {
  /**
   * Latest payment first, including denied and hidden entries.
   *
   * @param after - id of the last entry of the previous page.
   * @returns `undefined` where `after` is not the id of an entry; `unreadable` where the text has no words, or too many
   *   special characters.
   */
  entries(
    filter: ModerationFilter,
    after: string | undefined,
    most: number,
  ): Promise<readonly ModeratedEntry[] | 'unreadable' | undefined>;

  /**
   * Newest first.
   *
   * @param after - the last denial of the previous page.
   * @returns `undefined` where `after` is not denied.
   */
  denials(
    filter: DenialFilter,
    after: DenialName | undefined,
    most: number,
  ): Promise<readonly Denial[] | undefined>;

  /**
   * Hides present and later entries. A repeated denial replaces the reason.
   *
   * @param most - limit of denials.
   * @returns `unchanged` where it was denied for the same reason, so nothing is recorded; `full` at the limit.
   */
  deny(denial: Denial, most: number): Promise<'denied' | 'unchanged' | 'full'>;

  /** @returns `unchanged` where it was not denied. */
  allow(denial: Denial): Promise<'allowed' | 'unchanged'>;
}
