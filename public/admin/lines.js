/** Totals as lines of a chart: numbers alone, nothing is drawn here. */

import { short } from '../components/format.js';

/** Of the assets with the most payments; more lines than these cannot be told apart. */
export const LINES_MOST = 7;
const DAY_S = 86_400;

const groupOf = ({ network, asset }) => `${network} ${asset}`;

/** The lines with the most payments, each as a value a day; a day without any is 0. */
export function linesOf(totals, { from, to, valueOf }) {
  const sums = new Map();
  for (const total of totals) {
    const group = groupOf(total);
    const known = sums.get(group) ?? { total, payments: 0, days: new Map() };
    known.payments += Number(total.paid.count);
    known.days.set(total.day, valueOf(total));
    sums.set(group, known);
  }
  const days = [];
  for (let at = Date.parse(from) / 1000; at <= Date.parse(to) / 1000; at += DAY_S) days.push(at);
  const names = days.map((at) => new Date(at * 1000).toISOString().slice(0, 10));
  const lines = [...sums.values()]
    .sort((a, b) => b.payments - a.payments)
    .slice(0, LINES_MOST)
    .map(({ total, days: values }) => ({
      label: `${total.network} ${short(total.asset)}`,
      values: names.map((name) => values.get(name) ?? 0),
    }));
  return { days, lines, left: Math.max(0, sums.size - LINES_MOST) };
}
