import { Inject, Injectable } from '@nestjs/common';
import { Counter, Gauge, Registry } from 'prom-client';
import { HistoryHealth } from '../../history/history-health.js';
import type { HistoryObserver } from '../../history/history-observer.js';
import { caip2Of } from '../../protocol/payment/network.js';
import type { Sampler } from './scrape.service.js';

const LOOKED_UP_BY = ['id', 'authorization', 'transaction', 'key', 'time'] as const;

/** Counts what the archiver of this process does, and what this process looks up in the archive. */
export function historyMetrics(registry: Registry): HistoryObserver {
  const registers = [registry];
  const archived = new Counter({
    name: 'x402_history_archived_total',
    help: 'Changes of settlements that were archived; stale: the archive knew it, or a later one.',
    labelNames: ['network', 'outcome'],
    registers,
  });
  const failures = new Counter({
    name: 'x402_history_failures_total',
    help: 'Rounds of archiving that failed, by what was wrong with the database, or fault.',
    labelNames: ['trouble'],
    registers,
  });
  for (const trouble of ['database_unreachable', 'schema_outdated', 'database_failed', 'fault']) {
    failures.inc({ trouble }, 0);
  }
  const left = new Counter({
    name: 'x402_history_left_total',
    help: 'Finished settlements whose HOT_MINUTES were over; unarchived: they stay, for the archive has them otherwise.',
    labelNames: ['network', 'outcome'],
    registers,
  });
  const lookUps = new Counter({
    name: 'x402_history_look_ups_total',
    help: 'Queries of the archive; skipped: it was not asked, because it did not answer a moment ago.',
    labelNames: ['by', 'outcome'],
    registers,
  });
  const lost = new Counter({
    name: 'x402_history_lost_total',
    help: 'Settlements that a lost ledger had left unfinished, each time the chain was asked, by what it said.',
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
    judgedLost: (chainId, outcome) => {
      lost.inc({ network: caip2Of(chainId), outcome });
    },
    lookedUp: (by, outcome) => {
      lookUps.inc({ by, outcome });
    },
  };
}

/** Gauges of what waits to be archived, the same from every process that uses the ledger. */
@Injectable()
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
      help: 'Changes of settlements that wait in Redis to be archived.',
      labelNames: ['network'],
      registers,
    });
    this.#lag = new Gauge({
      name: 'x402_history_lag_seconds',
      help: 'How long the oldest of them has waited.',
      labelNames: ['network'],
      registers,
    });
    this.#hoursLeft = new Gauge({
      name: 'x402_history_memory_left_hours',
      help: 'Until Redis is full at the rate of now, while the archive is behind.',
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
