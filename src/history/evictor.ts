import { Inject, Injectable } from '@nestjs/common';
import { AppConfig } from '../platform/config/app-config.js';
import type { HistoryConfig } from '../platform/config/history-settings.js';
import type {
  EvictableSettlement,
  EvictableSettlements,
  Eviction,
  EvictionDecision,
} from '../settlement/ledger/evictable-settlements.js';
import { EVICTABLE_SETTLEMENTS } from '../settlement/ledger/ledger.module.js';
import type { LedgerAt } from '../settlement/ledger/ledger-scripts.js';
import type { ArchivedSettlement } from '../settlement/ledger/settlement-archive.js';
import type { RecordedSettlement } from '../settlement/model/recorded-settlement.js';
import type { ArchiveReader } from './archive-reader.js';
import { holdsAllOf } from './archived-row.js';
import { type HistoryObserver, LOGGED_HISTORY } from './history-observer.js';
import { PostgresArchiveReader } from './postgres/postgres-archive-reader.js';

interface EvictorConfig {
  readonly history: Pick<HistoryConfig, 'hotMs'> | undefined;
}

/** Settlements per Redis step, which blocks all other commands. */
const TOGETHER = 100;

/**
 * Removes finished settlements from the ledger. Each record is compared with its archived row, and the step that
 * removes it checks that the record has not changed since. So a crash loses nothing, and several processes may evict
 * at once.
 */
@Injectable()
export class Evictor {
  /** How long a finished settlement stays in the ledger after its last change. */
  readonly #hotMs: number;

  constructor(
    @Inject(EVICTABLE_SETTLEMENTS) private readonly evictable: EvictableSettlements,
    @Inject(PostgresArchiveReader) private readonly reader: Pick<ArchiveReader, 'find'>,
    @Inject(LOGGED_HISTORY) private readonly observer: Pick<HistoryObserver, 'evicted'>,
    @Inject(AppConfig) { history }: EvictorConfig,
  ) {
    this.#hotMs = history?.hotMs ?? Infinity;
  }

  /**
   * @returns whether there may be more.
   * @throws RedisUnavailableError, ArchiveError: the remaining settlements stay in the ledger.
   */
  async round(at: LedgerAt): Promise<boolean> {
    const { evictable, observer } = this;
    const read = await evictable.read(at, this.#hotMs, TOGETHER);
    if (read.kind === 'behind') return false;
    if (read.settlements.length === 0) {
      observer.evicted(at.chainId, { evicted: 0, unarchived: 0 });
      return false;
    }
    const archived = await this.#archived(at, read.settlements);
    const evictions = read.settlements.map((one): Eviction => ({
      id: one.id,
      digest: one.digest,
      verdict: verdictOf(one, archived),
    }));
    const evicted = await evictable.evict(at, evictions);
    const unarchived = evictions.filter(({ verdict }) => verdict === 'later').length;
    observer.evicted(at.chainId, { evicted, unarchived });
    return read.settlements.length === TOGETHER;
  }

  async #archived(
    { chainId }: LedgerAt,
    evictable: readonly EvictableSettlement[],
  ): Promise<ReadonlyMap<string, ArchivedSettlement>> {
    const ids = evictable.flatMap(({ id, settlement }) =>
      settlement !== undefined && mayEvict(settlement) ? [id] : [],
    );
    const found = ids.length === 0 ? [] : await this.reader.find({ by: 'id', chainId, ids });
    return new Map(found.map((one) => [one.view.id, one]));
  }
}

function verdictOf(
  { id, settlement }: EvictableSettlement,
  archived: ReadonlyMap<string, ArchivedSettlement>,
): EvictionDecision {
  if (settlement === undefined || !mayEvict(settlement)) return 'stays';
  const known = archived.get(id);
  return known !== undefined && holdsAllOf(known, settlement) ? 'leaves' : 'later';
}

/**
 * Whether a finished and archived settlement may be evicted: its record must not change any more, and chain and
 * archive must show the same facts.
 *
 * - Paid and sold: yes. The chain shows the authorization as used, and the archive knows the buyer. An unsold
 *   settlement stays, because only the ledger can sell it.
 * - Failed, and never acknowledged as a success: yes. Its authorization was used by another transaction, has expired,
 *   or can be claimed again. After an acknowledged success the record stays as sold, because the chain does not show
 *   the sale.
 * - Settled without a transaction: no, because the chain does not show it.
 */
export function mayEvict({ view, isAcknowledged, times }: RecordedSettlement): boolean {
  if (times.finished === undefined || view.transaction === undefined) return false;
  const isSold = view.sale.state === 'sold';
  switch (view.state) {
    case 'finalized':
      return view.isPaid && isSold;
    case 'foreign':
      return view.isPaid ? isSold : !isSold && !isAcknowledged;
    case 'reverted':
    case 'expired':
      return !isSold && !isAcknowledged;
    case 'queued':
    case 'broadcast':
    case 'included':
    case 'withdrawn':
      return false;
  }
}
