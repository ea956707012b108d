import { z } from 'zod';
import { Secret } from './secret.js';
import { flagSetting, HTTP_URL } from './settings.js';

/** Settings for sales of files in the hub. */
export const HUB_SALES_SETTINGS = {
  /** Whether owners may put a price on their files. */
  HUB_SALES: flagSetting.default('false'),
  /** Secret that signs access tokens and derives idempotency keys. */
  HUB_SALES_SECRET: z
    .string()
    .min(32, 'must be at least 32 characters; for example: openssl rand -hex 32')
    .optional(),
  /** The facilitator for the sales; by default this process, if it has the role `api`. */
  HUB_FACILITATOR_URL: HTTP_URL.optional(),
  HUB_FACILITATOR_API_KEY: z.string().min(1).optional(),
};

/** Settings that may be a mounted file: `NAME_FILE`. */
export const HUB_SALES_FILE_SETTINGS = ['HUB_SALES_SECRET', 'HUB_FACILITATOR_API_KEY'] as const;

type HubSalesSettings = z.infer<z.ZodObject<typeof HUB_SALES_SETTINGS>> & {
  readonly HUB_PUBLIC_URL?: string | undefined;
};

export interface HubSalesConfig {
  readonly secret: Secret<string>;
  /** Public URL of the hub for offers, without a trailing slash. */
  readonly publicUrl: string;
  /** `undefined` for this process itself. */
  readonly facilitator:
    { readonly url: string; readonly apiKey: Secret<string> | undefined } | undefined;
}

/** Problems between settings, for the report at the start. */
export function hubSalesProblems(
  given: Readonly<Record<string, string>>,
  isFacilitator: boolean,
): string[] {
  if (given['HUB_SALES'] !== 'true') return [];
  const problems = ['HUB_SALES_SECRET', 'HUB_ADDRESS', 'HUB_PUBLIC_URL']
    .filter((name) => given[name] === undefined)
    .map((name) => `${name}: is required with HUB_SALES=true`);
  if (!isFacilitator && given['HUB_FACILITATOR_URL'] === undefined) {
    problems.push('HUB_FACILITATOR_URL: is required with HUB_SALES=true without the role api');
  }
  return problems;
}

/** `undefined` if the hub sells nothing. */
export function hubSalesConfigOf(settings: HubSalesSettings): HubSalesConfig | undefined {
  const { HUB_SALES_SECRET: secret, HUB_PUBLIC_URL: site, HUB_FACILITATOR_URL: url } = settings;
  if (settings.HUB_SALES !== 'true' || secret === undefined || site === undefined) return undefined;
  const apiKey = settings.HUB_FACILITATOR_API_KEY;
  return {
    secret: new Secret(secret),
    publicUrl: withoutSlash(site),
    facilitator:
      url === undefined
        ? undefined
        : { url: withoutSlash(url), apiKey: apiKey === undefined ? undefined : new Secret(apiKey) },
  };
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '');
}
