import { Catch, type Type } from '@nestjs/common';
import { ErrorFilter } from './error.filter.js';

/** The error filter of routes that answer with this text where Redis, a chain or the database is away. */
export function unavailableFilter(text: string): Type<ErrorFilter> {
  @Catch()
  class UnavailableFilter extends ErrorFilter {
    protected override readonly unavailable = text;
  }
  return UnavailableFilter;
}

export const LOOK_UP_UNAVAILABLE = 'The look-up is unavailable right now. Try again.';

/** Of look-ups: what cannot be asked now is not unknown. */
export const LookUpErrorFilter = unavailableFilter(LOOK_UP_UNAVAILABLE);
