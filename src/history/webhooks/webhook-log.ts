import type { PinoLogger } from 'nestjs-pino';
import { ArchiveError } from '../archive.js';
import type { WebhookObserver } from './webhook-observer.js';

/** Deliveries in the log: one line for an outage, no line for each delivery. URLs and answers are never logged. */
export function webhookLog(logger: PinoLogger): WebhookObserver {
  let isLogged = false;
  return {
    attempted: () => undefined,
    disabled: ({ id, owner }, reason) => {
      logger.warn(
        { event: 'webhook.disabled', webhook: id, owner, reason },
        'a webhook was disabled',
      );
    },
    failed: (error) => {
      if (isLogged) return;
      isLogged = true;
      const condition = error instanceof ArchiveError ? error.condition : undefined;
      logger.error(
        { trouble: condition, err: error },
        'cannot deliver webhooks; they stay queued in the database',
      );
    },
    recovered: () => {
      isLogged = false;
      logger.info('webhooks are delivered again');
    },
  };
}
