import { Inject, Injectable, Optional } from '@nestjs/common';
import { CircuitBreaker } from '../platform/concurrency/circuit-breaker.js';
import { Clock } from '../platform/concurrency/clock.js';
import { withTimeout } from '../platform/concurrency/timing.js';
import { POOLS } from '../platform/database/database-pools.js';
import type {
  ArchiveAnswer,
  ArchiveQuery,
  SettlementArchive,
} from '../settlement/ledger/settlement-archive.js';
import type { ArchiveReader } from './archive-reader.js';
import { HistoryObserver, type LookUpOutcome } from './history-observer.js';
import { PostgresArchiveReader } from './postgres/postgres-archive-reader.js';

/** A settle request waits at most this long for a look-up. */
const LOOK_UP_MS = POOLS.lookUps.statementMs;
const FAILURES_MOST = 3;
const PAUSE_MS = 2000;
/** Further look-ups wait in this process, not in the database. */
const AT_ONCE_MOST = 64;

const AWAY: ArchiveAnswer = { kind: 'away' };

/**
 * Look-ups in the archive for settle requests, which must not wait for the database. The time of a look-up and the
 * number of look-ups at once are bounded.
 */
@Injectable()
export class BoundedArchive implements SettlementArchive {
  readonly isOn = true;
  readonly #breaker: CircuitBreaker;
  #running = 0;

  constructor(
    @Inject(PostgresArchiveReader) private readonly reader: ArchiveReader,
    @Inject(HistoryObserver) private readonly observer: Pick<HistoryObserver, 'lookedUp'>,
    @Inject(Clock) clock: Pick<Clock, 'steady'>,
    @Optional() private readonly boundMs: number = LOOK_UP_MS,
  ) {
    this.#breaker = new CircuitBreaker({
      failuresMost: FAILURES_MOST,
      pauseMs: PAUSE_MS,
      steady: () => clock.steady(),
    });
  }

  /** Whether the last look-ups have failed. */
  get isAway(): boolean {
    return this.#breaker.isOpen;
  }

  async find(query: ArchiveQuery): Promise<ArchiveAnswer> {
    const { observer } = this;
    if (this.#running >= AT_ONCE_MOST || !this.#breaker.admits()) {
      observer.lookedUp(query.by, 'skipped');
      return AWAY;
    }
    const answer = await this.#ask(query);
    if (answer.kind === 'away') this.#breaker.failed();
    else this.#breaker.succeeded();
    observer.lookedUp(query.by, outcomeOf(answer));
    return answer;
  }

  async #ask(query: ArchiveQuery): Promise<ArchiveAnswer> {
    const { reader, boundMs } = this;
    this.#running += 1;
    const reading = reader.find(query).finally(() => {
      this.#running -= 1;
    });
    try {
      const found = await withTimeout(boundMs, reading);
      return found.inTime ? { kind: 'found', settlements: found.value } : AWAY;
    } catch {
      // After an error of the database or of a row the result is unknown, and the caller does not fail.
      return AWAY;
    }
  }
}

function outcomeOf(answer: ArchiveAnswer): LookUpOutcome {
  if (answer.kind === 'away') return 'away';
  return answer.settlements.length === 0 ? 'nothing' : 'found';
}
