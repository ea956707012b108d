import { echo, lengthOf } from './diagnosis.js';

/** Where a request is wrong, for programs. */
export interface Place {
  /** Names from the root of the body or the query, joined by dots; `body` or `query` for the whole. */
  readonly path: string;
  readonly expected: string;
  readonly got?: string;
}

/** @param value - as sent. Text may be a secret, so only its length is shown. */
export function placeOf(path: string, expected: string, value: unknown): Place {
  const isText = typeof value === 'string' && value !== '';
  return { path, expected, got: isText ? lengthOf(value) : echo(value) };
}
