import { Catch, type Type } from '@nestjs/common';
import { ErrorFilter } from './error.filter.js';

/** An error filter with this text for the time when Redis, a chain or the database is unavailable. */
export function unavailableFilter(text: string): Type<ErrorFilter> {
  @Catch()
  class UnavailableFilter extends ErrorFilter {
    protected override readonly unavailable = text;
  }
  return UnavailableFilter;
}

export const LOOK_UP_UNAVAILABLE = 'The look-up is unavailable right now. Try again.';

/** For look-ups: unavailable data is not unknown data. */
export const LookUpErrorFilter = unavailableFilter(LOOK_UP_UNAVAILABLE);
