import { z } from 'zod';
import { type Place, placeOf } from '../../protocol/diagnosis/place.js';

const TYPES: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
};

/** For schemas without their own text. `undefined` keeps the text of the library. */
export const inPlainWords: z.core.$ZodErrorMap = (issue) => {
  if (issue.code !== 'invalid_type') return undefined;
  if (issue.input === undefined) return 'is required';
  const type = TYPES[issue.expected];
  return type && `must be ${type}`;
};

/**
 * Where a schema refused a value.
 *
 * @param issue - with its input, which is only described: it may hold a secret.
 * @param parameter - the name of the value, if it is no body.
 */
export function placeOfIssue(issue: z.core.$ZodIssue, parameter?: string): Place {
  const path = z.core.toDotPath([parameter ?? [], issue.path].flat());
  const type = issue.code === 'invalid_type' ? TYPES[issue.expected] : undefined;
  const expected = type ?? issue.message.replace(/^must be /, '');
  return placeOf(path === '' ? 'body' : path, expected, issue.input);
}
