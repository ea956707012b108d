import { CodedError } from '../../platform/http/coded-error.js';
import { ArchiveError } from '../archive.js';

/** Answers of the history that are no data. Each code is in docs/sellers.md. */
export const invalidCursor = (): CodedError =>
  new CodedError(
    400,
    'invalid_cursor',
    'The cursor belongs to another query. Start again without a cursor.',
  );

export const notYours = (): CodedError =>
  new CodedError(403, 'forbidden', 'This API key does not see the settlements of that payee.');

export const historyOff = (): CodedError =>
  new CodedError(501, 'history_off', 'The history is off: `DATABASE_URL` is not set.');

/** @param status - 404 where clients look for a document, 501 where they ask for a receipt. */
export const receiptsOff = (status: 404 | 501): CodedError =>
  new CodedError(status, 'receipts_off', 'Receipts are off: `RECEIPT_KEY` is not set.');

export const historyUnavailable = (cause: unknown): CodedError =>
  new CodedError(
    503,
    'history_unavailable',
    'The history database is unavailable. Try again.',
    cause,
  );

/** An unavailable archive is an error: it must not look like an unknown settlement. Other errors pass through. */
export async function fromArchive<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error;
    throw historyUnavailable(error);
  }
}
