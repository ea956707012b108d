import { describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import type { WebhookBacklog } from '../../history/webhooks/webhook-health.js';
import { WebhookGauges, WebhookMetrics } from './webhook-metrics.js';

const linesOf = async (registry: Registry): Promise<readonly string[]> =>
  (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));

describe('metrics of webhooks', () => {
  it('count deliveries by their outcome, and webhooks that are disabled', async () => {
    const registry = new Registry();
    const observer = new WebhookMetrics(registry);
    expect(await linesOf(registry)).toContain('x402_webhook_attempts_total{outcome="failed"} 0');
    for (const outcome of ['delivered', 'refused', 'delivered'] as const) {
      observer.attempted(outcome);
    }
    observer.disabled({ id: 'we_one', owner: 'shop' }, 'gone');
    const lines = await linesOf(registry);
    expect(lines).toContain('x402_webhook_attempts_total{outcome="delivered"} 2');
    expect(lines).toContain('x402_webhook_attempts_total{outcome="refused"} 1');
    expect(lines).toContain('x402_webhook_disabled_total{reason="gone"} 1');
    expect(lines.join()).not.toContain('shop');
  });

  it('show what waits, and nothing of it when that cannot be read', async () => {
    const registry = new Registry();
    let answer: Promise<WebhookBacklog> = Promise.resolve({
      waiting: 3,
      oldestSeconds: 90,
      overdueSeconds: 0,
      disabledEndpoints: 1,
    });
    const gauges = new WebhookGauges(registry, { backlog: () => answer });
    await gauges.refresh();
    expect(await linesOf(registry)).toEqual([
      'x402_webhook_waiting 3',
      'x402_webhook_oldest_seconds 90',
      'x402_webhook_overdue_seconds 0',
      'x402_webhooks_disabled 1',
    ]);
    answer = Promise.reject(new Error('away'));
    await gauges.refresh();
    expect(await linesOf(registry)).toEqual([]);
  });
});
