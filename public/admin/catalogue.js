import { Address } from '../components/address.js';
import { Confirm } from '../components/dialog.js';
import { Fields } from '../components/fields.js';
import { queryOf } from '../components/format.js';
import { html, useState } from '../components/html.js';
import { Off, State } from '../components/notes.js';
import { Table } from '../components/table.js';
import { Time } from '../components/time.js';
import { ask } from './api.js';
import { Pages, usePages } from './paged.js';
import { go } from './place.js';

const FRESH_MS = 15_000;
const EFFECTS = {
  deny: 'On every network, at once: it hides the entries there are and refuses new ones. Payments are settled as before.',
  allow:
    'Entries that were not forgotten meanwhile are shown again, and the next payments are listed.',
};
const NAMES = { deny: 'Deny', allow: 'Allow' };

const FIELDS = [
  { name: 'text', label: 'Words of name, URL or description', type: 'search', isWide: true },
  { name: 'payTo', label: 'Payee', placeholder: '0x…' },
  { name: 'host', label: 'Host' },
];

const KINDS = [
  ['payee', 'payee'],
  ['host', 'host'],
];

function Decision({ isDenied, kind, value, decide }) {
  const what = isDenied ? 'allow' : 'deny';
  return html`<button type="button" onClick=${() => decide({ what, kind, value })}>
    ${`${NAMES[what]} ${kind}`}
  </button>`;
}

const entryColumns = (decide) => [
  {
    name: 'State',
    cell: ({ state, denials }) =>
      html`<${State} name=${state} /> ${denials.map(
          ({ kind, reason }) =>
            html`<div class="quiet">${reason === '' ? kind : `${kind}: ${reason}`}</div>`,
        )}`,
    isLong: true,
  },
  { name: 'Last paid (UTC)', cell: ({ lastPaidAt }) => html`<${Time} at=${lastPaidAt} />` },
  { name: 'Network', cell: ({ network }) => network },
  {
    name: 'Resource',
    cell: ({ call, resource, serviceName, description }) =>
      html`<div>${`${call} ${resource}`}</div>
        <div class="quiet">
          ${[serviceName, description].filter((one) => one !== undefined).join(': ')}
        </div>`,
    isLong: true,
  },
  {
    name: 'Payee',
    cell: ({ payTo, network, otherPayees }) =>
      html`<${Address} value=${payTo} network=${network} />
        ${otherPayees > 0 && html`<div class="quiet">and ${otherPayees} more</div>`}`,
  },
  {
    name: '',
    cell: (entry) => {
      const isDenied = (kind) => entry.denials.some((one) => one.kind === kind);
      return html`<div class="buttons">
        <${Decision}
          isDenied=${isDenied('payee')}
          kind="payee"
          value=${entry.payTo}
          decide=${decide}
        />
        <${Decision}
          isDenied=${isDenied('host')}
          kind="host"
          value=${entry.host}
          decide=${decide}
        />
      </div>`;
    },
  },
];

const denialColumns = (decide) => [
  { name: 'Since (UTC)', cell: ({ at }) => html`<${Time} at=${at} />` },
  { name: 'API key', cell: ({ by }) => (by === '' ? 'by hand' : by) },
  { name: 'Kind', cell: ({ kind }) => kind },
  { name: 'Value', cell: ({ value }) => value, isLong: true },
  { name: 'Reason', cell: ({ reason }) => reason, isLong: true },
  {
    name: '',
    cell: ({ kind, value }) =>
      html`<${Decision} isDenied=${true} kind=${kind} value=${value} decide=${decide} />`,
  },
];

function DenyForm({ decide }) {
  const onSubmit = (event) => {
    event.preventDefault();
    const { kind, value } = Object.fromEntries(new FormData(event.currentTarget));
    decide({ what: 'deny', kind, value: value.trim() });
  };
  return html`<form
    id="deny-something"
    class="fields"
    aria-label="Deny a payee or a host"
    onSubmit=${onSubmit}
  >
    <label>
      <span>Kind</span>
      <select name="kind">
        ${KINDS.map(([key, text]) => html`<option value=${key}>${text}</option>`)}
      </select>
    </label>
    <label class="wide">
      <span>Address or host</span>
      <input name="value" autocomplete="off" spellcheck=${false} required />
    </label>
    <div class="buttons"><button type="submit" class="danger">Deny</button></div>
  </form>`;
}

function Shown({ fields }) {
  const [asked, decide] = useState();
  const entries = usePages(
    async (after) => {
      const { entries: rows, next } = await ask(
        `catalogue/entries?${queryOf({ ...fields, after })}`,
      );
      return { rows, next };
    },
    FRESH_MS,
    JSON.stringify(fields),
  );
  const denials = usePages(
    async (after) => {
      const { denials: rows, next } = await ask(`catalogue/denials?${queryOf({ after })}`);
      return { rows, next };
    },
    FRESH_MS,
    '',
  );
  const act = async (reason) => {
    const { what, kind, value } = asked;
    await ask(`catalogue/${what}`, {
      method: 'POST',
      body: JSON.stringify({ kind, value, reason }),
    });
    entries.refresh();
    denials.refresh();
  };
  return html`<${Fields}
      label="Which entries"
      fields=${FIELDS}
      values=${fields}
      onAsk=${(given) => go('catalogue', given)}
    />
    <div id="entries">
      <${Pages} pages=${entries}>
        <${Table}
          label="Entries"
          columns=${entryColumns(decide)}
          rows=${entries.rows}
          keyOf=${({ id }) => id}
          empty="No results."
        />
      <//>
    </div>
    <h2>Denied</h2>
    <div id="denials">
      <${Pages} pages=${denials}>
        <${Table}
          label="Denials"
          columns=${denialColumns(decide)}
          rows=${denials.rows}
          keyOf=${({ kind, value }) => `${kind} ${value}`}
          empty="No payee or host is denied."
        />
      <//>
    </div>
    <h3>Deny a payee or a host</h3>
    <${DenyForm} decide=${decide} />
    ${
      asked !== undefined &&
      html`<${Confirm}
        key=${JSON.stringify(asked)}
        title=${html`${`${NAMES[asked.what]} the ${asked.kind} `}<code class="long">${asked.value}</code>`}
        effect=${EFFECTS[asked.what]}
        name=${NAMES[asked.what]}
        hasReason
        isDanger=${asked.what === 'deny'}
        act=${act}
        onClose=${() => decide(undefined)}
      />`
    }`;
}

/** What is listed, what is denied, and why. */
export function Catalogue({ overview: { history }, fields }) {
  if (!history.enabled)
    return html`<${Off}>The catalogue is off: set <code>DATABASE_URL</code>.<//>`;
  if (!history.catalogue) {
    return html`<${Off}>The catalogue is off: set <code>CATALOGUE=true</code>.<//>`;
  }
  return html`<${Shown} fields=${fields} />`;
}
