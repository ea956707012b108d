import { Id } from '../components/address.js';
import { Fields } from '../components/fields.js';
import { moment, number } from '../components/format.js';
import { html } from '../components/html.js';
import { Off, State } from '../components/notes.js';
import { Table } from '../components/table.js';
import { Time } from '../components/time.js';
import { ask } from './api.js';
import { Pages, usePages } from './paged.js';
import { go, hrefOf } from './place.js';
import { queryOf } from '../components/format.js';

const FRESH_MS = 10_000;

const FIELDS = [
  {
    name: 'status',
    label: 'State',
    options: [['', 'any'], ...['enabled', 'failing', 'disabled'].map((one) => [one, one])],
  },
  { name: 'owner', label: 'API key' },
];

function lastAnswer({ last }) {
  if (last === undefined) return 'nothing was sent yet';
  const said = [last.status, last.problem].filter((part) => part !== undefined).join(', ');
  return `${moment(last.at)}: ${said === '' ? last.state : said}`;
}

function StateOf({ webhook: { status, confirmedAt, failingSince, disabled } }) {
  const isWell = failingSince === undefined && confirmedAt !== undefined;
  const tone = status === 'disabled' ? 'bad' : isWell ? 'good' : 'warn';
  const why =
    disabled !== undefined
      ? `${disabled.reason}, ${moment(disabled.at)}`
      : confirmedAt === undefined
        ? 'its URL has not answered the challenge'
        : failingSince && `nothing reaches it since ${moment(failingSince)}`;
  return html`<${State} name=${status} tone=${tone} />
    ${why !== undefined && html`<div class="quiet">${why}</div>`}`;
}

const COLUMNS = [
  { name: 'State', cell: (webhook) => html`<${StateOf} webhook=${webhook} />` },
  { name: 'API key', cell: ({ owner }) => owner },
  { name: 'URL', cell: ({ url }) => url, isLong: true },
  { name: 'Description', cell: ({ description }) => description, isLong: true },
  { name: 'Last answer', cell: lastAnswer, isLong: true },
  {
    name: 'Waiting',
    cell: ({ backlog }) => `${number(backlog.waiting)}${backlog.isMore ? ' and more' : ''}`,
    isNumber: true,
  },
  {
    name: '',
    cell: ({ id }) => html`<a href=${hrefOf('webhooks', { id })}>Deliveries</a>`,
  },
];

const DELIVERY_COLUMNS = [
  { name: 'Happened (UTC)', cell: ({ happenedAt }) => html`<${Time} at=${happenedAt} />` },
  { name: 'Event', cell: ({ type }) => type },
  {
    name: 'State',
    cell: ({ state, attempts }) =>
      html`<${State} name=${state} />
        <div class="quiet">${attempts === 1 ? '1 attempt' : `${attempts} attempts`}</div>`,
  },
  { name: 'Last attempt', cell: ({ triedAt }) => html`<${Time} at=${triedAt} />` },
  { name: 'Next', cell: ({ dueAt }) => html`<${Time} at=${dueAt} />` },
  {
    name: 'Answer',
    cell: ({ status, problem, answer }) =>
      [status, problem, answer].filter((part) => part !== undefined).join(' · '),
    isLong: true,
  },
  { name: 'Event id', cell: ({ eventId }) => html`<${Id} value=${eventId} isShort />` },
  {
    name: '',
    cell: ({ settlementId }) =>
      settlementId && html`<a href=${hrefOf('settlement', { id: settlementId })}>Settlement</a>`,
  },
];

function Deliveries({ id }) {
  const load = async (before) => {
    const path = `webhooks/${encodeURIComponent(id)}/deliveries?${queryOf({ before })}`;
    const { deliveries, next } = await ask(path);
    return { rows: deliveries, next };
  };
  const pages = usePages(load, FRESH_MS, id);
  return html`<p><a href=${hrefOf('webhooks')}>All webhooks</a></p>
    <h2>Deliveries to <code>${id}</code></h2>
    <div id="deliveries">
      <${Pages} pages=${pages}>
        <${Table}
          label="Deliveries"
          columns=${DELIVERY_COLUMNS}
          rows=${pages.rows}
          keyOf=${({ eventId }) => eventId}
          empty="Nothing was sent to it yet."
        />
      <//>
    </div>`;
}

function List({ fields }) {
  const load = async (after) => {
    const { webhooks, next } = await ask(`webhooks?${queryOf({ ...fields, after })}`);
    return { rows: webhooks, next };
  };
  const pages = usePages(load, FRESH_MS, JSON.stringify(fields));
  return html`<${Fields}
      label="Which webhooks"
      fields=${FIELDS}
      values=${fields}
      onAsk=${(given) => go('webhooks', given)}
    />
    <div id="webhooks">
      <${Pages} pages=${pages}>
        <${Table}
          label="Webhooks"
          columns=${COLUMNS}
          rows=${pages.rows}
          keyOf=${({ id }) => id}
          empty="No webhook. Sellers make them with POST /v2/webhooks."
        />
      <//>
    </div>`;
}

export function Webhooks({ overview: { history }, fields }) {
  if (!history.enabled) {
    return html`<${Off}
      >Webhooks are off: set <code>DATABASE_URL</code> and <code>WEBHOOK_KEY</code>.<//
    >`;
  }
  if (!history.webhooks) return html`<${Off}>Webhooks are off: set <code>WEBHOOK_KEY</code>.<//>`;
  const { id, ...filters } = fields;
  return id === undefined ? html`<${List} fields=${filters} />` : html`<${Deliveries} id=${id} />`;
}
