import { hash, randomBytes } from 'node:crypto';
import type { Address } from 'viem';
import { z } from 'zod';
import { type Scope, SCOPES } from '../../platform/config/access-settings.js';
import { addressSetting } from '../../platform/config/settings.js';
import { StartError } from '../../protocol/errors.js';

/** An API key as stored: its hash, never the key itself. */
export interface ApiKey {
  /** The owner of the key. Several keys with one id allow a change of key without a gap. */
  readonly id: string;
  readonly scopes: ReadonlySet<Scope>;
  /** Payees whose settlements it may list: its own and those of its tenant. Lower case; none for most keys. */
  readonly payees: ReadonlySet<Address>;
}

const nameSchema = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, "_" or "-"');

/** Limit, because a list of all payees is made of one list for each. */
const PAYEES_MOST = 100;
const payeesSchema = z
  .array(addressSetting)
  .max(PAYEES_MOST, `must be at most ${PAYEES_MOST} addresses`);

const RecordSchema = z.strictObject({
  id: nameSchema,
  sha256: z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 lower-case hex digits'),
  scopes: z.array(z.enum(SCOPES)).min(1, 'must name at least one scope'),
  payees: payeesSchema.optional(),
  tenant: nameSchema.optional(),
});

/** An API key in the form of the file. */
export type ApiKeyRecord = z.infer<typeof RecordSchema>;

/** Contents of `API_KEYS_FILE`. */
const FileSchema = z.strictObject({
  version: z.literal(1),
  keys: z.array(RecordSchema).max(10_000),
  /** Payees that several keys share. */
  tenants: z.record(nameSchema, z.strictObject({ payees: payeesSchema })).optional(),
});

/** A key of the file with all its payees. */
type KnownApiKey = ApiKey & Pick<ApiKeyRecord, 'sha256'>;

/** The file exists and cannot be used. The message names places in it and none of its values. */
export class ApiKeyFileError extends StartError {
  constructor(problem: string) {
    super(`API_KEYS_FILE: ${problem}`);
    this.name = 'ApiKeyFileError';
  }
}

/**
 * @param text - `{"version":1,"keys":[{"id":"shop","sha256":"…","scopes":["verify","settle"]}]}`.
 * @throws ApiKeyFileError
 */
export function parseApiKeys(text: string): readonly KnownApiKey[] {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new ApiKeyFileError('the file is not JSON');
  }
  const parsed = FileSchema.safeParse(json);
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => `${placeOf(issue.path)} ${wordsOf(issue)}`);
    throw new ApiKeyFileError(problems.join('; '));
  }
  const { keys, tenants = {} } = parsed.data;
  if (new Set(keys.map(({ sha256 }) => sha256)).size < keys.length) {
    throw new ApiKeyFileError('two keys have the same sha256');
  }
  const shared = new Map(Object.entries(tenants));
  return keys.map(({ id, sha256, scopes, payees = [], tenant }, index) => {
    const ofTenant = tenant === undefined ? { payees: [] } : shared.get(tenant);
    if (ofTenant === undefined) {
      throw new ApiKeyFileError(`keys.${index}.tenant is not among the tenants`);
    }
    const all = new Set([...payees, ...ofTenant.payees]);
    if (all.size > PAYEES_MOST) {
      throw new ApiKeyFileError(
        `keys.${index} has more than ${PAYEES_MOST} payees, including those of its tenant`,
      );
    }
    return { id, sha256, scopes: new Set(scopes), payees: all };
  });
}

/** The words for a place that is wrong. They repeat nothing of the file: a key may have been pasted there by mistake. */
function wordsOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys') return 'has an unknown field';
  if (issue.code === 'invalid_type') return `must be ${KINDS[issue.expected] ?? issue.expected}`;
  if (issue.code !== 'invalid_value') return issue.message;
  return `must be ${issue.values.length > 1 ? 'one of ' : ''}${issue.values.join(', ')}`;
}

const KINDS: Readonly<Record<string, string>> = {
  array: 'a list',
  object: 'an object',
  record: 'an object',
  string: 'text',
};

/** The place in the file. The name of a tenant is a value of the file, so it is not repeated. */
function placeOf(path: readonly PropertyKey[]): string {
  const place = path.map((part, depth) => (depth === 1 && path[0] === 'tenants' ? '*' : part));
  return place.join('.') || 'the file';
}

/**
 * The stored form of a key. A key has 256 random bits, so it cannot be guessed. A slow hash, which protects passwords,
 * would only slow down requests.
 */
export function hashApiKey(key: string): Buffer {
  return hash('sha256', key, 'buffer');
}

/** @returns a new key, which its owner gets once, and the record for the file. */
export function createApiKey(
  id: string,
  scopes: readonly Scope[],
  payees: readonly string[] = [],
): { readonly key: string; readonly record: ApiKeyRecord } {
  const key = `x402_${randomBytes(32).toString('base64url')}`;
  const sha256 = hashApiKey(key).toString('hex');
  const paid = payees.length === 0 ? {} : { payees };
  return { key, record: RecordSchema.parse({ id, sha256, scopes, ...paid }) };
}
