import { createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { type Scope, SCOPES } from '../../platform/config/access-settings.js';

/** A key as the service knows it: never the key itself. */
export interface ApiKey {
  /** Whose key it is. Several keys of one id are how a key is changed without a gap. */
  readonly id: string;
  readonly scopes: ReadonlySet<Scope>;
}

const RecordSchema = z.strictObject({
  id: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, "_" or "-"'),
  sha256: z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 lower-case hex digits'),
  scopes: z.array(z.enum(SCOPES)).min(1, 'must name at least one scope'),
});

/** A key as the file holds it. */
export type ApiKeyRecord = z.infer<typeof RecordSchema>;

/** Contents of `API_KEYS_FILE`. */
const FileSchema = z.strictObject({
  version: z.literal(1),
  keys: z.array(RecordSchema).max(10_000),
});

/** The file is there and cannot be used. The message names places in it and none of its values. */
export class ApiKeyFileError extends Error {
  constructor(problem: string) {
    super(`API_KEYS_FILE: ${problem}`);
    this.name = 'ApiKeyFileError';
  }
}

/**
 * @param text - `{"version":1,"keys":[{"id":"shop","sha256":"…","scopes":["verify","settle"]}]}`.
 * @throws ApiKeyFileError
 */
export function parseApiKeys(text: string): readonly ApiKeyRecord[] {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new ApiKeyFileError('the file is not JSON');
  }
  const parsed = FileSchema.safeParse(json);
  if (!parsed.success) {
    const problems = parsed.error.issues.map(({ path, message, code }) => {
      // zod repeats the names of unknown fields, and somebody may have pasted a key there.
      const what = code === 'unrecognized_keys' ? 'has a field that is not known' : message;
      return `${path.join('.') || 'the file'} ${what}`;
    });
    throw new ApiKeyFileError(problems.join('; '));
  }
  const { keys } = parsed.data;
  if (new Set(keys.map(({ sha256 }) => sha256)).size < keys.length) {
    throw new ApiKeyFileError('a key is listed twice');
  }
  return keys;
}

/**
 * What is kept of a key. A key has 256 random bits: nobody can try them all, however fast the hash,
 * so a slow one, which protects what people can remember, would only make requests dear.
 */
export function hashApiKey(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

/** @returns a new key, to be given to its owner once, and the record for the file. */
export function createApiKey(
  id: string,
  scopes: readonly Scope[],
): { readonly key: string; readonly record: ApiKeyRecord } {
  const key = `x402_${randomBytes(32).toString('base64url')}`;
  const sha256 = hashApiKey(key).toString('hex');
  return { key, record: RecordSchema.parse({ id, sha256, scopes }) };
}
