import { Address, Transaction } from '../components/address.js';
import { Chains } from '../components/chains.js';
import { Fields } from '../components/fields.js';
import { coins, moment, number, queryOf } from '../components/format.js';
import { html } from '../components/html.js';
import { Off } from '../components/notes.js';
import { Table } from '../components/table.js';
import { Time } from '../components/time.js';
import { ask } from './api.js';
import { Pages, usePages } from './paged.js';
import { go, hrefOf } from './place.js';

const FRESH_MS = 30_000;
const WEI_PER_COIN = 1e18;

const countsOf = (counts) =>
  Object.entries(counts)
    .map(([name, count]) => `${name}: ${count}`)
    .join(', ');

const COLUMNS = [
  {
    name: 'Finished (UTC)',
    cell: ({ id, finishedAt }) =>
      html`<a href=${hrefOf('reconciliation', { run: id })}>
        <${Time} at=${finishedAt} />
        <span class="offscreen">${` run ${id}`}</span>
      </a>`,
  },
  { name: 'Network', cell: ({ network }) => network },
  { name: 'Started by', cell: ({ startedBy }) => startedBy },
  { name: 'Checked (UTC)', cell: ({ from, to }) => `${moment(from)} to ${moment(to)}` },
  { name: 'Settlements', cell: ({ settlements }) => number(settlements), isNumber: true },
  {
    name: 'Differences',
    cell: ({ differences }) =>
      html`<span class=${differences === 0 ? 'good' : 'bad'}>
        ${differences === 0 ? 'none' : number(differences)}
      </span>`,
  },
  { name: 'By name', cell: ({ counts }) => countsOf(counts), isLong: true },
];

const differenceColumns = (network) => [
  {
    name: 'Name',
    cell: ({ name, isNote, meaning }) =>
      html`<span class=${isNote ? 'quiet' : 'bad'}>${name}</span>
        <div class="quiet">${meaning}</div>`,
    isLong: true,
  },
  {
    name: 'Settlement',
    cell: ({ settlementId }) =>
      settlementId && html`<a href=${hrefOf('settlement', { id: settlementId })}>Settlement</a>`,
  },
  {
    name: 'Transaction',
    cell: ({ transaction }) =>
      html`<${Transaction} value=${transaction} network=${network} isShort />`,
  },
  {
    name: 'Lane',
    cell: ({ lane }) => lane && html`<${Address} value=${lane} network=${network} />`,
  },
  { name: 'Block', cell: ({ block }) => block, isNumber: true },
  { name: 'History', cell: ({ expected }) => expected, isLong: true },
  { name: 'Chain', cell: ({ found }) => found, isLong: true },
];

const laneColumns = (network, coin) => {
  const whole = (wei) =>
    wei === undefined ? 'not read' : `${coins(Number(wei) / WEI_PER_COIN)} ${coin}`;
  return [
    { name: 'Lane', cell: ({ lane }) => html`<${Address} value=${lane} network=${network} />` },
    { name: 'Transactions', cell: ({ transactions }) => number(transactions), isNumber: true },
    { name: 'Fees', cell: ({ feesWei }) => whole(feesWei), isNumber: true },
    { name: 'Left', cell: ({ balanceAfterWei }) => whole(balanceAfterWei), isNumber: true },
  ];
};

function Run({ id }) {
  const load = async (after) => {
    const run = await ask(`reconciliations/${encodeURIComponent(id)}?${queryOf({ after })}`);
    return { rows: run.found, next: run.next, run };
  };
  const pages = usePages(load, 0, id);
  const run = pages.answer?.run;
  return html`<p><a href=${hrefOf('reconciliation')}>All runs</a></p>
    <div id="run">
      ${run && html`<h2>Run ${run.id} of ${run.network}, <${Time} at=${run.finishedAt} /> UTC</h2>`}
      <${Pages} pages=${pages}>
        <${Table}
          label="Differences"
          columns=${differenceColumns(run?.network)}
          rows=${pages.rows}
          keyOf=${({ number: at }) => at}
          empty="The history agrees with the chain."
        />
      <//>
      ${
        run &&
        html`<h2>Lanes</h2>
          <div class="scroll">
            <${Chains.Consumer}>
              ${({ coinOf }) =>
                html`<${Table}
                  label="Lanes of the run"
                  columns=${laneColumns(run.network, coinOf(run.network))}
                  rows=${run.lanes}
                  keyOf=${({ lane }) => lane}
                  empty="No lane sent anything in this time."
                />`}
            <//>
          </div>`
      }
    </div>`;
}

function Runs({ overview: { networks, history }, fields }) {
  const load = async (before) => {
    const { runs, next } = await ask(`reconciliations?${queryOf({ ...fields, before })}`);
    return { rows: runs, next };
  };
  const pages = usePages(load, FRESH_MS, JSON.stringify(fields));
  const options = [['', 'every'], ...networks.map(({ network }) => [network, network])];
  return html`${
      !history.reconciles &&
      html`<${Off}>
        No daily run: set <code>RECONCILE_AT</code>, or start one with
        <code>npm run reconcile</code>.
      <//>`
    }
    <${Fields}
      label="Which runs"
      fields=${[{ name: 'network', label: 'Network', options }]}
      values=${fields}
      onAsk=${(given) => go('reconciliation', given)}
    />
    <div id="runs">
      <${Pages} pages=${pages}>
        <${Table}
          label="Runs"
          columns=${COLUMNS}
          rows=${pages.rows}
          keyOf=${({ id }) => id}
          empty="No reconciliation yet."
        />
      <//>
    </div>`;
}

export function Reconciliation({ overview, fields }) {
  if (!overview.history.enabled) {
    return html`<${Off}>
      Reconciliation is off: set <code>DATABASE_URL</code> and <code>RECONCILE_AT</code>.
    <//>`;
  }
  const { run, ...filters } = fields;
  return run === undefined
    ? html`<${Runs} overview=${overview} fields=${filters} />`
    : html`<${Run} id=${run} />`;
}
