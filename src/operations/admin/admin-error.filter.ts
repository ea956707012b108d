import type { ServerResponse } from 'node:http';
import { Catch } from '@nestjs/common';
import { historyUnavailable } from '../../history/sellers/history-problems.js';
import { ErrorFilter } from '../../platform/http/error.filter.js';
import { ArchiveUnavailableError } from '../../protocol/errors.js';

/** Errors of the operator page, which needs Redis for everything and the history for some lists. */
@Catch()
export class AdminErrorFilter extends ErrorFilter {
  protected override readonly unavailable = 'Redis is unavailable. Try again.';

  override answer(error: unknown, response: ServerResponse): void {
    super.answer(
      error instanceof ArchiveUnavailableError ? historyUnavailable(error) : error,
      response,
    );
  }
}
