import { describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import type { CatalogueCounts } from '../../discovery/postgres/postgres-counts.js';
import { CatalogueGauges } from './catalogue-metrics.js';

const linesOf = async (registry: Registry): Promise<readonly string[]> =>
  (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));

describe('metrics of the catalogue', () => {
  it('show what there is, and of what cannot be counted nothing but the lag', async () => {
    const registry = new Registry();
    let counts: Promise<CatalogueCounts> = Promise.resolve({
      listed: new Map([[56, 3]]),
      denials: { payee: 1, host: 0 },
    });
    const lags = new Map([
      [56, 90_000],
      [97, 0],
    ]);
    const gauges = new CatalogueGauges(registry, { counts: () => counts, lags: () => lags });
    await gauges.refresh();
    expect(await linesOf(registry)).toEqual([
      'x402_catalogue_entries{network="eip155:56"} 3',
      'x402_catalogue_entries{network="eip155:97"} 0',
      'x402_catalogue_denials{kind="payee"} 1',
      'x402_catalogue_denials{kind="host"} 0',
      'x402_catalogue_lag_seconds{network="eip155:56"} 90',
      'x402_catalogue_lag_seconds{network="eip155:97"} 0',
    ]);
    counts = Promise.reject(new Error('away'));
    await gauges.refresh();
    expect(await linesOf(registry)).toEqual([
      'x402_catalogue_lag_seconds{network="eip155:56"} 90',
      'x402_catalogue_lag_seconds{network="eip155:97"} 0',
    ]);
  });
});
