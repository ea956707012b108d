import { Catch } from '@nestjs/common';
import { ErrorFilter } from '../../platform/http/error.filter.js';

/** Errors of the operators' routes of the hub, in the shape that operators know. */
@Catch()
export class TakedownsErrorFilter extends ErrorFilter {
  protected override readonly unavailable =
    'The storage or the index of the hub is unavailable. Try again.';
}
