import { describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { HubStats } from '../../hub/hub-stats.js';
import { HubMetrics } from './hub-metrics.js';

describe('hub metrics', () => {
  const build = (trouble: 'storage_slow' | undefined, free: Promise<number | undefined>) => {
    const registry = new Registry();
    const stats = new HubStats();
    const health = { condition: () => Promise.resolve(trouble), freeBytes: () => free };
    return { registry, stats, metrics: new HubMetrics(registry, stats, health) };
  };

  it('says what was done, as counters that grow', async () => {
    const { registry, stats, metrics } = build(undefined, Promise.resolve(1_000_000));
    stats.note('upload', 40);
    stats.noteDamaged();
    stats.noteFreed(7);
    stats.noteSale('sold');
    await metrics.refresh();
    stats.note('upload', 2);
    await metrics.refresh();
    const text = await registry.metrics();
    expect(text).toContain('x402_hub_operations_total{operation="upload"} 2');
    expect(text).toContain('x402_hub_operations_total{operation="remove"} 0');
    expect(text).toContain('x402_hub_payload_bytes_total{operation="upload"} 42');
    expect(text).toContain('x402_hub_sales_total{outcome="sold"} 1');
    expect(text).toContain('x402_hub_sales_total{outcome="pending"} 0');
    expect(text).toContain('x402_hub_damaged_reads_total 1');
    expect(text).toContain('x402_hub_freed_bytes_total 7');
    expect(text).toContain('x402_hub_up 1');
    expect(text).toContain('x402_hub_storage_free_bytes 1000000');
  });

  it('shows no free bytes where they cannot be counted', async () => {
    const { registry, metrics } = build('storage_slow', Promise.reject(new Error('gone')));
    await metrics.refresh();
    const text = await registry.metrics();
    expect(text).toContain('x402_hub_up 0');
    expect(text).not.toMatch(/^x402_hub_storage_free_bytes/m);
  });
});
