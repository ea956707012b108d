import { Fields } from '../components/fields.js';
import { queryOf } from '../components/format.js';
import { html } from '../components/html.js';
import { Off } from '../components/notes.js';
import { Table } from '../components/table.js';
import { Time } from '../components/time.js';
import { ask } from './api.js';
import { Pages, usePages } from './paged.js';
import { go } from './place.js';

const FRESH_MS = 10_000;

const COLUMNS = [
  { name: 'When (UTC)', cell: ({ at }) => html`<${Time} at=${at} />` },
  { name: 'API key', cell: ({ by }) => by },
  { name: 'Action', cell: ({ action }) => action },
  { name: 'Network', cell: ({ network }) => network },
  { name: 'Subject', cell: ({ subject }) => subject, isLong: true },
  { name: 'Reason', cell: ({ reason }) => reason, isLong: true },
];

const fieldsFor = ({ networks }) => [
  { name: 'by', label: 'API key' },
  { name: 'subject', label: 'Subject', placeholder: '56:0x…, payee:0x…, host:…', isWide: true },
  {
    name: 'network',
    label: 'Network',
    options: [['', 'every'], ...networks.map(({ network }) => [network, network])],
  },
  { name: 'from', label: 'From (UTC)', type: 'date' },
  { name: 'to', label: 'Before (UTC)', type: 'date' },
];

/** What operators did. */
export function Audit({ overview, fields }) {
  const hasHistory = overview.history.enabled;
  const load = async (before) => {
    if (!hasHistory) return { rows: [] };
    const { actions, next } = await ask(`audit?${queryOf({ ...fields, before })}`);
    return { rows: actions, next };
  };
  const pages = usePages(load, FRESH_MS, JSON.stringify(fields));
  if (!hasHistory) return html`<${Off}>The audit is off: set <code>DATABASE_URL</code>.<//>`;
  return html`<${Fields}
      label="Which actions"
      fields=${fieldsFor(overview)}
      values=${fields}
      onAsk=${(given) => go('audit', given)}
    />
    <div id="actions">
      <${Pages} pages=${pages}>
        <${Table}
          label="What operators did"
          columns=${COLUMNS}
          rows=${pages.rows}
          keyOf=${({ id }) => id}
          empty="No operator has done anything yet."
        />
      <//>
    </div>`;
}
