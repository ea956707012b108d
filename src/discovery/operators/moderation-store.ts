import type { Address } from 'viem';
import type { Listing } from '../../protocol/listing/listing.js';

/** What can be denied: all that a payee is paid for, or all that is sold at a host. */
export type DenialKind = 'payee' | 'host';

/** What shall not be listed. */
export interface DenialName {
  readonly kind: DenialKind;
  /** An address, or a host; lower case. */
  readonly value: string;
}

/** Which denials are asked for. */
export interface DenialFilter {
  readonly kind?: DenialKind | undefined;
  readonly value?: string | undefined;
}

export interface Denial extends DenialName {
  /** As the operator gave it. */
  readonly reason: string;
  /** Id of an API key; empty for one that was written into the table by hand. */
  readonly by: string;
  readonly at: Date;
}

/** An entry as operators see it, whether anybody else does or not. */
export interface ModeratedEntry {
  /** 64 hex digits. */
  readonly id: string;
  readonly chainId: number;
  readonly payTo: Address;
  readonly host: string;
  readonly listing: Listing;
  readonly firstPaidAt: Date;
  readonly lastPaidAt: Date;
  /** Others that were paid for the same place, of whom one at most sells there. */
  readonly otherPayees: number;
  /** Of its payee and of its host. */
  readonly denials: readonly Denial[];
}

export interface ModerationFilter {
  /** Words of what it says, names and URLs. */
  readonly text: string | undefined;
  readonly payTo: Address | undefined;
  /** Lower case. */
  readonly host: string | undefined;
}

/** {@link ModerationStore}; missing where there is no catalogue. */
export const ModerationStore = Symbol('ModerationStore');

/**
 * What operators do with the catalogue. Each change and its row in the audit are written in one step.
 *
 * @throws ArchiveError from every method.
 */
export interface ModerationStore {
  /**
   * Those that were paid last come first, those that are denied or not shown any more too.
   *
   * @param after - id of the last entry of the page before.
   * @returns `undefined` where `after` is the id of no entry, `unreadable` where the text has no words, or more
   *   signs than can be read.
   */
  entries(
    filter: ModerationFilter,
    after: string | undefined,
    most: number,
  ): Promise<readonly ModeratedEntry[] | 'unreadable' | undefined>;

  /**
   * Newest first.
   *
   * @param after - the last one of the page before.
   * @returns `undefined` where `after` is not denied.
   */
  denials(
    filter: DenialFilter,
    after: DenialName | undefined,
    most: number,
  ): Promise<readonly Denial[] | undefined>;

  /**
   * Hides what there is and refuses what comes. Denied again it has the new reason.
   *
   * @param most - denials there may be.
   * @returns `unchanged` where it was denied for the same reason, which is no action; `full` where there are so many.
   */
  deny(denial: Denial, most: number): Promise<'denied' | 'unchanged' | 'full'>;

  /** @returns `unchanged` where it was not denied. */
  allow(denial: Denial): Promise<'allowed' | 'unchanged'>;
}
