/** The first page: whether the service works now, and where. The rest of it stands in the page already. */

import { Address } from '../components/address.js';
import { ask, urlOf } from '../components/ask.js';
import { html, render } from '../components/html.js';
import { usePolled } from '../components/polled.js';
import { Table } from '../components/table.js';
import { Time } from '../components/time.js';

const REFRESH_MS = 10_000;

/** A health report is an answer whatever its status. */
async function healthNow() {
  const response = await fetch(urlOf('health'), { cache: 'no-store' });
  return { isUp: response.ok, at: Date.now(), report: await response.json().catch(() => ({})) };
}

async function networksNow() {
  const [{ kinds = [] }, { assets = [] }] = await Promise.all([
    ask('supported').catch(() => ({})),
    ask('v2/assets').catch(() => ({})),
  ]);
  const networks = [...new Set(kinds.map(({ network }) => network))].filter((network) =>
    network.includes(':'),
  );
  return networks.map((network) => ({
    network,
    schemes: [
      ...new Set(kinds.filter((kind) => kind.network === network).map(({ scheme }) => scheme)),
    ],
    tokens: assets.filter((one) => one.network === network),
  }));
}

const failing = ({ error = {} }) => Object.keys(error);

function Light({ answer, error }) {
  if (error !== undefined)
    return html`<strong class="bad light">The service does not answer.</strong>`;
  if (answer === undefined) return html`<span class="quiet">Status: loading</span>`;
  const { isUp, at, report } = answer;
  return html`<strong class=${`light ${isUp ? 'good' : 'bad'}`}>
      ${isUp ? 'All systems work.' : `Not ready: ${failing(report).join(', ') || 'see /health'}.`}
    </strong>
    ${' '}<span class="quiet">as of <${Time} at=${at} /> UTC</span>`;
}

const Networks = ({ networks }) =>
  networks.length > 0 &&
  html`<h2>Networks</h2>
    <${Table}
      label="Networks"
      rows=${networks}
      keyOf=${({ network }) => network}
      columns=${[
        { name: 'Network', cell: ({ network }) => html`<code>${network}</code>` },
        { name: 'Schemes', cell: ({ schemes }) => schemes.join(', ') },
        {
          name: 'Known tokens',
          cell: ({ tokens }) =>
            tokens.length === 0
              ? 'none named; any token that supports EIP-3009 or Permit2'
              : tokens.map(
                  ({ symbol, asset, network }) =>
                    html`<div>
                      ${symbol ?? ''} <${Address} value=${asset} network=${network} />
                    </div>`,
                ),
          isLong: true,
        },
      ]}
    />`;

function Status() {
  const health = usePolled(healthNow, REFRESH_MS, '');
  const { answer: networks = [] } = usePolled(networksNow, 0, '');
  return html`<p><${Light} ...${health} /></p>
    <${Networks} networks=${networks} />`;
}

const place = document.getElementById('status');
place.replaceChildren();
place.removeAttribute('aria-busy');
render(html`<${Status} />`, place);
const own = document.getElementById('facilitator-url');
if (own !== null) own.textContent = urlOf('').href.replace(/\/$/, '');
