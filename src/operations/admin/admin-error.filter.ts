import { Catch } from '@nestjs/common';
import { ErrorFilter } from '../../platform/http/error.filter.js';

/** Errors of the operator page, which needs Redis for all it shows and does. */
@Catch()
export class AdminErrorFilter extends ErrorFilter {
  protected override readonly unavailable = 'Redis does not answer; ask again.';
}
