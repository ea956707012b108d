import { Injectable } from '@nestjs/common';
import { Counter, Histogram, Registry } from 'prom-client';
import type { PaymentObserver, RequestSubject } from '../../facilitator/payment-observer.js';
import { caip2Of } from '../../protocol/payment/network.js';
import { AssetLabels, OTHER } from './asset-labels.js';
import { ErrorMetrics } from './error-metrics.js';

/** Seconds. From a verify with a node nearby to one that waits for a second node. */
const VERIFY_BUCKETS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
/** Seconds. Blocks of BNB Chain come every 0.45 s; `SETTLE_WAIT_MS` is 20 s by default. */
const SETTLE_BUCKETS = [0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 5, 8, 13, 20, 30];

const SUBJECT_LABELS = ['network', 'scheme', 'version', 'asset'] as const;
type SubjectLabel = (typeof SUBJECT_LABELS)[number];

/** Counts and times the answers to verify and settle. */
@Injectable()
export class PaymentMetrics implements PaymentObserver {
  readonly #verifies: Counter<SubjectLabel | 'result' | 'reason'>;
  readonly #verifySeconds: Histogram<'network' | 'result'>;
  readonly #settles: Counter<SubjectLabel | 'action' | 'result' | 'reason'>;
  readonly #settleSeconds: Histogram<'network' | 'result'>;

  constructor(
    registry: Registry,
    private readonly assets: AssetLabels,
    private readonly errors: ErrorMetrics,
  ) {
    const registers = [registry];
    this.#verifies = new Counter({
      name: 'x402_verifies_total',
      help: 'Verify requests answered, by verdict and reason.',
      labelNames: [...SUBJECT_LABELS, 'result', 'reason'],
      registers,
    });
    this.#verifySeconds = new Histogram({
      name: 'x402_verify_duration_seconds',
      help: 'Duration of verify, from the body read to the answer.',
      labelNames: ['network', 'result'],
      buckets: VERIFY_BUCKETS,
      registers,
    });
    this.#settles = new Counter({
      name: 'x402_settles_total',
      help: 'Settle requests answered. Label `action`: set for channels only.',
      labelNames: [...SUBJECT_LABELS, 'action', 'result', 'reason'],
      registers,
    });
    this.#settleSeconds = new Histogram({
      name: 'x402_settle_duration_seconds',
      help: 'Duration of settle, from the first byte to the answer.',
      labelNames: ['network', 'result'],
      buckets: SETTLE_BUCKETS,
      registers,
    });
  }

  verified(...[subject, reason, durationMs]: Parameters<PaymentObserver['verified']>): void {
    const labels = this.#labelsOf(subject);
    const { network } = labels;
    const result = reason === undefined ? 'valid' : 'invalid';
    this.#verifies.inc({ ...labels, result, reason: reason ?? '' });
    this.#verifySeconds.observe({ network, result }, durationMs / 1000);
    if (reason === 'unexpected_verify_error') this.errors.count('verify');
  }

  settled(...[subject, result, reason, durationMs]: Parameters<PaymentObserver['settled']>): void {
    const labels = this.#labelsOf(subject);
    const { network } = labels;
    this.#settles.inc({ ...labels, action: subject.action ?? '', result, reason: reason ?? '' });
    this.#settleSeconds.observe({ network, result }, durationMs / 1000);
    if (reason === 'unexpected_settle_error') this.errors.count('settle');
  }

  #labelsOf(subject: RequestSubject): Record<SubjectLabel, string> {
    return {
      network: subject.chainId === undefined ? OTHER : caip2Of(subject.chainId),
      scheme: subject.scheme ?? OTHER,
      version: subject.x402Version === undefined ? OTHER : String(subject.x402Version),
      asset: this.assets.labelOf(subject.chainId, subject.asset),
    };
  }
}
