import type { DisabledReason, Webhook } from './webhook.js';

/**
 * - `refused`: to be tried again.
 * - `failed`: that was the last time.
 */
type AttemptOutcome = 'delivered' | 'refused' | 'failed' | 'withheld';

/** Told of the deliveries of this process; for the log and for metrics. */
export interface WebhookObserver {
  attempted(outcome: AttemptOutcome): void;
  disabled(webhook: Pick<Webhook, 'id' | 'owner'>, reason: DisabledReason): void;
  /** Jobs, or what they are to work on, could not be had. */
  troubled(error: unknown): void;
  /** They can be had again. */
  recovered(): void;
}

/** It counts. */
export const WebhookObserver = Symbol('WebhookObserver');
/** It logs, and tells the one that counts. */
export const LOGGED_WEBHOOKS = Symbol('LOGGED_WEBHOOKS');
