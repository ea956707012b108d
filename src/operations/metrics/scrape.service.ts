import { collectDefaultMetrics, Gauge, type Registry } from 'prom-client';
import { VERSION } from '../../platform/config/version.js';
import { toOpenMetrics } from './open-metrics.js';

/** A source of gauges, read at each scrape. */
export interface Sampler {
  /** Never fails: what cannot be read now is absent from this scrape. */
  refresh(): Promise<void>;
}

/** Writes out everything this process has counted. */
export class ScrapeService {
  constructor(
    private readonly registry: Registry,
    private readonly samplers: readonly Sampler[],
  ) {
    collectDefaultMetrics({ register: registry });
    new Gauge({
      name: 'x402_build_info',
      help: 'Version of this process; the value is always 1.',
      labelNames: ['version'],
      registers: [registry],
    }).set({ version: VERSION }, 1);
  }

  async prometheus(): Promise<string> {
    await Promise.all(this.samplers.map((sampler) => sampler.refresh()));
    return this.registry.metrics();
  }

  async openMetrics(): Promise<string> {
    return toOpenMetrics(await this.prometheus());
  }
}
