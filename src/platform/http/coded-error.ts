import type { Place } from '../../protocol/diagnosis/place.js';

interface Details {
  readonly cause?: unknown;
  readonly place?: Place | undefined;
}

/**
 * An error with a code for programs and a message for people, on routes without a payment. Neither contains text of
 * the request.
 */
export class CodedError extends Error {
  readonly place: Place | undefined;

  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    { cause, place }: Details = {},
  ) {
    super(message, { cause });
    this.name = 'CodedError';
    this.place = place;
  }
}

export const invalidQuery = (message: string, place?: Place): CodedError =>
  new CodedError(400, 'invalid_query', message, { place });

export const invalidRequest = (message: string, place?: Place): CodedError =>
  new CodedError(400, 'invalid_request', message, { place });
