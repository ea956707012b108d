import { z } from 'zod';
import { type GivenSettings, integerSetting, listOf } from './settings.js';

/** What an API key may be used for. */
export const SCOPES = ['verify', 'settle', 'history', 'hub', 'admin', 'simulate'] as const;
export type Scope = (typeof SCOPES)[number];

/** Scopes that may be open to everybody beside API keys; lists and operators' routes never are. */
const OPENABLE = ['verify', 'settle', 'hub'] as const satisfies readonly Scope[];

/** Kinds of requests that are counted apart. */
export type RateLimitBucket = 'verify' | 'settle' | 'lookup';

/** Who may ask, and how often. */
export interface AccessConfig {
  /** Where the API keys are; the service is open when absent. */
  readonly apiKeysFile: string | undefined;
  /** What needs no key although there are keys. */
  readonly openScopes: ReadonlySet<Scope>;
  /** Requests a second, and at once, of one API key or address; 0 is unlimited. */
  readonly rateLimits: Readonly<Record<RateLimitBucket, number>>;
}

const RATE_MOST = 100_000;

export const accessSettings = {
  API_KEYS_FILE: z.string().optional(),
  /** Scopes that need no key: a facilitator open to everybody, with keys for operators and lists. */
  OPEN_SCOPES: listOf(z.enum(OPENABLE, `must be of ${OPENABLE.join(', ')}`)).default([]),
  /** Requests a second; 0 turns the limit off. */
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
      // Looking up asks the chain where the ledger does not know: as dear as a verify, counted apart.
      lookup: settings.RATE_LIMIT_VERIFY,
    },
  };
}

/** Neither keys nor limits: everybody may ask, as often as they like. */
export function isOpen({ apiKeysFile, rateLimits }: AccessConfig): boolean {
  return apiKeysFile === undefined && Object.values(rateLimits).every((limit) => limit === 0);
}

/** Whether it needs no key. */
export function isOpenFor(scope: Scope, { apiKeysFile, openScopes }: AccessConfig): boolean {
  return apiKeysFile === undefined || openScopes.has(scope);
}

/** Without keys everything is open already. */
export function accessProblems(given: GivenSettings): string[] {
  return given['OPEN_SCOPES'] !== undefined && given['API_KEYS_FILE'] === undefined
    ? ['OPEN_SCOPES: is of no use without API_KEYS_FILE']
    : [];
}
