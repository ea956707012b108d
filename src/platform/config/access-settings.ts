import { z } from 'zod';
import { type GivenSettings, integerSetting, listOf } from './settings.js';

/** Permissions of an API key. */
export const SCOPES = ['verify', 'settle', 'history', 'hub', 'admin', 'simulate'] as const;
export type Scope = (typeof SCOPES)[number];

/** Scopes that may be public beside API keys. Lists and routes of operators never are. */
const OPENABLE = ['verify', 'settle', 'hub'] as const satisfies readonly Scope[];

/** Kinds of requests with separate limits. */
export type RateLimitBucket = 'verify' | 'settle' | 'lookup';

/** API keys and rate limits. */
export interface AccessConfig {
  /** Path of the file with API keys; without it the service is public. */
  readonly apiKeysFile: string | undefined;
  /** Scopes that need no API key, although there are keys. */
  readonly openScopes: ReadonlySet<Scope>;
  /** Requests per second, and burst, of one API key or address; 0 is unlimited. */
  readonly rateLimits: Readonly<Record<RateLimitBucket, number>>;
}

const RATE_MOST = 100_000;

export const accessSettings = {
  API_KEYS_FILE: z.string().optional(),
  /** Scopes without an API key: for a public facilitator with keys for operators and lists. */
  OPEN_SCOPES: listOf(z.enum(OPENABLE, `must be a list of ${OPENABLE.join(', ')}`)).default([]),
  /** Requests per second; 0 turns the limit off. */
  RATE_LIMIT_VERIFY: integerSetting(0, RATE_MOST).default(0),
  RATE_LIMIT_SETTLE: integerSetting(0, RATE_MOST).default(0),
};

export function accessConfig(settings: z.infer<z.ZodObject<typeof accessSettings>>): AccessConfig {
  return {
    apiKeysFile: settings.API_KEYS_FILE,
    openScopes: new Set(settings.OPEN_SCOPES),
    rateLimits: {
      verify: settings.RATE_LIMIT_VERIFY,
      settle: settings.RATE_LIMIT_SETTLE,
      // A look-up may read the chain, so it costs as much as a verify. It has its own limit.
      lookup: settings.RATE_LIMIT_VERIFY,
    },
  };
}

/** Whether there are neither API keys nor rate limits. */
export function isOpen({ apiKeysFile, rateLimits }: AccessConfig): boolean {
  return apiKeysFile === undefined && Object.values(rateLimits).every((limit) => limit === 0);
}

/** Whether a scope needs no API key. */
export function isOpenFor(scope: Scope, { apiKeysFile, openScopes }: AccessConfig): boolean {
  return apiKeysFile === undefined || openScopes.has(scope);
}

/** Without keys everything is public already. */
export function accessProblems(given: GivenSettings): string[] {
  return given['OPEN_SCOPES'] !== undefined && given['API_KEYS_FILE'] === undefined
    ? ['OPEN_SCOPES: has no effect without API_KEYS_FILE; set API_KEYS_FILE, or remove OPEN_SCOPES']
    : [];
}
