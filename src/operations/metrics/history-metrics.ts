import { Inject, Injectable } from '@nestjs/common';
import { Counter, Gauge, Registry } from 'prom-client';
import { HistoryHealth } from '../../history/history-health.js';
import type {
  Archived,
  EvictionResult,
  HistoryObserver,
  LookUpOutcome,
} from '../../history/history-observer.js';
import { caip2Of } from '../../protocol/payment/network.js';
import type { ArchiveQuery } from '../../settlement/ledger/settlement-archive.js';
import { Sampled, type Sampler } from './sampler.js';

const LOOKED_UP_BY = ['id', 'authorization', 'transaction', 'key', 'time'] as const;

/** Counts the work of this process's archiver, and its look-ups in the archive. */
@Injectable()
export class HistoryMetrics implements HistoryObserver {
  readonly #archived: Counter<'network' | 'outcome'>;
  readonly #failures: Counter<'trouble'>;
  readonly #left: Counter<'network' | 'outcome'>;
  readonly #lookUps: Counter<'by' | 'outcome'>;
  readonly #lost: Counter<'network' | 'outcome'>;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#archived = new Counter({
      name: 'x402_history_archived_total',
      help: 'Settlement changes archived; stale: the archive already had this change or a later one.',
      labelNames: ['network', 'outcome'],
      registers,
    });
    this.#failures = new Counter({
      name: 'x402_history_failures_total',
      help: 'Failed archiving rounds, by database error; fault: an unexpected error.',
      labelNames: ['trouble'],
      registers,
    });
    for (const trouble of ['database_unreachable', 'schema_outdated', 'database_failed', 'fault']) {
      this.#failures.inc({ trouble }, 0);
    }
    this.#left = new Counter({
      name: 'x402_history_left_total',
      help: 'Finished settlements older than HOT_MINUTES; unarchived: kept in Redis, because the archive does not match.',
      labelNames: ['network', 'outcome'],
      registers,
    });
    this.#lookUps = new Counter({
      name: 'x402_history_look_ups_total',
      help: 'Archive queries; skipped: not sent, because the archive failed a moment before.',
      labelNames: ['by', 'outcome'],
      registers,
    });
    this.#lost = new Counter({
      name: 'x402_history_lost_total',
      help: 'Chain searches for settlements that are missing from the ledger, by result.',
      labelNames: ['network', 'outcome'],
      registers,
    });
    for (const by of LOOKED_UP_BY) this.#lookUps.inc({ by, outcome: 'found' }, 0);
  }

  opened(): void {
    // It is logged.
  }

  archived(chainId: number, result: Archived): void {
    const network = caip2Of(chainId);
    for (const outcome of ['written', 'stale', 'expired', 'unreadable', 'gone'] as const) {
      this.#archived.inc({ network, outcome }, result[outcome]);
    }
  }

  failed(condition: Parameters<HistoryObserver['failed']>[0]): void {
    this.#failures.inc({ trouble: condition ?? 'fault' });
  }

  evicted(chainId: number, result: EvictionResult): void {
    const network = caip2Of(chainId);
    this.#left.inc({ network, outcome: 'left' }, result.evicted);
    this.#left.inc({ network, outcome: 'unarchived' }, result.unarchived);
  }

  resolvedLost(...[chainId, outcome]: Parameters<HistoryObserver['resolvedLost']>): void {
    this.#lost.inc({ network: caip2Of(chainId), outcome });
  }

  lookedUp(by: ArchiveQuery['by'], outcome: LookUpOutcome): void {
    this.#lookUps.inc({ by, outcome });
  }
}

/** Gauges of unarchived data, the same from every process that uses the ledger. */
@Injectable()
@Sampled()
export class HistoryGauges implements Sampler {
  readonly #waiting: Gauge<'network'>;
  readonly #lag: Gauge<'network'>;
  readonly #hoursLeft: Gauge;

  constructor(
    registry: Registry,
    @Inject(HistoryHealth) private readonly health: Pick<HistoryHealth, 'state'>,
  ) {
    const registers = [registry];
    this.#waiting = new Gauge({
      name: 'x402_history_waiting_changes',
      help: 'Settlement changes in Redis that are not archived yet.',
      labelNames: ['network'],
      registers,
    });
    this.#lag = new Gauge({
      name: 'x402_history_lag_seconds',
      help: 'Age of the oldest settlement change that is not archived yet.',
      labelNames: ['network'],
      registers,
    });
    this.#hoursLeft = new Gauge({
      name: 'x402_history_memory_left_hours',
      help: 'Time until Redis is full at the present rate, while archiving is behind.',
      registers,
    });
  }

  async refresh(): Promise<void> {
    this.#waiting.reset();
    this.#lag.reset();
    // A reset of a gauge without labels would leave a zero.
    this.#hoursLeft.remove();
    const state = await this.health.state().catch(() => undefined);
    if (state === undefined) return;
    for (const { network, entries, oldestMs } of state.backlogs) {
      this.#waiting.set({ network }, entries);
      this.#lag.set({ network }, oldestMs / 1000);
    }
    if (state.memoryHoursLeft !== undefined) this.#hoursLeft.set(state.memoryHoursLeft);
  }
}
