import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { type Metric, Registry } from 'prom-client';
import { HubStats } from '../../src/hub/hub-stats.js';
import { AssetLabels } from '../../src/operations/metrics/asset-labels.js';
import { CatalogueGauges } from '../../src/operations/metrics/catalogue-metrics.js';
import { DeploymentMetrics } from '../../src/operations/metrics/deployment-metrics.js';
import { ErrorMetrics } from '../../src/operations/metrics/error-metrics.js';
import { HistoryGauges, HistoryMetrics } from '../../src/operations/metrics/history-metrics.js';
import { HubMetrics } from '../../src/operations/metrics/hub-metrics.js';
import { LaneMetrics } from '../../src/operations/metrics/lane-metrics.js';
import { PaymentMetrics } from '../../src/operations/metrics/payment-metrics.js';
import { ReconciliationGauges } from '../../src/operations/metrics/reconciliation-metrics.js';
import { RedisMetrics } from '../../src/operations/metrics/redis-metrics.js';
import { ResponseMetrics } from '../../src/operations/metrics/response-metrics.js';
import { RpcMetrics } from '../../src/operations/metrics/rpc-metrics.js';
import { ScrapeService } from '../../src/operations/metrics/scrape.service.js';
import { WalletGauges, WalletMetrics } from '../../src/operations/metrics/wallet-metrics.js';
import { WebhookGauges, WebhookMetrics } from '../../src/operations/metrics/webhook-metrics.js';
import { tableRows } from './markdown.js';

const unasked = (): Promise<never> => Promise.reject(new Error('nobody samples here'));

/** A registry with every series of a process that has all roles; nothing is sampled here. */
function fullRegistry(): Registry {
  const registry = new Registry();
  const errors = new ErrorMetrics(registry);
  new PaymentMetrics(registry, new AssetLabels([]), errors);
  new LaneMetrics(registry, { waitsMs: unasked }, { error: () => undefined }, errors);
  new RpcMetrics(registry);
  new ResponseMetrics(registry, errors);
  new RedisMetrics(registry, { roundTripMs: unasked, setUp: unasked });
  new DeploymentMetrics(
    registry,
    { networks: unasked, lanes: unasked, queues: unasked, unclaimed: unasked },
    { live: unasked },
  );
  new HubMetrics(registry, new HubStats(), { condition: unasked, freeBytes: unasked });
  new HistoryMetrics(registry);
  new HistoryGauges(registry, { state: unasked });
  new WebhookMetrics(registry);
  new WebhookGauges(registry, { backlog: unasked });
  new CatalogueGauges(registry, { counts: unasked, lags: () => new Map() });
  new ReconciliationGauges(registry, { state: () => [] });
  new WalletMetrics(registry, { wallet: { assets: [] } });
  new WalletGauges(registry, { journalIsWritable: unasked, providerCondition: undefined });
  new ScrapeService(registry, { getProviders: () => [] });
  return registry;
}

interface Series {
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[];
  readonly help: string;
}

/** prom-client keeps more of a metric than its types show. */
function seriesOf(metric: object): Series {
  const { name, type, labelNames, help } = metric as Metric & {
    name: string;
    type: string;
    help: string;
    labelNames: readonly string[];
  };
  return { name, type, labels: labelNames, help };
}

describe('docs/metrics.md', () => {
  it('is the table of series in the code', () => {
    const markdown = readFileSync(new URL('../../docs/metrics.md', import.meta.url), 'utf8');
    const documented = tableRows(markdown).map((cells) => cells.join(' | '));
    const known = fullRegistry()
      .getMetricsAsArray()
      .map(seriesOf)
      .filter(({ name }) => name.startsWith('x402_'))
      .map(({ name, type, labels, help }) =>
        [`\`${name}\``, type, labels.map((label) => `\`${label}\``).join(', '), help].join(' | '),
      );
    expect(documented.sort()).toEqual(known.sort());
  });
});
