import type { Address } from 'viem';
import { z } from 'zod';
import { invalidQuery } from '../../platform/http/read-query.js';
import { chainIdOf } from '../../protocol/payment/network.js';
import { readAddress } from '../../protocol/payment/wire-values.js';
import { SETTLEMENT_STATES, type SettlementState } from '../../settlement/model/settlement.js';

/** What of settlements was asked for. */
export interface Narrowing {
  /** The payee that was named, if one was. Lower case. */
  readonly payTo: Address | undefined;
  /** Of the claim, in milliseconds since the epoch; the first is in, the last is not. */
  readonly from: number | undefined;
  readonly to: number | undefined;
  readonly state: SettlementState | undefined;
  readonly asset: Address | undefined;
  readonly chainId: number | undefined;
}

/** Which settlements a seller asks for. */
export interface SettlementFilter extends Narrowing {
  /** In order, each once; never empty. Lower case. */
  readonly payees: readonly Address[];
}

const WHEN =
  /^(\d{4})-(\d{2})-(\d{2})(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2}))?$/;

const when = z.string().transform((text, context) => {
  const [, year, month, day] = WHEN.exec(text) ?? [];
  const at = Date.parse(text);
  // A 30th of February is read as a day of March.
  const midnight = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  const isDay = day !== undefined && midnight.getUTCDate() === Number(day);
  if (isDay && at >= 0) return at;
  context.addIssue('must be a day, 2026-11-30, or a time with its zone, 2026-11-30T12:00:00Z');
  return z.NEVER;
});

export const ADDRESS_QUERY = z.string().transform((text, context) => {
  const address = readAddress(text);
  if (address !== undefined) return address;
  context.addIssue('must be an address: 0x and 40 hex digits');
  return z.NEVER;
});

const network = z.string().transform((text, context) => {
  const chainId = chainIdOf(text);
  if (chainId !== undefined) return chainId;
  context.addIssue('must be the CAIP-2 name of an EVM chain, such as eip155:56');
  return z.NEVER;
});

/** Parameters of every list, export and total. */
export const FILTER_QUERY = {
  payTo: ADDRESS_QUERY.optional(),
  from: when.optional(),
  to: when.optional(),
  state: z
    .enum(SETTLEMENT_STATES, { error: `must be one of ${SETTLEMENT_STATES.join(', ')}` })
    .optional(),
  asset: ADDRESS_QUERY.optional(),
  network: network.optional(),
};

/** How many are asked for at once. */
export const limitQuery = (usual: number, most: number): z.ZodType<number> => {
  const message = `must be a number from 1 to ${most}`;
  return z
    .string()
    .regex(/^[1-9]\d{0,2}$/, message)
    .transform(Number)
    .refine((limit) => limit <= most, message)
    .default(usual);
};

type FilterQuery = z.output<z.ZodObject<typeof FILTER_QUERY>>;

/**
 * @param payees - whose settlements the caller may see.
 * @returns `undefined` where it names a payee that is not one of them.
 * @throws CodedError `invalid_query`
 */
export function filterOf(
  query: FilterQuery,
  payees: ReadonlySet<Address>,
): SettlementFilter | undefined {
  const narrowing = narrowingOf(query);
  const { payTo } = narrowing;
  if (payTo !== undefined && !payees.has(payTo)) return undefined;
  return { payees: payTo === undefined ? [...payees].sort() : [payTo], ...narrowing };
}

/** @throws CodedError `invalid_query` */
export function narrowingOf(query: FilterQuery): Narrowing {
  const { payTo, from, to, state, asset, network: chainId } = query;
  checkOrder(query);
  return { payTo, from, to, state, asset, chainId };
}

/** @throws CodedError `invalid_query` */
export function checkOrder({ from, to }: Pick<FilterQuery, 'from' | 'to'>): void {
  if (from !== undefined && to !== undefined && from >= to) {
    throw invalidQuery('from must be before to.');
  }
}
