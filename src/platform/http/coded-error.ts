/**
 * An answer that is no data, of a route that is about no payment. Programs read the code, people the
 * message; neither holds anything of the request.
 */
export class CodedError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    cause?: unknown,
  ) {
    super(message, { cause });
    this.name = 'CodedError';
  }
}

export const invalidQuery = (message: string): CodedError =>
  new CodedError(400, 'invalid_query', message);
