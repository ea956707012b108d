import { Inject, Injectable } from '@nestjs/common';
import { Gauge, Registry } from 'prom-client';
import { RedisWatch } from '../../platform/redis/redis-watch.js';
import { Sampled, type Sampler } from './sampler.js';

/** Gauges of the ledger's Redis, as this process reaches it. */
@Injectable()
@Sampled()
export class RedisMetrics implements Sampler {
  readonly #up: Gauge;
  readonly #roundTrip: Gauge;
  readonly #warnings: Gauge<'warning'>;
  readonly #used: Gauge;
  readonly #max: Gauge;

  constructor(
    registry: Registry,
    @Inject(RedisWatch) private readonly watch: Pick<RedisWatch, 'roundTripMs' | 'setUp'>,
  ) {
    const registers = [registry];
    this.#up = new Gauge({
      name: 'x402_redis_up',
      help: 'Whether Redis answers this process: 1 or 0.',
      registers,
    });
    this.#roundTrip = new Gauge({
      name: 'x402_redis_round_trip_seconds',
      help: 'Round trip to Redis at this scrape.',
      registers,
    });
    this.#warnings = new Gauge({
      name: 'x402_redis_warning',
      help: 'Unsafe settings of Redis: 1 for each.',
      labelNames: ['warning'],
      registers,
    });
    this.#used = new Gauge({
      name: 'x402_redis_used_memory_bytes',
      help: 'Memory that Redis uses.',
      registers,
    });
    this.#max = new Gauge({
      name: 'x402_redis_max_memory_bytes',
      help: 'Memory that Redis may use; 0 for no limit.',
      registers,
    });
  }

  async refresh(): Promise<void> {
    const [roundTrip, setUp] = await Promise.allSettled([
      this.watch.roundTripMs(),
      this.watch.setUp(),
    ]);
    this.#warnings.reset();
    // A reset of a gauge without labels would leave a zero.
    for (const gauge of [this.#roundTrip, this.#used, this.#max]) gauge.remove();
    this.#up.set(roundTrip.status === 'fulfilled' ? 1 : 0);
    if (roundTrip.status === 'fulfilled') this.#roundTrip.set(roundTrip.value / 1000);
    if (setUp.status === 'rejected') return;
    const { warnings, usedMemoryBytes, maxMemoryBytes } = setUp.value;
    for (const warning of warnings) this.#warnings.set({ warning }, 1);
    if (usedMemoryBytes !== undefined) this.#used.set(usedMemoryBytes);
    if (maxMemoryBytes !== undefined) this.#max.set(maxMemoryBytes);
  }
}
