import { CodedError } from '../../platform/http/coded-error.js';
import { ArchiveError, QUERY_CANCELLED } from '../archive.js';
import { fromArchive } from '../sellers/history-problems.js';

export { historyUnavailable } from '../sellers/history-problems.js';

/**
 * As for sellers, but a time-out has an answer of its own, because operators may ask for anything.
 */
export async function withinTime<T>(answer: Promise<T>): Promise<T> {
  try {
    return await fromArchive(answer);
  } catch (error) {
    if (!(error instanceof CodedError && error.cause instanceof ArchiveError)) throw error;
    if (error.cause.sqlState !== QUERY_CANCELLED) throw error;
    throw new CodedError(
      503,
      'history_too_slow',
      'The query took too long. Ask for a shorter time, or for one payee or payer.',
      error.cause,
    );
  }
}
