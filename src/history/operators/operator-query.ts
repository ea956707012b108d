import { z } from 'zod';
import { invalidQuery } from '../../platform/http/read-query.js';
import {
  ADDRESS_QUERY,
  FILTER_QUERY,
  limitQuery,
  narrowingOf,
} from '../sellers/settlement-filter.js';
import type { Position } from '../sellers/settlement-reader.js';
import { TOTALS_QUERY } from '../sellers/settlement-totals.js';
import { EVENT_ID } from '../webhooks/dto/webhook.dto.js';
import { type SearchFilter, WEBHOOK_STATUSES } from './operator-archive.js';

/** Rows of any list. */
const ROWS_MOST = 100;
/** Of what is asked for over all payees: there is no index that leads to the few among so many. */
export const DAYS_MOST = 92;
const DAY_MS = 86_400_000;

const limit = limitQuery(50, ROWS_MOST);
const name = z
  .string()
  .regex(/^[\w.:-]{1,128}$/, 'must be 1 to 128 letters, digits or . : _ -')
  .optional();
/** A lane, or what the catalogue denies: the name of a host has up to 253. */
const subject = z
  .string()
  .regex(/^[\w.:[\]-]{1,300}$/, 'must be 1 to 300 letters, digits or . : _ - [ ]')
  .optional();
const payer = ADDRESS_QUERY.optional();

export const SEARCH_QUERY = z.strictObject({
  ...FILTER_QUERY,
  payer,
  limit,
  cursor: z.string().optional(),
});

/** How {@link TOTALS_QUERY} is told of `groupBy`. */
export const GROUP_BY_SCHEMA = {
  type: 'string',
  pattern: '^(day|asset|payee)(,(day|asset|payee))*$',
} as const;

export const SUMS_QUERY = TOTALS_QUERY.extend({
  payer,
  groupBy: TOTALS_QUERY.shape.groupBy.default(['day', 'asset']),
});

export const WEBHOOKS_QUERY = z.strictObject({
  owner: name,
  limit,
  status: z
    .enum(WEBHOOK_STATUSES, { error: `must be one of ${WEBHOOK_STATUSES.join(', ')}` })
    .optional(),
  after: z
    .string()
    .regex(/^we_[\w-]{1,64}$/, 'must be the id of a webhook')
    .optional(),
});

export const DELIVERIES_QUERY = z.strictObject({
  limit,
  before: z.string().regex(EVENT_ID, 'must be the id of an event').optional(),
});

/** A number of PostgreSQL: one that no column can hold is none. */
const RUN_ID = /^[1-9]\d{0,17}$/;

export const RUNS_QUERY = z.strictObject({
  network: FILTER_QUERY.network,
  limit,
  before: z.string().regex(RUN_ID, 'must be the id of a run').optional(),
});

export const RUN_QUERY = z.strictObject({
  limit,
  after: z
    .string()
    .regex(/^(0|[1-9]\d{0,8})$/, 'must be the number of a difference')
    .transform(Number)
    .default(0),
});

export const AUDIT_QUERY = z.strictObject({
  network: FILTER_QUERY.network,
  from: FILTER_QUERY.from,
  to: FILTER_QUERY.to,
  by: name,
  subject,
  limit,
  before: z
    .string()
    .regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, 'must be the id of an action')
    .optional(),
});

export const isRunId = (text: string): boolean => RUN_ID.test(text);
export const isWebhookId = (text: string): boolean => /^we_[\w-]{1,64}$/.test(text);

/** @throws CodedError `invalid_query` */
export function searchOf(
  query: Pick<z.output<typeof SEARCH_QUERY>, keyof typeof FILTER_QUERY | 'payer'>,
): SearchFilter {
  return { ...narrowingOf(query), payer: query.payer };
}

/**
 * A search over everybody's settlements needs a time. It is counted from where the page begins, so that a list
 * that was begun can be read to its end.
 *
 * @throws CodedError `invalid_query`
 */
export function checkWindow(
  { payTo, payer: whose, from, to }: SearchFilter,
  now: number,
  after?: Position,
): void {
  if (payTo !== undefined || whose !== undefined) return;
  if (from === undefined) throw invalidQuery('from must be given without payTo or payer.');
  const end = after?.claimedAt.getTime() ?? Math.min(to ?? now, now);
  if (end - from > DAYS_MOST * DAY_MS) {
    throw invalidQuery(`from must be at most ${DAYS_MOST} days before to, without payTo or payer.`);
  }
}
