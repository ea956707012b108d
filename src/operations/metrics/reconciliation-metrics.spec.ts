import { describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { ReconciliationGauges } from './reconciliation-metrics.js';

describe('metrics of reconciliation', () => {
  it('show each kind of difference of the newest run, zeros too', async () => {
    const registry = new Registry();
    const differences = new Map([
      ['amount_differs', 2],
      ['not_checked', 0],
    ]);
    const books = [
      { network: 'eip155:56', differences, settlements: 7, finishedAtMs: 1_700_000_000_500 },
    ];
    const gauges = new ReconciliationGauges(registry, { state: () => books });
    const lines = async () => {
      await gauges.refresh();
      return (await registry.metrics()).split('\n').filter((line) => /^[a-z]/.test(line));
    };
    expect(await lines()).toEqual([
      'x402_reconciliation_differences{network="eip155:56",name="amount_differs"} 2',
      'x402_reconciliation_differences{network="eip155:56",name="not_checked"} 0',
      'x402_reconciliation_settlements{network="eip155:56"} 7',
      'x402_reconciliation_finished_timestamp_seconds{network="eip155:56"} 1700000000.5',
    ]);
    books.length = 0;
    expect(await lines()).toEqual([]);
  });
});
