import { Catch } from '@nestjs/common';
import { ErrorFilter } from '../../platform/http/error.filter.js';

/** Errors of what sellers ask: what cannot be asked now is not unknown. */
@Catch()
export class HistoryErrorFilter extends ErrorFilter {
  protected override readonly unavailable = 'This cannot be looked up now; ask again.';
}
