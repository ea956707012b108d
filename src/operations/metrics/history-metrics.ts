import { Inject, Injectable } from '@nestjs/common';
import { Counter, Gauge, Registry } from 'prom-client';
import { HistoryHealth } from '../../history/history-health.js';
import type { HistoryObserver } from '../../history/history-observer.js';
import { caip2Of } from '../../protocol/payment/network.js';
import { Sampled, type Sampler } from './sampler.js';

const LOOKED_UP_BY = ['id', 'authorization', 'transaction', 'key', 'time'] as const;

/** Counts what the archiver of this process does, and what this process looks up in the archive. */
export function historyMetrics(registry: Registry): HistoryObserver {
  const registers = [registry];
  const archived = new Counter({
    name: 'x402_history_archived_total',
    help: 'Settlement changes archived; stale: the archive already had this change or a later one.',
    labelNames: ['network', 'outcome'],
    registers,
  });
  const failures = new Counter({
    name: 'x402_history_failures_total',
    help: 'Failed archiving rounds, by database error; fault: an unexpected error.',
    labelNames: ['trouble'],
    registers,
  });
  for (const trouble of ['database_unreachable', 'schema_outdated', 'database_failed', 'fault']) {
    failures.inc({ trouble }, 0);
  }
  const left = new Counter({
    name: 'x402_history_left_total',
    help: 'Finished settlements older than HOT_MINUTES; unarchived: kept in Redis, because the archive does not match.',
    labelNames: ['network', 'outcome'],
    registers,
  });
  const lookUps = new Counter({
    name: 'x402_history_look_ups_total',
    help: 'Archive queries; skipped: not sent, because the archive failed a moment before.',
    labelNames: ['by', 'outcome'],
    registers,
  });
  const lost = new Counter({
    name: 'x402_history_lost_total',
    help: 'Chain searches for settlements that are missing from the ledger, by result.',
    labelNames: ['network', 'outcome'],
    registers,
  });
  for (const by of LOOKED_UP_BY) lookUps.inc({ by, outcome: 'found' }, 0);
  return {
    opened: () => undefined,
    archived: (chainId, result) => {
      const network = caip2Of(chainId);
      for (const outcome of ['written', 'stale', 'expired', 'unreadable', 'gone'] as const) {
        archived.inc({ network, outcome }, result[outcome]);
      }
    },
    failed: (trouble) => {
      failures.inc({ trouble: trouble ?? 'fault' });
    },
    left: (chainId, result) => {
      const network = caip2Of(chainId);
      for (const outcome of ['left', 'unarchived'] as const) {
        left.inc({ network, outcome }, result[outcome]);
      }
    },
    resolvedLost: (chainId, outcome) => {
      lost.inc({ network: caip2Of(chainId), outcome });
    },
    lookedUp: (by, outcome) => {
      lookUps.inc({ by, outcome });
    },
  };
}

/** Gauges of what waits to be archived, the same from every process that uses the ledger. */
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
    // Without a label a reset leaves a zero behind.
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
