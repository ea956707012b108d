import { Inject, Injectable } from '@nestjs/common';
import { Gauge, Registry } from 'prom-client';
import { CatalogueFigures } from '../../discovery/operators/catalogue-figures.js';
import { withTimeout } from '../../platform/concurrency/timing.js';
import { caip2Of } from '../../protocol/payment/network.js';
import { Sampled, type Sampler } from './sampler.js';

/** A scrape waits no longer for these counts. */
const COUNT_TIMEOUT_MS = 2000;

/** Gauges of the catalogue; all except the lag are the same from every process that indexes. */
@Injectable()
@Sampled()
export class CatalogueGauges implements Sampler {
  readonly #entries: Gauge<'network'>;
  readonly #denials: Gauge<'kind'>;
  readonly #lag: Gauge<'network'>;

  constructor(
    registry: Registry,
    @Inject(CatalogueFigures) private readonly figures: Pick<CatalogueFigures, 'counts' | 'lags'>,
  ) {
    const registers = [registry];
    this.#entries = new Gauge({
      name: 'x402_catalogue_entries',
      help: 'Catalogue entries listed; read at most once a minute.',
      labelNames: ['network'],
      registers,
    });
    this.#denials = new Gauge({
      name: 'x402_catalogue_denials',
      help: 'Payees and hosts that operators have denied.',
      labelNames: ['kind'],
      registers,
    });
    this.#lag = new Gauge({
      name: 'x402_catalogue_lag_seconds',
      help: 'Seconds since the queue of declared resources of this process was last empty.',
      labelNames: ['network'],
      registers,
    });
  }

  async refresh(): Promise<void> {
    for (const gauge of [this.#entries, this.#denials, this.#lag]) gauge.reset();
    for (const [chainId, ms] of this.figures.lags()) {
      this.#lag.set({ network: caip2Of(chainId) }, ms / 1000);
    }
    const counted = await withTimeout(COUNT_TIMEOUT_MS, this.figures.counts()).catch(
      () => undefined,
    );
    if (counted?.inTime !== true) return;
    const { listed, denials } = counted.value;
    // An indexed chain without an entry shows 0.
    for (const chainId of new Set([...this.figures.lags().keys(), ...listed.keys()])) {
      this.#entries.set({ network: caip2Of(chainId) }, listed.get(chainId) ?? 0);
    }
    for (const [kind, count] of Object.entries(denials)) this.#denials.set({ kind }, count);
  }
}
