import { Catch } from '@nestjs/common';
import { ErrorFilter } from '../../platform/http/error.filter.js';

/** Webhooks are kept in PostgreSQL, which may be away. */
@Catch()
export class WebhookErrorFilter extends ErrorFilter {
  protected override readonly unavailable = 'Webhooks cannot be reached now; ask again.';
}
