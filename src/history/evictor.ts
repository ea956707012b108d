import { Inject, Injectable } from '@nestjs/common';
import { AppConfig } from '../platform/config/app-config.js';
import type { HistoryConfig } from '../platform/config/history-settings.js';
import type {
  CooledSettlement,
  CooledSettlements,
  EvictionDecision,
  Parting,
} from '../settlement/ledger/cooled-settlements.js';
import { COOLED_SETTLEMENTS } from '../settlement/ledger/ledger.module.js';
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

/** They are read, and removed, in one step each, which blocks all other commands meanwhile. */
const TOGETHER = 100;

/**
 * Lets finished settlements leave the ledger. Each is compared with its row in the archive, whole, and is
 * removed in a step that sees that it has not changed since. Killed anywhere, it has removed what the
 * archive has, or nothing; any number may run.
 */
@Injectable()
export class Evictor {
  /** How long a finished settlement stays after the last change of it. */
  readonly #hotMs: number;

  constructor(
    @Inject(COOLED_SETTLEMENTS) private readonly cooled: CooledSettlements,
    @Inject(PostgresArchiveReader) private readonly reader: Pick<ArchiveReader, 'find'>,
    @Inject(LOGGED_HISTORY) private readonly observer: Pick<HistoryObserver, 'left'>,
    @Inject(AppConfig) { history }: EvictorConfig,
  ) {
    this.#hotMs = history?.hotMs ?? Infinity;
  }

  /**
   * @returns whether there may be more.
   * @throws RedisUnavailableError, ArchiveError: then what has not left stays.
   */
  async round(at: LedgerAt): Promise<boolean> {
    const { cooled, observer } = this;
    const read = await cooled.read(at, this.#hotMs, TOGETHER);
    if (read.kind === 'behind') return false;
    if (read.cooled.length === 0) {
      observer.left(at.chainId, { left: 0, unarchived: 0 });
      return false;
    }
    const archived = await this.#archived(at, read.cooled);
    const partings = read.cooled.map((one): Parting => ({
      id: one.id,
      digest: one.digest,
      verdict: verdictOf(one, archived),
    }));
    const left = await cooled.part(at, partings);
    const unarchived = partings.filter(({ verdict }) => verdict === 'later').length;
    observer.left(at.chainId, { left, unarchived });
    return read.cooled.length === TOGETHER;
  }

  async #archived(
    { chainId }: LedgerAt,
    cooled: readonly CooledSettlement[],
  ): Promise<ReadonlyMap<string, ArchivedSettlement>> {
    const ids = cooled.flatMap(({ id, settlement }) =>
      settlement !== undefined && mayLeave(settlement) ? [id] : [],
    );
    const found = ids.length === 0 ? [] : await this.reader.find({ by: 'id', chainId, ids });
    return new Map(found.map((one) => [one.view.id, one]));
  }
}

function verdictOf(
  { id, settlement }: CooledSettlement,
  archived: ReadonlyMap<string, ArchivedSettlement>,
): EvictionDecision {
  if (settlement === undefined || !mayLeave(settlement)) return 'stays';
  const known = archived.get(id);
  return known !== undefined && holdsAllOf(known, settlement) ? 'leaves' : 'later';
}

/**
 * Whether a finished settlement may be evicted from the ledger once it is archived: chain and archive must show the same
 * as its record, and nothing of it may change any more.
 *
 * - Paid and sold: the chain shows its authorization as used for ever, and the archive knows the buyer. While it is
 *   unsold it stays, as only the ledger can sell it.
 * - Failed, and never acknowledged as a success: used elsewhere, late, or free to be claimed again. A success that was
 *   acknowledged stays known as sold, for the chain does not show it.
 * - Settled without a transaction: it stays, as the chain knows nothing of it.
 */
export function mayLeave({ view, isAcknowledged, times }: RecordedSettlement): boolean {
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
