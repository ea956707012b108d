import { CodedError } from '../../platform/http/coded-error.js';
import { ArchiveError } from '../archive.js';

/** Answers of the history that are no data. Each code is in docs/sellers.md. */
export const invalidCursor = (): CodedError =>
  new CodedError(400, 'invalid_cursor', 'The cursor is not one of this query: begin without one.');

export const notYours = (): CodedError =>
  new CodedError(403, 'forbidden', 'This API key does not see the settlements of that payee.');

export const historyOff = (): CodedError =>
  new CodedError(501, 'history_off', 'This deployment keeps no history of settlements.');

export const historyUnavailable = (cause: unknown): CodedError =>
  new CodedError(503, 'history_unavailable', 'The history cannot be asked now; ask again.', cause);

/** What the archive could not be asked is not unknown. Any other fault stays what it is. */
export async function fromArchive<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error;
    throw historyUnavailable(error);
  }
}
