import { archiveAnswer } from '../history/archive.js';
import { CodedError } from '../platform/http/coded-error.js';

export const catalogueUnavailable = (cause: unknown): CodedError =>
  new CodedError(503, 'catalogue_unavailable', 'The catalogue is unavailable. Try again.', {
    cause,
  });

const catalogueTooSlow = (cause: unknown): CodedError =>
  new CodedError(
    503,
    'catalogue_too_slow',
    'The search took too long. Search for a payee, a host or rarer words.',
    { cause },
  );

/** A failed query means neither listed nor unknown. */
export const fromCatalogue = <T>(answer: Promise<T>): Promise<T> =>
  archiveAnswer(answer, catalogueUnavailable);

export const forOperators = <T>(answer: Promise<T>): Promise<T> =>
  archiveAnswer(answer, catalogueUnavailable, catalogueTooSlow);
