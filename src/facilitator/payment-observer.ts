import type { Address } from 'viem';
import type { Reason } from '../protocol/reasons.js';
import type { ChannelAction } from '../protocol/schemes/scheme.js';

/** Labels of a request, as far as it could be read; no value is copied from the request. */
export interface RequestSubject {
  /** `undefined` when the payload names no existing version. */
  readonly x402Version: 1 | 2 | undefined;
  /** `undefined` for a scheme that is not served here. */
  readonly scheme: string | undefined;
  /** `undefined` for a network that is not served here. */
  readonly chainId: number | undefined;
  readonly asset: Address | undefined;
  /** `undefined` for a payment without an action, and for a request that could not be read. */
  readonly action: ChannelAction | undefined;
}

/**
 * How a settle request ended: with success, with a 202, with a hash whose outcome is not known yet, with a failure, or
 * with a closed connection.
 */
export type SettleResult = 'success' | 'accepted' | 'pending' | 'failure' | 'hung_up';

/** Counts every verify and settle that was answered as data; for metrics. */
export interface PaymentObserver {
  /** @param reason - absent when the payment is valid. */
  verified(subject: RequestSubject, reason: Reason | undefined, durationMs: number): void;
  /**
   * @param durationMs - from the first byte of the request.
   * @param caller - id of the API key, where keys are in use.
   */
  settled(
    subject: RequestSubject,
    result: SettleResult,
    reason: Reason | undefined,
    durationMs: number,
    caller: string | undefined,
  ): void;
}

export const PaymentObserver = Symbol('PaymentObserver');
