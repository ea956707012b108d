import type {
  ArchiveAnswer,
  ArchivedSettlement,
  ArchiveQuery,
  SettlementArchive,
} from '../../../../src/settlement/ledger/settlement-archive.js';
import type { RecordedSettlement } from '../../../../src/settlement/model/recorded-settlement.js';
import type { SettlementView } from '../../../../src/settlement/model/settlement.js';

/** An archive that a test fills and takes away, and that says what it was asked. */
export class FakeArchive implements SettlementArchive {
  isOn = true;
  isAway = false;
  readonly asked: ArchiveQuery['by'][] = [];
  readonly settlements: ArchivedSettlement[] = [];

  /** @param authorizationId - whose claim it is. */
  add(view: SettlementView, authorizationId: string, chainId: number): void {
    const record: RecordedSettlement = {
      view,
      details: undefined,
      authorizationId,
      blockHash: undefined,
      isAcknowledged: view.sale.state === 'sold',
      isPinned: false,
      times: { claimed: 1_700_000_000_000, included: undefined, finished: undefined },
    };
    this.settlements.push({ ...record, chainId });
  }

  find(query: ArchiveQuery): Promise<ArchiveAnswer> {
    this.asked.push(query.by);
    if (this.isAway) return Promise.resolve({ kind: 'away' });
    return Promise.resolve({ kind: 'found', settlements: foundBy(this.settlements, query) });
  }
}

/** What an archive that holds these finds, in its order. */
export function foundBy(
  all: readonly ArchivedSettlement[],
  query: ArchiveQuery,
): readonly ArchivedSettlement[] {
  const found = all.filter((one) => isFoundBy(one, query));
  return query.by === 'time'
    ? found.sort(newestFirst).slice(0, query.most)
    : found.sort((a, b) => weightOf(b) - weightOf(a) || newestFirst(a, b));
}

/** One that was sold counts most, then one that is paid. */
function weightOf({ view: { sale, isPaid } }: ArchivedSettlement): number {
  return (sale.state === 'sold' ? 2 : 0) + (isPaid ? 1 : 0);
}

function newestFirst(a: ArchivedSettlement, b: ArchivedSettlement): number {
  return b.times.claimed - a.times.claimed;
}

function isFoundBy(one: ArchivedSettlement, query: ArchiveQuery): boolean {
  const { view, details, authorizationId } = one;
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
      return details === undefined
        ? view.transaction === query.transaction
        : details.hashes.includes(query.transaction);
    case 'time':
      return query.payer === undefined || details?.payer === query.payer;
  }
}
