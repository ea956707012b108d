import type { z } from 'zod';
import { CodedError } from './coded-error.js';

export const invalidQuery = (message: string): CodedError =>
  new CodedError(400, 'invalid_query', message);

/** @throws CodedError `invalid_query`, naming every parameter that is wrong and none of its values. */
export function readQuery<T extends z.ZodObject>(schema: T, query: unknown): z.output<T> {
  const parsed = schema.safeParse(query);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ code, path, message }) => {
    if (code === 'unrecognized_keys') return 'unknown parameter';
    return `${String(path[0])} ${code === 'invalid_type' ? 'must be given once' : message}`;
  });
  throw invalidQuery(`${[...new Set(problems)].join('; ')}.`);
}
