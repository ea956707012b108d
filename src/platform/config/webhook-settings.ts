import { z } from 'zod';
import { Secret } from './secret.js';
import { type GivenSettings, integerSetting, listOf } from './settings.js';

/** Webhooks of sellers and operators; off without a key. */
export const WEBHOOK_SETTINGS = {
  /** The key that derives the secrets of all endpoints. It must be the same for the roles `api` and `history`. */
  WEBHOOK_KEY: z
    .string()
    .min(32, 'must be at least 32 characters; for example: openssl rand -hex 32')
    .optional(),
  /** Hosts, or host:port, that may get events although they are not public, and by http too. */
  WEBHOOK_ALLOW: listOf(
    z.string().regex(/^[\w.[\]:-]{1,255}$/, 'must be hosts, such as 127.0.0.1:4021'),
  ).default([]),
  /** Operators are notified of a lane that pays for fewer settlements than this; 0 turns it off. */
  LANE_LOW_SETTLEMENTS: integerSetting(0, 1_000_000_000).default(1000),
};

export interface WebhookConfig {
  readonly key: Secret<string>;
  readonly allow: ReadonlySet<string>;
  /** See `LANE_LOW_SETTLEMENTS`. */
  readonly laneLowSettlements: number;
}

/** @returns `undefined` if webhooks are off. */
export function webhookConfigOf(
  settings: z.infer<z.ZodObject<typeof WEBHOOK_SETTINGS>>,
): WebhookConfig | undefined {
  const { WEBHOOK_KEY: key, WEBHOOK_ALLOW: allow } = settings;
  if (key === undefined) return undefined;
  return {
    key: new Secret(key),
    allow: new Set(allow.map((host) => host.toLowerCase())),
    laneLowSettlements: settings.LANE_LOW_SETTLEMENTS,
  };
}

/** Endpoints belong to API keys and are stored in the database, so both are required. */
export function webhookProblems(given: GivenSettings): string[] {
  if (given['WEBHOOK_KEY'] === undefined) return [];
  return ['DATABASE_URL', 'API_KEYS_FILE']
    .filter((name) => given[name] === undefined)
    .map((name) => `${name}: is required with WEBHOOK_KEY`);
}
