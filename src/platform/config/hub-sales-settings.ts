import { z } from 'zod';
import { Secret } from './secret.js';
import { flagSetting } from './settings.js';

/** Settings of what the file hub sells, spread into those of the hub. */
export const HUB_SALES_SETTINGS = {
  /** Whether owners may put a price on their files. */
  HUB_SALES: flagSetting.default('false'),
  /** What access is signed with, and idempotency keys are made with. */
  HUB_SALES_SECRET: z
    .string()
    .min(32, 'must be at least 32 characters; for example: openssl rand -hex 32')
    .optional(),
  /** Who verifies and settles; the process itself where it has the role `api`. */
  HUB_FACILITATOR_URL: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .optional(),
  HUB_FACILITATOR_API_KEY: z.string().min(1).optional(),
};

/** Which of them may be given as a path to a mounted file: `NAME_FILE`. */
export const HUB_SALES_FILE_SETTINGS = ['HUB_SALES_SECRET', 'HUB_FACILITATOR_API_KEY'] as const;

type HubSalesSettings = z.infer<z.ZodObject<typeof HUB_SALES_SETTINGS>> & {
  readonly HUB_PUBLIC_URL?: string | undefined;
};

export interface HubSalesConfig {
  readonly secret: Secret<string>;
  /** Where clients reach the hub, without a slash at its end; offers name it. */
  readonly publicUrl: string;
  /** `undefined` for this process itself. */
  readonly facilitator:
    { readonly url: string; readonly apiKey: Secret<string> | undefined } | undefined;
}

/** Settings that only make sense together, as problems for the report at boot. */
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

/** `undefined` when nothing is sold. */
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
