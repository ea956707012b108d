import type { Address } from 'viem';
import { z } from 'zod';
import { isAllowedHost, isPrivateLiteral } from '../../platform/fetch/address-guard.js';
import { isUrl } from '../../platform/http/urls.js';
import { EVM_ADDRESS } from '../../protocol/payment/wire-values.js';
import { SETTLEMENT_EVENTS } from './settlement-events.js';
import { EVENT_TYPES } from './webhook.js';

export const URL_MAX = 2048;
export const DESCRIPTION_MAX = 256;
export const PAYEES_MAX = 100;
export const EVENT_ID = /^evt_[\w-]{32}$/;

const address = z
  .string()
  .regex(EVM_ADDRESS)
  .transform((text) => text.toLowerCase() as Address);

const unique = <T>(values: readonly T[]): T[] => [...new Set(values)];

const FIELDS = {
  url: z.string().min(1).max(URL_MAX),
  // PostgreSQL has no text with a zero in it.
  description: z
    .string()
    .max(DESCRIPTION_MAX)
    .regex(/^\P{Cc}*$/u),
  payees: z.array(address).min(1).max(PAYEES_MAX).transform(unique),
  events: z.array(z.enum(EVENT_TYPES)).min(1).transform(unique),
};

const Creation = z.strictObject({
  url: FIELDS.url,
  description: FIELDS.description.default(''),
  payees: FIELDS.payees.optional(),
  events: FIELDS.events.default([...SETTLEMENT_EVENTS]),
});
const Change = z.strictObject(FIELDS).extend({ enabled: z.boolean() }).partial();
const Replay = z
  .strictObject({
    after: z.string().regex(EVENT_ID).optional(),
    since: z.iso
      .datetime()
      .transform((text) => new Date(text))
      .optional(),
  })
  .refine(({ after, since }) => after !== undefined || since !== undefined);

type Creation = z.infer<typeof Creation>;
type Change = z.infer<typeof Change>;
type Replay = z.infer<typeof Replay>;

export type Read<T> = { readonly value: T } | { readonly problem: string };

/** Readers of bodies. What is wrong is named, and nothing of it repeated. */
export const readCreation = (sent: unknown): Read<Creation> => read(Creation, sent);
export const readChange = (sent: unknown): Read<Change> => read(Change, sent);
export const readReplay = (sent: unknown): Read<Replay> => read(Replay, sent);

function read<T>(schema: z.ZodType<T>, sent: unknown): Read<T> {
  const parsed = schema.safeParse(sent);
  if (parsed.success) return { value: parsed.data };
  const path = String(parsed.error.issues[0]?.path[0] ?? '');
  return { problem: RULES[path] ?? 'The body is not an object with the fields that are expected.' };
}

const RULES: Readonly<Record<string, string>> = {
  url: `url: a URL of at most ${URL_MAX} characters is expected.`,
  description: `description: at most ${DESCRIPTION_MAX} characters of one line are expected.`,
  payees: `payees: 1 to ${PAYEES_MAX} addresses are expected.`,
  events: `events: some of ${EVENT_TYPES.join(', ')} are expected.`,
  enabled: 'enabled: true or false is expected.',
  after: 'after: the id of an event is expected.',
  since: 'since: a time such as 2026-11-22T10:00:00Z is expected.',
};

/**
 * What is wrong with a URL, as far as it can be told without asking for its name.
 *
 * @param allow - hosts that may be private, and told by http.
 */
export function problemOfUrl(text: string, allow: ReadonlySet<string>): string | undefined {
  // A URL is read without blanks around it, and would be kept with them.
  if (!isUrl(text) || /\s/.test(text)) return 'url: it is not a URL.';
  const url = new URL(text);
  const { protocol, username, password, hash } = url;
  if (protocol !== 'https:' && protocol !== 'http:') return 'url: https is expected.';
  if (username !== '' || password !== '') return 'url: it has credentials in it.';
  if (hash !== '') return 'url: it has a fragment, which is not sent.';
  if (isAllowedHost(url, allow)) return undefined;
  if (protocol === 'http:') return 'url: https is expected.';
  return isPrivateLiteral(url) ? 'url: its address is not public.' : undefined;
}
