/** The page that checks a seller. It keeps nothing. What a seller says is shown as text. */

import { plural } from '../components/format.js';
import { useAction } from '../components/action.js';
import { Address } from '../components/address.js';
import { ask } from '../components/ask.js';
import { html, render, useState } from '../components/html.js';
import { Table } from '../components/table.js';

/** Class of a severity in the style sheet. */
const CLASSES = { error: 'bad', warning: 'warn', note: 'quiet' };
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

function headline({ isSound, status, counts }) {
  if (status === undefined) return ['The seller could not be asked.', 'bad'];
  if (isSound) return ['Ready to be paid: a stock buyer can pay.', 'good'];
  const count = `${plural(counts.error, 'error')}, ${plural(counts.warning, 'warning')}.`;
  return [`It answered ${status}. ${count}`, counts.error > 0 ? 'bad' : 'warn'];
}

const Finding = ({ code, severity, path, expected, got, fix }) =>
  html`<div class="card finding">
    <p>
      <span class=${`state ${CLASSES[severity]}`}>${severity}</span> <code>${code}</code> at${' '}
      <code>${path}</code>
    </p>
    <p>${fix}</p>
    <p class="quiet">Expected: ${expected}</p>
    ${got !== undefined && html`<p class="quiet">Got: <code>${got}</code></p>`}
  </div>`;

const Offers = ({ offers }) =>
  offers.length > 0 &&
  html`<h2>What it offers</h2>
    <${Table}
      label="Offers"
      rows=${offers}
      columns=${[
        { name: 'Offer', cell: ({ path }) => html`<code>${path}</code>` },
        { name: 'Scheme', cell: ({ scheme, method }) => `${scheme}, ${method}` },
        { name: 'Network', cell: ({ network }) => html`<code>${network}</code>` },
        { name: 'Price', cell: ({ price, amount }) => price ?? `${amount} smallest units` },
        {
          name: 'Asset',
          cell: ({ asset, network }) => html`<${Address} value=${asset} network=${network} />`,
          isLong: true,
        },
        {
          name: 'Payee',
          cell: ({ payTo, network }) => html`<${Address} value=${payTo} network=${network} />`,
          isLong: true,
        },
      ]}
    />`;

const Report = ({ offers, findings }) =>
  html`<section id="report">
    <${Offers} offers=${offers} />
    ${findings.length > 0 && html`<h2>What was found</h2>`}
    ${findings.map((one) => html`<${Finding} ...${one} />`)}
  </section>`;

function Page() {
  const { isBusy, error, run } = useAction();
  const [report, setReport] = useState();
  const onSubmit = (event) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const [url, method, body, key] = ['url', 'method', 'body', 'key'].map((name) =>
      String(form.get(name)).trim(),
    );
    setReport(undefined);
    void run(async () => {
      const question = { url, method, ...(body !== '' && method !== 'GET' && { body }) };
      setReport(await ask('v2/doctor', { body: question, key }));
    });
  };
  const [said, tone] =
    error !== undefined
      ? [error.message, 'error']
      : isBusy
        ? ['Asking. This takes some seconds.', 'quiet']
        : report === undefined
          ? ['', '']
          : headline(report);
  return html`<h1>Check a seller</h1>
    <p>
      Asks a resource server as a buyer would, compares its terms with the chain and lists what
      keeps buyers from paying. It pays nothing.
    </p>
    <form id="ask" onSubmit=${onSubmit}>
      <div class="row">
        <select name="method" aria-label="Method">
          ${METHODS.map((method) => html`<option>${method}</option>`)}
        </select>
        <input
          name="url"
          type="url"
          maxlength="2048"
          autocomplete="off"
          spellcheck=${false}
          aria-label="URL of what is sold"
          placeholder="https://seller.example/report"
          required
        />
        <button type="submit" class="primary" disabled=${isBusy}>Check</button>
      </div>
      <details>
        <summary>Body and API key</summary>
        <div class="row">
          <input
            name="body"
            maxlength="16384"
            autocomplete="off"
            spellcheck=${false}
            aria-label="Body of the request, JSON"
            placeholder="Body as JSON, for POST, PUT and PATCH"
          />
          <input
            name="key"
            type="password"
            autocomplete="off"
            aria-label="API key"
            placeholder="API key, if one is required"
          />
        </div>
      </details>
    </form>
    <p id="outcome" role="status" class=${tone}>${said}</p>
    ${report !== undefined && html`<${Report} ...${report} />`}`;
}

render(html`<${Page} />`, document.getElementById('app'));
