import { Address } from '../components/address.js';
import { Amount } from '../components/amount.js';
import { Fields } from '../components/fields.js';
import { number, percent, queryOf } from '../components/format.js';
import { html, useEffect, useRef } from '../components/html.js';
import { Empty, ErrorBox, Off } from '../components/notes.js';
import { usePolled } from '../components/polled.js';
import { Table } from '../components/table.js';
import { ask } from './api.js';
import { clearChart, drawChart } from './chart.js';
import { outcomesOf } from './figures.js';
import { linesOf } from './lines.js';
import { go, hrefOf } from './place.js';

const DAY_MS = 86_400_000;
const FRESH_MS = 60_000;
const USUAL_DAYS = 7;
const DAYS = [1, 7, 30, 90].map((days) => [String(days), days === 1 ? '24 hours' : `${days} days`]);
const VALUES = {
  payments: ({ paid }) => Number(paid.count),
  // A chart has no room for seventy digits; the table has.
  amount: ({ paid }) => Number(paid.amount),
};

/** By payee, most payments first, with its totals of each token. */
export function sellersOf(totals) {
  const sellers = new Map();
  for (const total of totals) {
    const known = sellers.get(total.payTo) ?? {
      payTo: total.payTo,
      network: total.network,
      totals: [],
    };
    known.totals.push(total);
    sellers.set(total.payTo, known);
  }
  return [...sellers.values()]
    .map((seller) => ({ ...seller, ...outcomesOf(seller.totals) }))
    .sort((a, b) => b.succeeded - a.succeeded);
}

const Volumes = ({ totals }) =>
  totals
    .filter(({ paid }) => paid.count !== '0')
    .map(
      ({ network, asset, paid }) =>
        html`<div><${Amount} atomic=${paid.amount} network=${network} asset=${asset} /></div>`,
    );

const sellerColumns = (from) => [
  {
    name: 'Paid to',
    cell: ({ payTo, network }) => html`<${Address} value=${payTo} network=${network} />`,
  },
  { name: 'Settled', cell: ({ succeeded }) => number(succeeded), isNumber: true },
  { name: 'Failed', cell: ({ refused }) => number(refused), isNumber: true },
  {
    name: 'Success rate',
    cell: ({ succeeded, refused }) =>
      succeeded + refused === 0 ? '–' : percent(succeeded / (succeeded + refused)),
    isNumber: true,
  },
  { name: 'Volume', cell: ({ totals }) => html`<${Volumes} totals=${totals} />`, isNumber: true },
  {
    name: '',
    cell: ({ payTo }) => html`<a href=${hrefOf('settlements', { payTo, from })}>Settlements</a>`,
  },
];

function Chart({ totals, from, value }) {
  const box = useRef();
  const chart = linesOf(totals, {
    from,
    to: new Date().toISOString().slice(0, 10),
    valueOf: VALUES[value],
  });
  const text = JSON.stringify(chart);
  useEffect(() => {
    drawChart(box.current, chart);
    return clearChart;
  }, [text]);
  return html`<div
      ref=${box}
      class="chart"
      role="img"
      aria-label=${`${value} a day; the table below has the numbers`}
    ></div>
    ${
      value === 'amount' &&
      chart.lines.length > 1 &&
      html`<p class="quiet">Amounts of two tokens cannot be compared: choose one.</p>`
    }
    ${chart.left > 0 && html`<p class="quiet">${chart.left} more tokens are in the table only.</p>`}`;
}

const DAY_COLUMNS = [
  { name: 'Day (UTC)', cell: ({ day }) => day },
  { name: 'Network', cell: ({ network }) => network },
  {
    name: 'Token',
    cell: ({ asset, network }) => html`<${Address} value=${asset} network=${network} />`,
  },
  { name: 'Settled', cell: ({ paid }) => number(paid.count), isNumber: true },
  {
    name: 'Volume',
    cell: ({ network, asset, paid }) =>
      html`<${Amount} atomic=${paid.amount} network=${network} asset=${asset} />`,
    isNumber: true,
  },
  {
    name: 'By state',
    cell: ({ states }) =>
      Object.entries(states)
        .map(([state, count]) => `${state} ${count}`)
        .join(', '),
  },
];

function Days({ from, filters, value }) {
  const path = `history/totals?${queryOf({ ...filters, from })}`;
  const { answer, error } = usePolled(() => ask(path), FRESH_MS, path);
  const totals = answer?.totals ?? [];
  return html`<div id="totals">
    <${ErrorBox} error=${error} />
    ${
      answer !== undefined &&
      (totals.length === 0
        ? html`<${Empty}>Nothing was settled in this time.<//>`
        : html`<${Chart} totals=${totals} from=${from} value=${value} />
            <details>
              <summary>The numbers by day and token</summary>
              <div class="scroll">
                <${Table}
                  label="Totals by day"
                  columns=${DAY_COLUMNS}
                  rows=${totals}
                  keyOf=${({ day, network, asset }) => `${day} ${network} ${asset}`}
                />
              </div>
            </details>`)
    }
  </div>`;
}

const fieldsFor = ({ networks }) => [
  { name: 'days', label: 'Time', options: DAYS },
  {
    name: 'network',
    label: 'Network',
    options: [['', 'every'], ...networks.map(({ network }) => [network, network])],
  },
  { name: 'asset', label: 'Token', placeholder: '0x…' },
  {
    name: 'value',
    label: 'Chart',
    options: [
      ['payments', 'payments a day'],
      ['amount', 'amount a day'],
    ],
  },
];

function Payees({ from, filters }) {
  const path = `history/totals?${queryOf({ ...filters, from, groupBy: 'payee,asset' })}`;
  const { answer, error, isLoading } = usePolled(() => ask(path), FRESH_MS, path);
  return html`<div id="sellers" class="scroll" aria-busy=${isLoading ? 'true' : undefined}>
    <${ErrorBox} error=${error} />
    ${
      answer &&
      html`<${Table}
        label="Sellers"
        columns=${sellerColumns(from)}
        rows=${sellersOf(answer.totals)}
        keyOf=${({ payTo }) => payTo}
        empty="No seller was paid in this time."
      />`
    }
  </div>`;
}

/** Who was paid, how much, and day by day. */
export function Sellers({ overview, fields }) {
  if (!overview.history.enabled) {
    return html`<${Off}>Sums by seller need a history: set <code>DATABASE_URL</code>.<//>`;
  }
  const { days = String(USUAL_DAYS), value = 'payments', network, asset } = fields;
  const from = new Date(Date.now() - (Number(days) || USUAL_DAYS) * DAY_MS)
    .toISOString()
    .slice(0, 10);
  const filters = { network, asset };
  return html`<${Fields}
      label="Which sellers"
      fields=${fieldsFor(overview)}
      values=${{ ...fields, days, value }}
      submit="Show"
      isAsked=${Object.keys(fields).length > 0}
      onAsk=${(given) => go('sellers', given)}
    />
    <${Payees} from=${from} filters=${filters} />
    <h2>Day by day</h2>
    <${Days} from=${from} filters=${filters} value=${value} />`;
}
