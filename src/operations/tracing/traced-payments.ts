import { trace } from '@opentelemetry/api';
import type { PaymentObserver } from '../../facilitator/payment-observer.js';
import { caip2Of } from '../../protocol/payment/network.js';

/** Adds the result of a payment to the span of its request. */
export const TRACED_PAYMENTS: PaymentObserver = {
  verified: (subject, reason) => {
    note(subject.chainId, subject.scheme, reason === undefined ? 'valid' : 'invalid', reason);
  },
  settled: (subject, result, reason) => {
    note(subject.chainId, subject.scheme, result, reason);
  },
};

function note(
  chainId: number | undefined,
  scheme: string | undefined,
  result: string,
  reason: string | undefined,
): void {
  trace.getActiveSpan()?.setAttributes({
    'x402.result': result,
    ...(reason !== undefined && { 'x402.reason': reason }),
    ...(scheme !== undefined && { 'x402.scheme': scheme }),
    ...(chainId !== undefined && { 'x402.network': caip2Of(chainId) }),
  });
}
