import { Inject, Injectable } from '@nestjs/common';
import { Counter, Gauge, Registry } from 'prom-client';
import { HubHealth } from '../../hub/hub-health.service.js';
import { type HubOperation, HubStats, type SaleStep } from '../../hub/hub-stats.js';
import { Sampled, type Sampler } from './sampler.js';

const OPERATIONS: readonly HubOperation[] = ['upload', 'download', 'remove'];
const SALES: readonly SaleStep[] = ['offered', 'sold', 'failed', 'pending'];

/** Metrics of the file hub in this process. */
@Injectable()
@Sampled()
export class HubMetrics implements Sampler {
  readonly #operations: Counter<'operation'>;
  readonly #bytes: Counter<'operation'>;
  readonly #sales: Counter<'outcome'>;
  readonly #damaged: Counter;
  readonly #freed: Counter;
  readonly #up: Gauge;
  readonly #free: Gauge;

  constructor(
    registry: Registry,
    @Inject(HubStats)
    private readonly stats: Pick<HubStats, 'of' | 'sales' | 'damaged' | 'freedBytes'>,
    @Inject(HubHealth) private readonly health: Pick<HubHealth, 'condition' | 'freeBytes'>,
  ) {
    const registers = [registry];
    this.#operations = new Counter({
      name: 'x402_hub_operations_total',
      help: 'File hub operations completed.',
      labelNames: ['operation'],
      registers,
    });
    this.#bytes = new Counter({
      name: 'x402_hub_payload_bytes_total',
      help: 'Bytes of payloads stored and served.',
      labelNames: ['operation'],
      registers,
    });
    this.#sales = new Counter({
      name: 'x402_hub_sales_total',
      help: 'Requests for priced files, by result: offered, sold, failed, pending.',
      labelNames: ['outcome'],
      registers,
    });
    this.#damaged = new Counter({
      name: 'x402_hub_damaged_reads_total',
      help: 'Payloads whose bytes did not match their hash when read.',
      registers,
    });
    this.#freed = new Counter({
      name: 'x402_hub_freed_bytes_total',
      help: 'Bytes of unreferenced payloads freed in the storage.',
      registers,
    });
    this.#up = new Gauge({
      name: 'x402_hub_up',
      help: 'Whether the hub can store and find files: 1 or 0.',
      registers,
    });
    this.#free = new Gauge({
      name: 'x402_hub_storage_free_bytes',
      help: "Free bytes of the hub's storage, where the storage has a limit.",
      registers,
    });
  }

  async refresh(): Promise<void> {
    this.#operations.reset();
    this.#bytes.reset();
    for (const operation of OPERATIONS) {
      const { count, bytes } = this.stats.of(operation);
      this.#operations.inc({ operation }, count);
      this.#bytes.inc({ operation }, bytes);
    }
    this.#sales.reset();
    for (const outcome of SALES) this.#sales.inc({ outcome }, this.stats.sales(outcome));
    this.#damaged.reset();
    this.#damaged.inc(this.stats.damaged);
    this.#freed.reset();
    this.#freed.inc(this.stats.freedBytes);
    const [trouble, free] = await Promise.all([
      this.health.condition(),
      this.health.freeBytes().catch(() => undefined),
    ]);
    this.#up.set(trouble === undefined ? 1 : 0);
    this.#free.remove();
    if (free !== undefined) this.#free.set(free);
  }
}
