import { CodedError } from '../../platform/http/coded-error.js';
import { archiveAnswer } from '../archive.js';
import { historyUnavailable } from '../sellers/history-problems.js';

const historyTooSlow = (cause: unknown): CodedError =>
  new CodedError(
    503,
    'history_too_slow',
    'The query took too long. Ask for a shorter time, or for one payee or payer.',
    { cause },
  );

export const forOperators = <T>(answer: Promise<T>): Promise<T> =>
  archiveAnswer(answer, historyUnavailable, historyTooSlow);
