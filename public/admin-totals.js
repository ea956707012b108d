/** What was settled day by day: a chart to look at, and a table with every digit. */

import { clearChart, drawChart } from './admin-chart.js';
import { cells, code, element, moment, numberCell, row, table } from './admin-common.js';
import { linesOf } from './admin-lines.js';

const VALUES = {
  payments: ({ paid }) => Number(paid.count),
  // A chart has no room for seventy digits; the table has.
  amount: ({ paid }) => Number(paid.amount),
};

function totalRow({ day, network, asset, paid, states }) {
  const others = Object.entries(states).map(([state, count]) => `${state} ${count}`);
  return row(
    ...cells(day, network, code(asset)),
    numberCell(paid.count),
    numberCell(paid.amount),
    ...cells(others.join(', ')),
  );
}

/** The last day that is asked for; the end of a time does not belong to it. */
function lastDay(to) {
  const end = to === '' ? Date.now() : Date.parse(to) - 1;
  return moment(new Date(Math.min(end, Date.now())).toISOString()).slice(0, 10);
}

export function showTotals(room, { totals }, { value, fields }) {
  clearChart();
  const box = element('div', { class: 'chart', role: 'img' });
  const rows = totals.map(totalRow);
  const columns = ['Day (UTC)', 'Network', 'Asset', 'Payments', 'Amount (atomic)', 'By state'];
  const chart = linesOf(totals, {
    from: fields.from,
    to: lastDay(fields.to),
    valueOf: VALUES[value],
  });
  box.setAttribute('aria-label', `${value} a day; the table below has the numbers`);
  room.replaceChildren(
    box,
    ...(value === 'amount' && chart.lines.length > 1
      ? [element('p', { class: 'quiet' }, 'Amounts of two assets are not alike: name one.')]
      : []),
    ...(chart.left === 0
      ? []
      : [element('p', { class: 'quiet' }, `${chart.left} more assets are in the table alone.`)]),
    element(
      'details',
      {},
      element('summary', {}, `The numbers of ${rows.length} groups`),
      table(columns, rows, 'Nothing was settled in this time.'),
    ),
  );
  if (rows.length === 0) box.replaceChildren(element('p', {}, 'Nothing was settled in this time.'));
  else drawChart(box, chart);
}

export function clearTotals() {
  clearChart();
}
