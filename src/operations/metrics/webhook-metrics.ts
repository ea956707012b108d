import { Inject, Injectable } from '@nestjs/common';
import { Counter, Gauge, Registry } from 'prom-client';
import { WebhookHealth } from '../../history/webhooks/webhook-health.js';
import type { WebhookObserver } from '../../history/webhooks/webhook-observer.js';
import { Sampled, type Sampler } from './sampler.js';

/** Counts the deliveries of this process. */
@Injectable()
export class WebhookMetrics implements WebhookObserver {
  readonly #attempts: Counter<'outcome'>;
  readonly #disabled: Counter<'reason'>;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#attempts = new Counter({
      name: 'x402_webhook_attempts_total',
      help: 'Webhook deliveries by outcome: delivered, refused (will be retried), failed (no more retries), withheld.',
      labelNames: ['outcome'],
      registers,
    });
    this.#disabled = new Counter({
      name: 'x402_webhook_disabled_total',
      help: 'Webhooks that were disabled, by reason: failing for a day, or gone.',
      labelNames: ['reason'],
      registers,
    });
    for (const outcome of ['delivered', 'refused', 'failed', 'withheld'])
      this.#attempts.inc({ outcome }, 0);
    for (const reason of ['failing', 'gone']) this.#disabled.inc({ reason }, 0);
  }

  attempted(outcome: Parameters<WebhookObserver['attempted']>[0]): void {
    this.#attempts.inc({ outcome });
  }

  disabled(...[, reason]: Parameters<WebhookObserver['disabled']>): void {
    this.#disabled.inc({ reason });
  }

  failed(): void {
    // It is logged.
  }

  recovered(): void {
    // It is logged.
  }
}

/** Gauges of pending deliveries, the same from every process that delivers. */
@Injectable()
@Sampled()
export class WebhookGauges implements Sampler {
  readonly #waiting: Gauge;
  readonly #oldest: Gauge;
  readonly #overdue: Gauge;
  readonly #disabled: Gauge;

  constructor(
    registry: Registry,
    @Inject(WebhookHealth) private readonly health: Pick<WebhookHealth, 'backlog'>,
  ) {
    const gauge = (name: string, help: string): Gauge =>
      new Gauge({ name, help, registers: [registry] });
    this.#waiting = gauge(
      'x402_webhook_waiting',
      'Deliveries that wait, of webhooks that are not disabled.',
    );
    this.#oldest = gauge('x402_webhook_oldest_seconds', 'Since the oldest of them happened.');
    this.#overdue = gauge(
      'x402_webhook_overdue_seconds',
      'Since the one that should have been tried first was due.',
    );
    this.#disabled = gauge('x402_webhooks_disabled', 'Webhooks that are disabled.');
  }

  async refresh(): Promise<void> {
    // A reset of a gauge without labels would leave a zero; a value that could not be read is absent.
    for (const one of [this.#waiting, this.#oldest, this.#overdue, this.#disabled]) one.remove();
    const backlog = await this.health.backlog().catch(() => undefined);
    if (backlog === undefined) return;
    this.#waiting.set(backlog.waiting);
    this.#oldest.set(backlog.oldestSeconds);
    this.#overdue.set(backlog.overdueSeconds);
    this.#disabled.set(backlog.disabledEndpoints);
  }
}
