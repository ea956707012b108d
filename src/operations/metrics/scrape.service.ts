import { Inject, Injectable } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { VERSION } from '../../platform/config/version.js';
import { toOpenMetrics } from './open-metrics.js';
import { Sampled, type Sampler } from './sampler.js';

/** Writes all metrics of this process. */
@Injectable()
export class ScrapeService {
  constructor(
    private readonly registry: Registry,
    @Inject(DiscoveryService) private readonly discovery: Pick<DiscoveryService, 'getProviders'>,
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
    const sampled = this.discovery.getProviders({ metadataKey: Sampled.KEY });
    await Promise.all(sampled.map(({ instance }) => (instance as Sampler).refresh()));
    return this.registry.metrics();
  }

  async openMetrics(): Promise<string> {
    return toOpenMetrics(await this.prometheus());
  }
}
