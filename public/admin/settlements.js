import { Address, Transaction } from '../components/address.js';
import { Amount } from '../components/amount.js';
import { Confirm } from '../components/dialog.js';
import { Fields } from '../components/fields.js';
import { short } from '../components/format.js';
import { html, useState } from '../components/html.js';
import { ErrorBox, Off, State } from '../components/notes.js';
import { Table } from '../components/table.js';
import { Time } from '../components/time.js';
import { ask } from './api.js';
import { askedOf, firstPage, nextPage } from './listing.js';
import { Pages, usePages } from './paged.js';
import { go, hrefOf } from './place.js';

const FRESH_MS = 3000;
const STATES = [
  'queued',
  'broadcast',
  'included',
  'finalized',
  'reverted',
  'expired',
  'foreign',
  'withdrawn',
];
const SCHEMES = ['exact', 'upto', 'batch-settlement'];
const ACTIONS = ['deposit', 'claim', 'settle', 'refund'];
const SALES = [
  ['', 'any'],
  ['unclaimed', 'paid, not delivered'],
];

/** Goods hang on a payment and on a deposit; no request waits for another action of a channel. */
export const isUndelivered = ({ paid, sale, payment }) =>
  paid && sale === 'open' && [undefined, 'deposit'].includes(payment?.action);

/** Of settlements, wherever they are listed. */
export const settlementColumns = [
  {
    name: 'Claimed (UTC)',
    cell: ({ times, settlementId }) =>
      html`<a href=${hrefOf('settlement', { id: settlementId })}>
        ${times?.claimed === undefined ? short(settlementId) : html`<${Time} at=${times.claimed} />`}
        <span class="offscreen">${` settlement ${settlementId}`}</span>
      </a>`,
  },
  {
    name: 'State',
    cell: ({ state, reason, sale, paid, payment, times }) =>
      html`<${State} name=${state} />
        ${payment?.action && html`<div class="quiet">channel: ${payment.action}</div>`}
        ${reason !== undefined && html`<div class="quiet">${reason}</div>`}
        ${
          // An operator who closes it takes this time away.
          times?.unclaimed !== undefined &&
          isUndelivered({ paid, sale, payment }) &&
          html`<div class="quiet">not delivered yet</div>`
        }`,
  },
  {
    name: 'Amount',
    isNumber: true,
    cell: ({ payment }) =>
      payment &&
      html`<${Amount}
        atomic=${payment.settledAmount ?? payment.amount}
        network=${payment.network}
        asset=${payment.asset}
      />`,
  },
  {
    name: 'From, to',
    cell: ({ payment }) =>
      payment &&
      html`<div><${Address} value=${payment.payer} network=${payment.network} /></div>
        <div><${Address} value=${payment.payTo} network=${payment.network} /></div>`,
  },
  {
    name: 'Transaction',
    cell: ({ transaction, payment }) =>
      html`<${Transaction} value=${transaction} network=${payment?.network} isShort />`,
  },
];

const fieldsFor = ({ networks, settles24h }, { action }) => [
  {
    name: 'search',
    label: 'Payer, transaction or settlement id',
    type: 'search',
    isWide: true,
  },
  { name: 'payTo', label: 'Paid to', placeholder: '0x…' },
  { name: 'state', label: 'State', options: [['', 'any'], ...STATES.map((one) => [one, one])] },
  // Asked where this service knows of it.
  ...(networks.some(({ unclaimed }) => unclaimed !== undefined)
    ? [{ name: 'sale', label: 'Delivery', options: SALES }]
    : []),
  { name: 'scheme', label: 'Scheme', options: [['', 'any'], ...SCHEMES.map((one) => [one, one])] },
  // Asked where channels are used.
  ...((settles24h?.channels ?? []).length > 0 || action !== undefined
    ? [
        {
          name: 'action',
          label: 'Action of a channel',
          options: [['', 'any'], ...ACTIONS.map((one) => [one, one])],
        },
      ]
    : []),
  {
    name: 'network',
    label: 'Network',
    options: [['', 'every'], ...networks.map(({ network }) => [network, network])],
  },
  { name: 'asset', label: 'Token', placeholder: '0x…' },
  { name: 'leastAmount', label: 'At least (atomic units)' },
  { name: 'from', label: 'From (UTC)', type: 'date' },
  { name: 'to', label: 'Before (UTC)', type: 'date' },
];

export function Settlements({ overview, fields }) {
  const asked = askedOf(fields);
  const hasHistory = overview.history.enabled;
  const load = async (cursor) => {
    const page =
      cursor === undefined
        ? await firstPage(ask, asked, hasHistory)
        : await nextPage(ask, asked, hasHistory, cursor);
    return { rows: page.settlements, next: page.nextCursor, problem: page.problem };
  };
  const pages = usePages(load, FRESH_MS, JSON.stringify(asked));
  const problem = pages.answer?.problem;
  const [closing, setClosing] = useState();
  const close = async () => {
    await ask(`settlements/${encodeURIComponent(closing)}/close`, { method: 'POST' });
    pages.refresh();
  };
  const columns =
    asked.sale === 'unclaimed'
      ? [
          ...settlementColumns,
          {
            name: '',
            cell: ({ settlementId }) =>
              html`<button class="quiet" onClick=${() => setClosing(settlementId)}>
                Close<span class="offscreen">${` ${settlementId}`}</span>
              </button>`,
          },
        ]
      : settlementColumns;
  return html`<${Fields}
      label="Which settlements"
      fields=${fieldsFor(overview, fields)}
      values=${fields}
      onAsk=${(given) => go('settlements', given)}
    />
    ${
      !hasHistory &&
      html`<${Off}>
        Only what Redis holds is listed: set <code>DATABASE_URL</code> to keep a history.
      <//>`
    }
    <${ErrorBox} error=${problem} />
    <div id="settlements">
      <${Pages} pages=${pages}>
        <${Table}
          label="Settlements"
          columns=${columns}
          rows=${pages.rows}
          keyOf=${({ settlementId }) => settlementId}
          empty=${Object.keys(fields).length === 0 ? 'No settlement yet.' : 'No settlement found.'}
        />
      <//>
    </div>
    ${
      closing !== undefined &&
      html`<${Confirm}
        key=${closing}
        title=${html`Close <code class="long">${closing}</code>`}
        effect="It leaves this list and the count. Close what was delivered or refunded by hand. Its seller can still repeat the settle."
        name="Close"
        act=${close}
        onClose=${() => setClosing(undefined)}
      />`
    }`;
}
