import { z } from 'zod';
import { flagSetting, HTTP_URL, integerSetting, listOf } from './settings.js';

/** The catalogue of declared resources; only with a database. */
export const CATALOGUE_SETTINGS = {
  /** For the roles `api` and `history`. */
  CATALOGUE: flagSetting.default('true'),
  /** Hosts, or host:port, that are listed although they are not public. */
  CATALOGUE_ALLOW: listOf(
    z.string().regex(/^[\w.[\]:-]{1,255}$/, 'must be hosts, such as 127.0.0.1:4021'),
  ).default([]),
  /** Days for which an entry is listed after its last payment. */
  CATALOGUE_DAYS: integerSetting(1, 3650).default(30),
  /** Public URL of the catalogue. Payees sign it, so that a statement is valid only here. */
  CATALOGUE_URL: HTTP_URL.transform((url) => url.replace(/\/+$/, '')).optional(),
};

export interface CatalogueConfig {
  readonly allow: ReadonlySet<string>;
  /** See `CATALOGUE_DAYS`, milliseconds. */
  readonly expiryMs: number;
  /** See `CATALOGUE_URL`; without it no statements of payees are accepted. */
  readonly url: string | undefined;
}

const DAY_MS = 86_400_000;

/** @returns `undefined` if the catalogue is off. */
export function catalogueConfigOf(
  settings: z.infer<z.ZodObject<typeof CATALOGUE_SETTINGS>>,
): CatalogueConfig | undefined {
  if (settings.CATALOGUE === 'false') return undefined;
  return {
    allow: new Set(settings.CATALOGUE_ALLOW.map((host) => host.toLowerCase())),
    expiryMs: settings.CATALOGUE_DAYS * DAY_MS,
    url: settings.CATALOGUE_URL,
  };
}
