import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { AppConfig } from '../../platform/config/app-config.js';
import { SafeFetch } from '../../platform/fetch/safe-fetch.js';

/** Maximum bytes read of an answer. */
const ANSWER_MAX_BYTES = 4096;

/** Posts to endpoints. */
@Injectable()
export class WebhookFetch extends SafeFetch implements OnModuleDestroy {
  constructor({ webhooks }: AppConfig) {
    super({
      userAgent: 'x402-webhooks',
      maxBytes: ANSWER_MAX_BYTES,
      allow: webhooks?.allow ?? new Set(),
    });
  }

  async onModuleDestroy(): Promise<void> {
    await this.close();
  }
}
