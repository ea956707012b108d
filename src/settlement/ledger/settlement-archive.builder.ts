import type { RecordedSettlement } from '../model/recorded-settlement.js';
import type { SettlementView } from '../model/settlement.js';
import type {
  ArchiveAnswer,
  ArchivedSettlement,
  ArchiveQuery,
  SettlementArchive,
} from './settlement-archive.js';

/** An archive that a test fills and takes away, and that says what it was asked. */
export class FakeArchive implements SettlementArchive {
  isOn = true;
  isAway = false;
  readonly asked: ArchiveQuery['by'][] = [];
  readonly settlements: ArchivedSettlement[] = [];

  /** @param authorizationId - whose claim it is. */
  add(view: SettlementView, authorizationId: string, chainId: number): void {
    const record: RecordedSettlement = {
      ...{ view, details: undefined, authorizationId, blockHash: undefined },
      ...{ isTold: view.sale.state === 'sold', isKept: false },
      times: { claimed: 1_700_000_000_000, included: undefined, finished: undefined },
    };
    this.settlements.push({ ...record, chainId });
  }

  find(query: ArchiveQuery): Promise<ArchiveAnswer> {
    this.asked.push(query.by);
    if (this.isAway) return Promise.resolve({ kind: 'away' });
    const settlements = this.settlements.filter((one) => isFoundBy(one, query));
    return Promise.resolve({ kind: 'found', settlements });
  }
}

function isFoundBy(one: ArchivedSettlement, query: ArchiveQuery): boolean {
  const { view, authorizationId } = one;
  if (query.by === 'key') {
    return [view.sale.soldKeyTag, view.sale.boundKeyTag].includes(query.keyTag);
  }
  if (one.chainId !== query.chainId) return false;
  switch (query.by) {
    case 'id':
      return query.ids.includes(view.id);
    case 'authorization':
      return query.authorizationIds.includes(authorizationId);
    case 'transaction':
      return view.transaction === query.transaction;
    case 'time':
      return true;
  }
}
