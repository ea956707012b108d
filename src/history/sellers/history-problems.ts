import { CodedError } from '../../platform/http/coded-error.js';
import { archiveAnswer } from '../archive.js';

/** Errors of the history. Each code is in docs/sellers.md. */
export const invalidCursor = (): CodedError =>
  new CodedError(
    400,
    'invalid_cursor',
    'The cursor belongs to another query. Start again without a cursor.',
    { place: { path: 'cursor', expected: 'the cursor of an earlier answer to the same query' } },
  );

export const notYours = (): CodedError =>
  new CodedError(403, 'forbidden', 'This API key may not list the settlements of this payee.');

export const historyOff = (): CodedError =>
  new CodedError(501, 'history_off', 'The history is off: `DATABASE_URL` is not set.');

/** @param status - 404 for the document of keys, 501 for a receipt. */
export const receiptsOff = (status: 404 | 501): CodedError =>
  new CodedError(status, 'receipts_off', 'Receipts are off: `RECEIPT_KEY` is not set.');

export const historyUnavailable = (cause: unknown): CodedError =>
  new CodedError(503, 'history_unavailable', 'The history database is unavailable. Try again.', {
    cause,
  });

export const fromArchive = <T>(answer: Promise<T>): Promise<T> =>
  archiveAnswer(answer, historyUnavailable);
