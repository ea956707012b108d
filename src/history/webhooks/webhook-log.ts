import type { PinoLogger } from 'nestjs-pino';
import { ArchiveError } from '../archive.js';
import type { WebhookObserver } from './webhook-observer.js';

/** Deliveries in the log: no line for each, and one for an outage. URLs and answers are not there. */
export function webhookLog(logger: PinoLogger): WebhookObserver {
  let told: string | undefined;
  return {
    attempted: () => undefined,
    disabled: ({ id, owner }, reason) => {
      logger.warn(
        { event: 'webhook.disabled', webhook: id, owner, reason },
        'a webhook is disabled',
      );
    },
    troubled: (error) => {
      const what = error instanceof ArchiveError ? error.trouble : 'jobs';
      if (told === what) return;
      told = what;
      logger.error({ err: error }, 'webhooks are not delivered now; they wait in the database');
    },
    recovered: () => {
      told = undefined;
      logger.info('webhooks are delivered again');
    },
  };
}
