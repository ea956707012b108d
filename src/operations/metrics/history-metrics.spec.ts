import { describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import type { HistoryState } from '../../history/history-health.js';
import { HistoryGauges, HistoryMetrics } from './history-metrics.js';

const linesOf = async (registry: Registry): Promise<readonly string[]> =>
  (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));

describe('metrics of the history', () => {
  it('count what was archived by what became of it, and failures by their trouble', async () => {
    const registry = new Registry();
    const observer = new HistoryMetrics(registry);
    expect(await linesOf(registry)).toContain('x402_history_failures_total{trouble="fault"} 0');
    observer.archived(56, { written: 3, stale: 1, expired: 0, unreadable: 2, gone: 0 });
    observer.archived(56, { written: 4, stale: 0, expired: 0, unreadable: 0, gone: 0 });
    observer.failed('database_unreachable');
    observer.failed(undefined);
    const lines = await linesOf(registry);
    for (const [outcome, count] of Object.entries({ written: 7, stale: 1, unreadable: 2 })) {
      expect(lines).toContain(
        `x402_history_archived_total{network="eip155:56",outcome="${outcome}"} ${count}`,
      );
    }
    expect(lines).toContain('x402_history_failures_total{trouble="database_unreachable"} 1');
    expect(lines).toContain('x402_history_failures_total{trouble="fault"} 1');
  });

  it('count each look-up by what was asked and what came of it, from zero', async () => {
    const registry = new Registry();
    const observer = new HistoryMetrics(registry);
    expect(await linesOf(registry)).toContain(
      'x402_history_look_ups_total{by="key",outcome="found"} 0',
    );
    for (const outcome of ['found', 'nothing', 'skipped', 'found'] as const) {
      observer.lookedUp('authorization', outcome);
    }
    const lines = await linesOf(registry);
    expect(lines).toContain('x402_history_look_ups_total{by="authorization",outcome="found"} 2');
    expect(lines).toContain('x402_history_look_ups_total{by="authorization",outcome="skipped"} 1');
  });

  it('count what left, and what could not', async () => {
    const registry = new Registry();
    const observer = new HistoryMetrics(registry);
    observer.evicted(56, { evicted: 90, unarchived: 1 });
    observer.evicted(56, { evicted: 10, unarchived: 0 });
    const lines = await linesOf(registry);
    expect(lines).toContain('x402_history_left_total{network="eip155:56",outcome="left"} 100');
    expect(lines).toContain('x402_history_left_total{network="eip155:56",outcome="unarchived"} 1');
  });

  it('count what a lost ledger had left, by how it ended', async () => {
    const registry = new Registry();
    const observer = new HistoryMetrics(registry);
    for (const outcome of ['expired', 'unread', 'expired'] as const) {
      observer.resolvedLost(56, outcome);
    }
    const lines = await linesOf(registry);
    expect(lines).toContain('x402_history_lost_total{network="eip155:56",outcome="expired"} 2');
    expect(lines).toContain('x402_history_lost_total{network="eip155:56",outcome="unread"} 1');
  });

  it('show what waits, and nothing of it when that cannot be read', async () => {
    const registry = new Registry();
    const state: HistoryState = {
      backlogs: [{ network: 'eip155:56', entries: 12, oldestMs: 90_000 }],
      memoryHoursLeft: 31.5,
    };
    let answer: Promise<HistoryState> = Promise.resolve(state);
    const gauges = new HistoryGauges(registry, { state: () => answer });
    await gauges.refresh();
    expect(await linesOf(registry)).toEqual([
      'x402_history_waiting_changes{network="eip155:56"} 12',
      'x402_history_lag_seconds{network="eip155:56"} 90',
      'x402_history_memory_left_hours 31.5',
    ]);
    answer = Promise.resolve({ ...state, memoryHoursLeft: undefined });
    await gauges.refresh();
    expect((await linesOf(registry)).join()).not.toContain('memory_left');
    answer = Promise.reject(new Error('away'));
    await gauges.refresh();
    expect(await linesOf(registry)).toEqual([]);
  });
});
