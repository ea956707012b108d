import { z } from 'zod';
import {
  CATALOGUE_SETTINGS,
  type CatalogueConfig,
  catalogueConfigOf,
} from './catalogue-settings.js';
import { readFileSettings, withoutBlanks } from './given-settings.js';
import { Secret } from './secret.js';
import { describeIssues, flagSetting, type GivenSettings, integerSetting } from './settings.js';
import {
  WEBHOOK_SETTINGS,
  type WebhookConfig,
  webhookConfigOf,
  webhookProblems,
} from './webhook-settings.js';

/** The history in PostgreSQL; off without `DATABASE_URL`. */
export const HISTORY_SETTINGS = {
  /** Also for settling roles: with it, their scripts note changes for the archiver. */
  DATABASE_URL: z
    .url({
      protocol: /^postgres(ql)?$/,
      error: 'must be a postgres:// or postgresql:// URL',
    })
    .optional(),
  MIGRATE: z.enum(['auto', 'manual'], { error: 'must be auto or manual' }).default('auto'),
  /** Months stored beside the current one; 0 keeps all. */
  HISTORY_MONTHS: integerSetting(0, 1200).default(0),
  /** Minutes after its last change after which an archived, finished settlement leaves Redis. */
  HOT_MINUTES: integerSetting(1, 1440).default(60),
  ...WEBHOOK_SETTINGS,
  ...CATALOGUE_SETTINGS,
  /** Whether totals of payments are public; by default if the service is public. */
  PUBLIC_STATS: flagSetting.optional(),
  /** UTC time of the daily reconciliation. */
  RECONCILE_AT: z
    .string()
    .regex(
      /^(off|([01]\d|2[0-3]):[0-5]\d)$/,
      'must be off, or a time of the day (UTC) such as 03:30',
    )
    .default('off'),
};

export interface HistoryConfig {
  readonly databaseUrl: Secret<string>;
  /** Whether the archiver applies migrations itself. */
  readonly migrates: boolean;
  /** `undefined` keeps all. */
  readonly months: number | undefined;
  /** See `HOT_MINUTES`, milliseconds. */
  readonly hotMs: number;
  /** `undefined` if webhooks are off. */
  readonly webhooks: WebhookConfig | undefined;
  /** `undefined` if the catalogue is off. */
  readonly catalogue: CatalogueConfig | undefined;
  /** Minutes after midnight (UTC) of the daily reconciliation; `undefined` without one. */
  readonly reconcilesAt: number | undefined;
}

/** @returns `undefined` without a database. */
export function historyConfigOf(
  settings: z.infer<z.ZodObject<typeof HISTORY_SETTINGS>>,
): HistoryConfig | undefined {
  const { DATABASE_URL: url, MIGRATE: migrate, HISTORY_MONTHS: months } = settings;
  if (url === undefined) return undefined;
  return {
    databaseUrl: new Secret(url),
    migrates: migrate === 'auto',
    months: months === 0 ? undefined : months,
    hotMs: settings.HOT_MINUTES * 60_000,
    webhooks: webhookConfigOf(settings),
    catalogue: catalogueConfigOf(settings),
    reconcilesAt: minutesOf(settings.RECONCILE_AT),
  };
}

function minutesOf(time: string): number | undefined {
  const [hours, minutes] = time.split(':').map(Number);
  return hours === undefined || minutes === undefined ? undefined : hours * 60 + minutes;
}

/** Whether the history of a process with these roles reads chains. */
export function readsChains(given: GivenSettings, roles: readonly string[]): boolean {
  const isOn = (given['RECONCILE_AT'] ?? 'off') !== 'off';
  return isOn && roles.includes('history') && given['DATABASE_URL'] !== undefined;
}

/** `ROLES=all` includes only roles whose settings are present; an explicit role requires its settings. */
export function historyProblems(given: GivenSettings, roles: readonly string[]): string[] {
  const isNamed = roles.includes('history') && given['ROLES'] !== 'all';
  const isMissing = isNamed && given['DATABASE_URL'] === undefined;
  return [
    ...(isMissing ? ['DATABASE_URL: is required by the role history'] : []),
    ...webhookProblems(given),
  ];
}

const Required = z.object({ DATABASE_URL: HISTORY_SETTINGS.DATABASE_URL.unwrap() });

/** The database URL, for a program that needs only the database. */
export function databaseUrlOf(
  env: NodeJS.ProcessEnv = process.env,
): { readonly url: Secret<string> } | { readonly problems: readonly string[] } {
  const problems: string[] = [];
  const given = readFileSettings(withoutBlanks(env), ['DATABASE_URL'], problems);
  if (problems.length > 0) return { problems };
  const settings = Required.safeParse(given);
  return settings.success
    ? { url: new Secret(settings.data.DATABASE_URL) }
    : { problems: describeIssues(settings.error) };
}
