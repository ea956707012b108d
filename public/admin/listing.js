/** One list of settlements from two places: the ledger, where the newest are, and the history. */

import { queryOf } from '../components/format.js';

const DAY_MS = 86_400_000;
/** Without a payee or payer the history wants a time. */
const USUAL_DAYS = 30;

const FILTERS = [
  'payTo',
  'payer',
  'state',
  'sale',
  'network',
  'scheme',
  'action',
  'from',
  'to',
  'asset',
  'leastAmount',
];

const isAddress = (text) => /^0x[0-9a-f]{40}$/i.test(text);
const claimedAt = ({ times }) => times?.claimed ?? '';
const isSame = (asked, value) =>
  asked === undefined || asked.toLowerCase() === value?.toLowerCase();

/** Atomic units; the list's own answer says where they are none. */
function isAtLeast(least, payment) {
  if (least === undefined || !/^[0-9]+$/.test(least)) return true;
  return BigInt(payment?.settledAmount ?? payment?.amount ?? 0) >= BigInt(least);
}

/** An address that is searched for is that of a payer. */
export function askedOf({ search, ...fields }) {
  return search !== undefined && isAddress(search)
    ? { payer: search, ...fields }
    : { search, ...fields };
}

/** Whether a settlement of the ledger is among those asked for. */
export function matches(asked, settlement) {
  const { payment, state } = settlement;
  const at = claimedAt(settlement);
  return (
    isSame(asked.payTo, payment?.payTo) &&
    isSame(asked.payer, payment?.payer) &&
    isSame(asked.network, payment?.network) &&
    isSame(asked.scheme, payment?.scheme) &&
    isSame(asked.action, payment?.action) &&
    isSame(asked.state, state) &&
    isSame(asked.asset, payment?.asset) &&
    isAtLeast(asked.leastAmount, payment) &&
    (asked.from === undefined || at >= asked.from) &&
    (asked.to === undefined || at < asked.to)
  );
}

/**
 * Newest first, each once, as the ledger has it where both do. What is older than the page of the history waits for
 * its page.
 *
 * @param hot - of the ledger, whether asked for or not.
 */
export function merged(asked, hot, { settlements = [], nextCursor } = {}) {
  const newer = new Set(hot.map(({ settlementId }) => settlementId));
  const oldest = nextCursor === undefined ? '' : claimedAt(settlements.at(-1) ?? {});
  return [
    ...hot.filter((one) => matches(asked, one) && claimedAt(one) >= oldest),
    ...settlements.filter(({ settlementId }) => !newer.has(settlementId)),
  ].sort((a, b) => claimedAt(b).localeCompare(claimedAt(a)));
}

/** Of what is not delivered the ledger has a list that it narrows by itself; of the rest it takes one text. */
function hotQuery({ search, payer, sale, payTo, network, asset, leastAmount }, cursor) {
  if (search === undefined && sale === 'unclaimed') {
    return queryOf({ sale, payTo, payer, network, asset, leastAmount, cursor });
  }
  return queryOf({ search: search ?? payer });
}

/** The page of the history that begins at a cursor. */
export function historyPage(ask, asked, cursor, now = Date.now()) {
  const needsTime = asked.payTo === undefined && asked.payer === undefined;
  const end = asked.to === undefined ? now : Date.parse(asked.to);
  const from =
    asked.from ??
    (needsTime ? new Date(end - USUAL_DAYS * DAY_MS).toISOString().slice(0, 10) : undefined);
  const filters = Object.fromEntries(FILTERS.map((name) => [name, asked[name]]));
  return ask(`history/settlements?${queryOf({ ...filters, from, cursor })}`);
}

/**
 * The first page. While the history cannot be asked, the ledger answers alone.
 *
 * @returns `settlements`, `nextCursor`, and the `problem` of the history.
 */
export async function firstPage(ask, asked, hasHistory) {
  const isSearch = asked.search !== undefined;
  const asksHistory = hasHistory && !isSearch;
  const [hot, history] = await Promise.all([
    ask(`settlements?${hotQuery(asked)}`),
    asksHistory ? historyPage(ask, asked).catch((problem) => ({ problem })) : { settlements: [] },
  ]);
  // What was named by its id or transaction is shown whatever else is asked.
  if (isSearch) return { settlements: hot.settlements };
  // Without a history the ledger's list goes on by its own pages.
  const nextCursor = asksHistory ? history.nextCursor : hot.nextCursor;
  return {
    settlements: merged(asked, hot.settlements, history),
    nextCursor,
    problem: history.problem,
  };
}

/** A page after the first. */
export async function nextPage(ask, asked, hasHistory, cursor) {
  if (hasHistory) return historyPage(ask, asked, cursor);
  const { settlements, nextCursor } = await ask(`settlements?${hotQuery(asked, cursor)}`);
  return { settlements: settlements.filter((one) => matches(asked, one)), nextCursor };
}
