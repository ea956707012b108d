import { Catch } from '@nestjs/common';
import { ErrorFilter } from '../../platform/http/error.filter.js';

/** Errors of look-ups: what cannot be asked now is not unknown. */
@Catch()
export class LookUpErrorFilter extends ErrorFilter {
  protected override readonly unavailable = 'This cannot be looked up now; ask again.';
}
