import type { DisabledReason, Webhook } from './webhook.js';

/**
 * - `refused`: will be retried.
 * - `failed`: was the last attempt.
 */
type AttemptOutcome = 'delivered' | 'refused' | 'failed' | 'withheld';

/** Receives events of the deliveries of this process, for the log and for metrics. */
export interface WebhookObserver {
  attempted(outcome: AttemptOutcome): void;
  disabled(webhook: Pick<Webhook, 'id' | 'owner'>, reason: DisabledReason): void;
  /** Jobs or their webhooks could not be read. */
  failed(error: unknown): void;
  /** Deliveries can be read from the database again. */
  recovered(): void;
}

/** The observer that counts. */
export const WebhookObserver = Symbol('WebhookObserver');
/** The observer that logs, and passes events on to the one that counts. */
export const LOGGED_WEBHOOKS = Symbol('LOGGED_WEBHOOKS');
