/** The figures of the overview: counted here from what the API answers. */

const sum = (values) => values.reduce((total, value) => total + value, 0);

/** The value below which this part of all values lies; `undefined` of none. */
export function percentile(values, part) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * part) - 1)];
}

/** Milliseconds from the request to the block, of those settlements that were paid. */
export const settleTimes = (settlements) =>
  settlements
    .filter(({ paid, times }) => paid && times?.included !== undefined)
    .map(({ times }) => Date.parse(times.included) - Date.parse(times.arrived ?? times.claimed))
    .filter((ms) => ms >= 0);

/** By token, most payments first. Amounts of two tokens are never added. */
export function volumesOf(totals) {
  const volumes = new Map();
  for (const { network, asset, paid } of totals) {
    const key = `${network}/${asset}`;
    const known = volumes.get(key) ?? { network, asset, count: 0, atomic: 0n };
    known.count += Number(paid.count);
    known.atomic += BigInt(paid.amount);
    volumes.set(key, known);
  }
  return [...volumes.values()].filter(({ count }) => count > 0).sort((a, b) => b.count - a.count);
}

/** Settlements as the totals of one page of them. */
export const totalsOfPage = (settlements) =>
  settlements
    .filter(({ paid, payment }) => paid && payment !== undefined)
    .map(({ payment: { network, asset, amount, settledAmount } }) => ({
      network,
      asset,
      paid: { count: '1', amount: settledAmount ?? amount },
    }));

/** What was paid for, and what ended without a payment, by the states of totals. */
export function outcomesOf(totals) {
  const ofStates = (names) =>
    sum(totals.flatMap(({ states }) => names.map((name) => Number(states[name] ?? 0))));
  return {
    succeeded: sum(totals.map(({ paid }) => Number(paid.count))),
    refused: ofStates(['reverted', 'expired', 'withdrawn', 'foreign']),
  };
}

/**
 * What gas costs and how long it lasts, by the price that lanes count with now; `undefined` where it cannot be told.
 *
 * @param perDay - settlements of this network in the last day.
 */
export function gasOf({ lanes }, perDay) {
  const settling = lanes.filter(
    ({ treasury, settlementsLeft }) =>
      treasury === undefined && settlementsLeft < Number.MAX_SAFE_INTEGER,
  );
  const left = sum(settling.map(({ settlementsLeft }) => settlementsLeft));
  const balance = sum(settling.map((lane) => Number(lane.balance)));
  if (settling.length === 0) return undefined;
  return {
    balance,
    spent: left === 0 || perDay === undefined ? undefined : (balance / left) * perDay,
    daysLeft: perDay === undefined || perDay === 0 ? undefined : left / perDay,
  };
}
