import { Address, Id, Transaction } from '../components/address.js';
import { Amount } from '../components/amount.js';
import { duration } from '../components/format.js';
import { html } from '../components/html.js';
import { Empty, ErrorBox, Off, State } from '../components/notes.js';
import { usePolled } from '../components/polled.js';
import { Table } from '../components/table.js';
import { Time } from '../components/time.js';
import { ask } from './api.js';
import { attemptColumns } from './attempts.js';
import { hrefOf } from './place.js';
import { isUndelivered } from './settlements.js';
import { stepsOf } from './steps.js';

const FRESH_MS = 3000;

function saleText({ state, requester, isBoundToKey, isSoldToKey }, isAsync) {
  return [
    state,
    requester && `to the request ${requester}`,
    isSoldToKey && 'by its idempotency key',
    isBoundToKey && 'bound to an idempotency key',
    isAsync && 'accepted with a 202',
  ]
    .filter(Boolean)
    .join(', ');
}

/** EIP-3009 and every explorer have 32 bytes in hexadecimal. */
const nonceOf = (decimal) => decimal && `0x${BigInt(decimal).toString(16).padStart(64, '0')}`;

function Facts({ life }) {
  const { settlement, network, sale, closed, isAsync, channels = [] } = life;
  const { payment = {}, transactions = [], block } = settlement;
  const before = transactions.filter((one) => one !== settlement.transaction);
  const of = (atomic) =>
    html`<${Amount} atomic=${atomic} network=${network} asset=${payment.asset} />`;
  const facts = [
    ['State', html`<${State} name=${settlement.state} /> ${settlement.reason ?? ''}`],
    ['Paid', settlement.paid ? `yes, ${settlement.finality}` : 'no'],
    ['Sale', [undefined, 'deposit'].includes(payment.action) && saleText(sale, isAsync)],
    [
      'Closed',
      closed &&
        html`<${Time} at=${closed.at} /> ${closed.by === undefined ? '' : `by ${closed.by}`}`,
    ],
    [
      'Amount',
      payment.settledAmount === undefined ? of(payment.amount) : of(payment.settledAmount),
    ],
    ['Signed for', payment.settledAmount && of(payment.amount)],
    ['From', payment.payer && html`<${Address} value=${payment.payer} network=${network} />`],
    ['To', payment.payTo && html`<${Address} value=${payment.payTo} network=${network} />`],
    ['Token', payment.asset && html`<${Address} value=${payment.asset} network=${network} />`],
    ['Network', network],
    ['Scheme', [payment.scheme, payment.method].filter(Boolean).join(', ')],
    ['Action of a channel', payment.action],
    ...channels.map(({ event, channelId, amount }) => [
      event,
      html`${of(amount)} ${channelId !== undefined && html`<div><${Id} value=${channelId} /></div>`}`,
    ]),
    [
      'Transaction',
      settlement.transaction &&
        html`<${Transaction} value=${settlement.transaction} network=${network} />`,
    ],
    [
      'Other transactions',
      before.length > 0 &&
        before.map((one) => html`<div><${Transaction} value=${one} network=${network} /></div>`),
    ],
    ['Block', block?.number],
    ['Nonce', payment.nonce && html`<${Id} value=${nonceOf(payment.nonce)} />`],
    ['Settlement id', html`<${Id} value=${settlement.settlementId} />`],
    ['Read from', settlement.source === 'archive' ? 'the history' : 'the ledger'],
  ];
  return html`<dl class="facts">
    ${facts
      .filter(([, content]) => content !== undefined && content !== '' && content !== false)
      .map(
        ([name, content]) =>
          html`<div>
            <dt>${name}</dt>
            <dd>${content}</dd>
          </div>`,
      )}
  </dl>`;
}

function Timeline({ steps }) {
  if (steps.length === 0) return html`<${Empty}>No time of it is kept.<//>`;
  return html`<ol class="timeline">
    ${steps.map(({ at, what, detail }, index) => {
      const since = index === 0 ? 0 : Date.parse(at) - Date.parse(steps[index - 1].at);
      return html`<li>
        <${Time} at=${at} />
        <div>
          <strong>${what}</strong>
          ${since > 0 && html`<span class="quiet"> + ${duration(since)}</span>`}
          ${detail !== '' && html`<div class="quiet long">${detail}</div>`}
        </div>
      </li>`;
    })}
  </ol>`;
}

const LANE = { name: 'Lane', cell: ({ lane }) => html`<code>${lane}</code>` };
const KIND = { name: 'Kind', cell: ({ kind }) => kind };

function HistoryNotes({ history }) {
  const { status, error, row, differences = [] } = history;
  return html`
    ${
      status === 'off' &&
      html`<${Off}>Events and older settlements need a history: set <code>DATABASE_URL</code>.<//>`
    }
    ${status === 'unavailable' && html`<${ErrorBox} error=${error} />`}
    ${status === 'known' && row === undefined && html`<p class="warn">It is not in the history yet.</p>`}
    ${differences.map(
      ({ runId, name, meaning, expected, found }) =>
        html`<p class="notice bad">
          <a href=${hrefOf('reconciliation', { run: runId })}>Reconciliation ${runId}</a>: ${name}.
          ${meaning ?? ''} History: ${expected ?? 'nothing'}; chain: ${found ?? 'nothing'}.
        </p>`,
    )}
  `;
}

function NotDelivered({ settlement, closed }) {
  if (!isUndelivered(settlement)) return null;
  if (closed !== undefined) {
    return html`<p class="notice">
      The payee has the money, and no request got the answer that it was paid. An operator closed it
      as delivered or refunded by hand. There is nothing left to do.
    </p>`;
  }
  return html`<p class="notice warn">
    The payee has the money, and no request got the answer that it was paid. Give the seller the
    settlement id, payer and transaction: it sends the same settle again, with its Idempotency-Key,
    and delivers. If it cannot, it refunds the buyer. Do not settle it yourself, and do not refund
    from the key of a lane. Once it was delivered or refunded by hand, close it in${' '}
    <a href=${hrefOf('settlements', { sale: 'unclaimed' })}>the list of payments not delivered</a>.
  </p>`;
}

/** One settlement from its request to its end. */
export function Life({ fields }) {
  const { id = '' } = fields;
  const load = () => ask(`settlements/${encodeURIComponent(id)}`);
  const { answer: life, error, isLoading } = usePolled(load, FRESH_MS, id);
  return html`<p><a href=${hrefOf('settlements')}>All settlements</a></p>
    <${ErrorBox} error=${error} />
    <section
      id="life"
      aria-label="The life of one settlement"
      aria-busy=${isLoading ? 'true' : undefined}
    >
      ${
        life &&
        html`<${NotDelivered} settlement=${life.settlement} closed=${life.closed} />
          <div class="card"><${Facts} life=${life} /></div>
          ${
            life.attempts.length > 0 &&
            html`<h2>On its way</h2>
              <div class="scroll">
                <${Table}
                  label="Transactions that carry it"
                  columns=${[LANE, ...attemptColumns(life.network, KIND)]}
                  rows=${life.attempts}
                  keyOf=${({ lane, accountNonce }) => `${lane} ${accountNonce}`}
                />
              </div>`
          }
          <h2>Timeline (UTC)</h2>
          <${HistoryNotes} history=${life.history} />
          <${Timeline} steps=${stepsOf(life)} />`
      }
    </section>`;
}
