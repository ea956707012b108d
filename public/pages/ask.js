/** The page where an owner approves one payment. It keeps nothing. */

import { ActionButton, Outcome, useAction } from '../components/action.js';
import { Address } from '../components/address.js';
import { ask } from '../components/ask.js';
import { html, render, useEffect, useState } from '../components/html.js';
import { ErrorBox } from '../components/notes.js';
import { Time } from '../components/time.js';
import { Signing } from './signing.js';

const id = new URLSearchParams(location.search).get('id') ?? '';
const base = `v1/asks/${encodeURIComponent(id)}`;

const OVER = {
  approved: 'You approved this. It is paid when your agent asks again.',
  denied: 'You denied this. Nothing is paid.',
  expired: 'This was not answered in time. Nothing is paid.',
  used: 'You approved this, and the payment was made.',
};

function Asked({ asked }) {
  const { amount, payTo, method, url, intentId, rule, expiresAt } = asked;
  return html`<dl id="asked" class="facts card">
    <div>
      <dt>At most</dt>
      <dd id="amount"><strong>${`${amount.decimal} ${amount.symbol}`}</strong></dd>
    </div>
    <div>
      <dt>To</dt>
      <dd id="payTo"><${Address} value=${payTo} network=${amount.network} /></dd>
    </div>
    <div>
      <dt>For</dt>
      <dd id="url">${`${method} ${url}`}</dd>
    </div>
    <div>
      <dt>Token</dt>
      <dd><${Address} value=${amount.asset} network=${amount.network} /> on ${amount.network}</dd>
    </div>
    <div>
      <dt>Purchase</dt>
      <dd id="intent">${intentId}</dd>
    </div>
    <div>
      <dt>Your rule</dt>
      <dd id="rule">${rule}</dd>
    </div>
    <div>
      <dt>Expires</dt>
      <dd id="until"><${Time} at=${expiresAt} /> UTC</dd>
    </div>
  </dl>`;
}

function Page() {
  const action = useAction();
  const [asked, setAsked] = useState();
  const [error, setError] = useState();
  const end = (status) => setAsked({ ...asked, status });
  useEffect(() => {
    if (id === '')
      setError(new Error('This address names no payment. Open the link that the agent shows.'));
    else ask(base).then(setAsked, setError);
  }, []);
  if (error !== undefined) {
    return html`<h1>Approve a payment</h1>
      <div id="outcome"><${ErrorBox} error=${error} /></div>`;
  }
  if (asked === undefined)
    return html`<h1>Approve a payment</h1>
      <p class="quiet">Loading</p>`;
  if (asked.status !== 'awaiting_owner') {
    return html`<h1>Payment ${asked.status}</h1>
      <p id="outcome" role="status" class="notice">${OVER[asked.status] ?? ''}</p>
      <${Asked} asked=${asked} />`;
  }
  return html`<h1>Approve this payment?</h1>
    <p>
      Your agent wants to pay, and your rules ask you first. Approve it only if you know what it is
      for.
    </p>
    <${Asked} asked=${asked} />
    <${Outcome} of=${action} />
    <${Signing}
      send="Approve this payment"
      action=${action}
      challenge=${(address) => ask(`${base}/nonce`, { body: { address } })}
      submit=${async (signed) => {
        await ask(`${base}/approve`, { body: signed });
        end('approved');
      }}
    >
      <${ActionButton}
        of=${action}
        id="deny"
        kind="danger"
        name="Deny"
        work=${async () => {
          await ask(`${base}/deny`, { body: {} });
          end('denied');
        }}
      />
    <//>`;
}

render(html`<${Page} />`, document.getElementById('app'));
