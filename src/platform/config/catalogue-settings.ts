import { z } from 'zod';
import { flagSetting, integerSetting, listOf } from './settings.js';

/** The catalogue of what sellers declare: where there is a history. */
export const CATALOGUE_SETTINGS = {
  /** For `api` and `history` alike. */
  CATALOGUE: flagSetting.default('true'),
  /** Hosts, or host:port, that are listed though only some can reach them. */
  CATALOGUE_ALLOW: listOf(
    z.string().regex(/^[\w.[\]:-]{1,255}$/, 'must be hosts, such as 127.0.0.1:4021'),
  ).default([]),
  /** An entry is shown for so many days after its last payment. */
  CATALOGUE_DAYS: integerSetting(1, 3650).default(30),
  /** Where others reach the catalogue: payees sign it, so that a statement is good here alone. */
  CATALOGUE_URL: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .transform((url) => url.replace(/\/+$/, ''))
    .optional(),
};

export interface CatalogueConfig {
  readonly allow: ReadonlySet<string>;
  /** See `CATALOGUE_DAYS`, milliseconds. */
  readonly expiryMs: number;
  /** See `CATALOGUE_URL`; without it no statements of payees are taken. */
  readonly url: string | undefined;
}

const DAY_MS = 86_400_000;

/** @returns `undefined` when it is off. */
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
