import type { PinoLogger } from 'nestjs-pino';
import { ArchiveError } from '../archive.js';
import type { WebhookObserver } from './webhook-observer.js';

/** Deliveries in the log: no line for each, and one for an outage. URLs and answers are not there. */
export function webhookLog(logger: PinoLogger): WebhookObserver {
  let isTold = false;
  return {
    attempted: () => undefined,
    disabled: ({ id, owner }, reason) => {
      logger.warn(
        { event: 'webhook.disabled', webhook: id, owner, reason },
        'a webhook is disabled',
      );
    },
    troubled: (error) => {
      if (isTold) return;
      isTold = true;
      const trouble = error instanceof ArchiveError ? error.trouble : undefined;
      logger.error(
        { trouble, err: error },
        'webhooks are not delivered now; they wait in the database',
      );
    },
    recovered: () => {
      isTold = false;
      logger.info('webhooks are delivered again');
    },
  };
}
