import { Counter, Histogram, type Registry } from 'prom-client';
import type { PaymentObserver, RequestSubject } from '../../facilitator/payment-observer.js';
import { caip2Of } from '../../protocol/payment/network.js';
import { type AssetLabels, OTHER } from './asset-labels.js';
import type { CountError } from './error-metrics.js';

/** Seconds. From a verify that asks a node nearby to one that waits for a second node. */
const VERIFY_BUCKETS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
/** Seconds. Blocks of BNB Chain come every 0.45 s; `SETTLE_WAIT_MS` is 20 s unless set. */
const SETTLE_BUCKETS = [0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 5, 8, 13, 20, 30];

const SUBJECT_LABELS = ['network', 'scheme', 'version', 'asset'] as const;
type SubjectLabels = Record<(typeof SUBJECT_LABELS)[number], string>;

/** Counts and times the answers to verify and settle. */
export function paymentMetrics(
  registry: Registry,
  assets: AssetLabels,
  countError: CountError,
): PaymentObserver {
  const registers = [registry];
  const verifies = new Counter({
    name: 'x402_verifies_total',
    help: 'Verify requests answered, by verdict and reason.',
    labelNames: [...SUBJECT_LABELS, 'result', 'reason'],
    registers,
  });
  const verifySeconds = new Histogram({
    name: 'x402_verify_duration_seconds',
    help: 'Duration of verify, from the body read to the answer.',
    labelNames: ['network', 'result'],
    buckets: VERIFY_BUCKETS,
    registers,
  });
  const settles = new Counter({
    name: 'x402_settles_total',
    help: 'Settle requests answered, by result and reason; several may ask for one settlement.',
    labelNames: [...SUBJECT_LABELS, 'result', 'reason'],
    registers,
  });
  const settleSeconds = new Histogram({
    name: 'x402_settle_duration_seconds',
    help: 'Duration of settle, from the first byte to the answer.',
    labelNames: ['network', 'result'],
    buckets: SETTLE_BUCKETS,
    registers,
  });

  const labelsOf = (subject: RequestSubject): SubjectLabels => ({
    network: subject.chainId === undefined ? OTHER : caip2Of(subject.chainId),
    scheme: subject.scheme ?? OTHER,
    version: subject.x402Version === undefined ? OTHER : String(subject.x402Version),
    asset: assets.labelOf(subject.chainId, subject.asset),
  });

  return {
    verified: (subject, reason, durationMs) => {
      const labels = labelsOf(subject);
      const { network } = labels;
      const result = reason === undefined ? 'valid' : 'invalid';
      verifies.inc({ ...labels, result, reason: reason ?? '' });
      verifySeconds.observe({ network, result }, durationMs / 1000);
      if (reason === 'unexpected_verify_error') countError('verify');
    },
    settled: (subject, result, reason, durationMs) => {
      const labels = labelsOf(subject);
      const { network } = labels;
      settles.inc({ ...labels, result, reason: reason ?? '' });
      settleSeconds.observe({ network, result }, durationMs / 1000);
      if (reason === 'unexpected_settle_error') countError('settle');
    },
  };
}
