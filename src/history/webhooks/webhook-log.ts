import type { PinoLogger } from 'nestjs-pino';
import { ArchiveError } from '../archive.js';
import type { WebhookObserver } from './webhook-observer.js';

/** Deliveries in the log: no line for each, and one for an outage. URLs and answers are not there. */
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
    troubled: (error) => {
      if (isLogged) return;
      isLogged = true;
      const trouble = error instanceof ArchiveError ? error.condition : undefined;
      logger.error(
        { trouble, err: error },
        'cannot deliver webhooks; they stay queued in the database',
      );
    },
    recovered: () => {
      isLogged = false;
      logger.info('webhooks are delivered again');
    },
  };
}
