import { Inject, Injectable } from '@nestjs/common';
import type { Address } from 'viem';
import {
  type ListQuery,
  PAGE,
  type SettlementListing,
  type SettlementPage,
} from '../../settlement/ledger/queries/settlement-listing.js';
import { statusOf } from '../../settlement/ledger/queries/settlement-status.js';
import { decodeCursor, encodeCursor } from './cursor.js';
import { fromArchive, historyOff, notYours } from './history-problems.js';
import { filterOf } from './settlement-filter.js';
import { ARCHIVE_READERS, type SettlementReader } from './settlement-reader.js';

/** {@link SettlementListing} of the archive. */
@Injectable()
export class SettlementLists implements SettlementListing {
  constructor(
    @Inject(ARCHIVE_READERS)
    private readonly readers: { readonly lists?: Pick<SettlementReader, 'page'> },
  ) {}

  async page(query: ListQuery, payees: ReadonlySet<Address>): Promise<SettlementPage> {
    const { lists } = this.readers;
    if (lists === undefined) throw historyOff();
    const { limit = PAGE, cursor } = query;
    const filter = filterOf(query, payees);
    if (filter === undefined) throw notYours();
    const after = cursor === undefined ? undefined : decodeCursor(cursor, filter);
    // One row beyond the limit shows that there is a next page.
    const found = await fromArchive(lists.page(filter, after, limit + 1));
    const shown = found.slice(0, limit);
    const last = shown.at(-1);
    return {
      settlements: shown.map(({ settlement }) => statusOf(settlement)),
      ...(last !== undefined &&
        found.length > limit && { nextCursor: encodeCursor(last.position, filter) }),
    };
  }
}
