import { Inject, Injectable } from '@nestjs/common';
import { Gauge, Registry } from 'prom-client';
import { ReconciliationHealth } from '../../history/reconciliation/reconciliation-health.js';
import { Sampled, type Sampler } from './sampler.js';

/** Gauges of the newest daily run of each network, from every process that may run it. */
@Injectable()
@Sampled()
export class ReconciliationGauges implements Sampler {
  readonly #differences: Gauge<'network' | 'name'>;
  readonly #settlements: Gauge<'network'>;
  readonly #finished: Gauge<'network'>;

  constructor(
    registry: Registry,
    @Inject(ReconciliationHealth) private readonly health: Pick<ReconciliationHealth, 'state'>,
  ) {
    const registers = [registry];
    this.#differences = new Gauge({
      name: 'x402_reconciliation_differences',
      help: 'Differences between ledger and chain in the newest daily reconciliation.',
      labelNames: ['network', 'name'],
      registers,
    });
    this.#settlements = new Gauge({
      name: 'x402_reconciliation_settlements',
      help: 'Settlements compared in the newest daily reconciliation.',
      labelNames: ['network'],
      registers,
    });
    this.#finished = new Gauge({
      name: 'x402_reconciliation_finished_timestamp_seconds',
      help: 'End time of the newest daily reconciliation.',
      labelNames: ['network'],
      registers,
    });
  }

  refresh(): Promise<void> {
    this.#differences.reset();
    this.#settlements.reset();
    this.#finished.reset();
    for (const { network, differences, settlements, finishedAtMs } of this.health.state()) {
      for (const [name, count] of differences) this.#differences.set({ network, name }, count);
      this.#settlements.set({ network }, settlements);
      this.#finished.set({ network }, finishedAtMs / 1000);
    }
    return Promise.resolve();
  }
}
