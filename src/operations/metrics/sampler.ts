import { DiscoveryService } from '@nestjs/core';

/** A source of gauges, read at each scrape. */
export interface Sampler {
  /** Never fails: a value that cannot be read is absent from this scrape. */
  refresh(): Promise<void>;
}

/** A provider that is a {@link Sampler}: the module that lists it is scraped. */
export const Sampled = DiscoveryService.createDecorator();
