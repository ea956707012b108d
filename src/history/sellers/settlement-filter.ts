import type { Address } from 'viem';
import { invalidQuery } from '../../platform/http/coded-error.js';
import { chainIdOf } from '../../protocol/payment/network.js';
import { readAddress, readDayOrTime } from '../../protocol/payment/wire-values.js';
import type { ChannelAction } from '../../protocol/schemes/scheme.js';
import type { ListQuery, SaleFilter } from '../../settlement/ledger/queries/settlement-listing.js';
import type { SettlementState } from '../../settlement/model/settlement.js';

/** The filter of a query for settlements. */
export interface Narrowing {
  /** The payee in the query, in lower case. */
  readonly payTo: Address | undefined;
  /** Time of the claim in milliseconds since the epoch; `from` is inclusive, `to` is exclusive. */
  readonly from: number | undefined;
  readonly to: number | undefined;
  readonly state: SettlementState | undefined;
  readonly sale?: SaleFilter | undefined;
  readonly asset: Address | undefined;
  readonly chainId: number | undefined;
  readonly scheme?: string | undefined;
  readonly action?: ChannelAction | undefined;
}

/** A query of a seller. */
export interface SettlementFilter extends Narrowing {
  /** Payees in lower case, sorted, without repeats; never empty. */
  readonly payees: readonly Address[];
}

/**
 * @param payees - payees whose settlements the caller may see.
 * @returns `undefined` if the query names another payee.
 * @throws CodedError `invalid_query`
 */
export function filterOf(
  query: ListQuery,
  payees: ReadonlySet<Address>,
): SettlementFilter | undefined {
  const narrowing = narrowingOf(query);
  const { payTo } = narrowing;
  if (payTo !== undefined && !payees.has(payTo)) return undefined;
  return { payees: payTo === undefined ? [...payees].sort() : [payTo], ...narrowing };
}

/** @throws CodedError `invalid_query` */
export function narrowingOf(query: ListQuery): Narrowing {
  const { payTo, state, sale, asset, network, scheme, action } = query;
  return {
    payTo: readAddress(payTo),
    ...spanOf(query),
    state,
    sale,
    asset: readAddress(asset),
    chainId: network === undefined ? undefined : chainIdOf(network),
    scheme,
    action,
  };
}

/** @throws CodedError `invalid_query` */
export function spanOf(asked: Pick<ListQuery, 'from' | 'to'>): Pick<Narrowing, 'from' | 'to'> {
  const [from, to] = [readDayOrTime(asked.from), readDayOrTime(asked.to)];
  if (from !== undefined && to !== undefined && from >= to) {
    throw invalidQuery('`from` must be before `to`.', { path: 'from', expected: 'before `to`' });
  }
  return { from, to };
}
