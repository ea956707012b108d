import { Address } from '../components/address.js';
import { Chains } from '../components/chains.js';
import { Confirm } from '../components/dialog.js';
import { coins, duration, number } from '../components/format.js';
import { html, useState } from '../components/html.js';
import { State } from '../components/notes.js';
import { Table } from '../components/table.js';
import { Time } from '../components/time.js';
import { ask } from './api.js';
import { attemptColumns } from './attempts.js';
import { TROUBLES } from './troubles.js';

const WINDOW_SHOWN = 100;
const WEI_PER_COIN = 1e18;

const ACTIONS = {
  pause: [
    'Pause',
    'It sends nothing new until an operator resumes it, and follows what it has sent.',
  ],
  resume: ['Resume', 'It takes work again.'],
  retire: ['Retire', 'It takes only payments that name it, and is no longer offered to sellers.'],
  reinstate: ['Reinstate', 'It takes any payment again, and is offered to sellers.'],
};

/** The account nonces in flight, oldest first, in the room there is for them. */
function NonceBars({ lane: { attempts, window: room, oldestNonce, nextNonce } }) {
  const slots = Math.min(Math.max(room, attempts.length, 1), WINDOW_SHOWN);
  const label =
    attempts.length === 0
      ? 'nothing in flight'
      : `nonces ${oldestNonce} to ${nextNonce - 1} in flight`;
  return html`<div class="nonces" role="img" aria-label=${label}>
    ${Array.from({ length: slots }, (_, index) => html`<i class=${index < attempts.length ? 'used' : ''}></i>`)}
  </div>`;
}

const CARRIES = {
  name: 'Carries',
  cell: ({ kind, settlementIds }) =>
    kind === 'noop' ? 'nothing (no-op)' : `${kind}, settlements: ${settlementIds.length}`,
};

const Switched = ({ what, by, at }) =>
  html`<div class="quiet">${what} by ${by}, <${Time} at=${at} /> UTC.</div>`;

/** What it may still send today, and what it sent last. */
function Treasury({ treasury, network, coin }) {
  const { dailyCapWei, spentTodayWei, lastRefill } = treasury;
  const whole = (wei) => `${coins(Number(wei) / WEI_PER_COIN)} ${coin}`;
  return html`<div class="quiet">
    Treasury: ${whole(spentTodayWei)} of ${whole(dailyCapWei)} spent today.${' '}
    ${
      lastRefill === undefined
        ? 'No refill yet.'
        : html`Last refill <${Time} at=${lastRefill.at} />: ${whole(lastRefill.valueWei)} to${' '}
            <${Address} value=${lastRefill.to} network=${network} />`
    }
  </div>`;
}

const flightText = ({ inFlight, window: room, nextNonce, oldestInFlightMs, inclusionMs }) =>
  [
    `${inFlight} of ${room} in flight`,
    `next nonce ${nextNonce}`,
    inFlight > 0 && `oldest for ${duration(oldestInFlightMs)}`,
    inclusionMs > 0 && `included after ${duration(inclusionMs)}`,
  ]
    .filter(Boolean)
    .join(', ');

function Lane({ lane, network, coin, onAct }) {
  const { trouble, paused, retiring, treasury, attempts } = lane;
  const tone = trouble === null ? 'good' : trouble === 'paused' ? 'warn' : 'bad';
  const act = (action) =>
    html`<button type="button" onClick=${() => onAct(lane, action)}>${ACTIONS[action][0]}</button>`;
  return html`<article class="card lane">
    <div class="lane-head">
      <h3><${Address} value=${lane.signer} network=${network} /></h3>
      <div class="buttons">
        ${act(paused === null ? 'pause' : 'resume')}
        ${act(retiring === null ? 'retire' : 'reinstate')}
      </div>
    </div>
    <p>
      <${State} name=${trouble ?? 'working'} tone=${tone} />${' '}
      ${trouble !== null && html`<span class="quiet">${TROUBLES[trouble] ?? ''}</span>`}
    </p>
    ${paused !== null && html`<${Switched} what="Paused" ...${paused} />`}
    ${retiring !== null && html`<${Switched} what="Retiring" ...${retiring} />`}
    ${
      retiring === null &&
      lane.isRetiring &&
      treasury === undefined &&
      html`<div class="quiet">Retiring, by the setting <code>RETIRING_SIGNERS</code>.</div>`
    }
    <p>
      <strong>${coins(Number(lane.balance))} ${coin}</strong>, enough for${' '}
      <strong>${number(lane.settlementsLeft)}</strong> settlements at the current gas price.
    </p>
    ${
      treasury !== undefined &&
      html`<${Treasury} treasury=${treasury} network=${network} coin=${coin} />`
    }
    <${NonceBars} lane=${lane} />
    <div class="quiet">${flightText(lane)}</div>
    ${
      attempts.length > 0 &&
      html`<details>
        <summary>${attempts.length} transactions not final</summary>
        <div class="scroll">
          <${Table}
            label="Transactions not final"
            columns=${attemptColumns(network, CARRIES)}
            rows=${attempts}
            keyOf=${({ accountNonce }) => accountNonce}
          />
        </div>
      </details>`
    }
  </article>`;
}

export function Lanes({ overview, refresh }) {
  const [asked, setAsked] = useState();
  const onAct = (lane, action) => setAsked({ lane, action });
  const act = async () => {
    await ask(`lanes/${encodeURIComponent(asked.lane.lane)}/${asked.action}`, { method: 'POST' });
    refresh();
  };
  return html`<${Chains.Consumer}>
      ${({ coinOf }) =>
        overview.networks.map(
          ({ network, lanes }) =>
            html`<section key=${network}>
              <h2>${network}</h2>
              ${
                lanes.length === 0
                  ? html`<p class="notice bad">
                      No worker holds a lane of this network. Set <code>SIGNER_KEYS</code> for a
                      process with the role worker.
                    </p>`
                  : lanes.map(
                      (lane) =>
                        html`<${Lane}
                          key=${lane.lane}
                          lane=${lane}
                          network=${network}
                          coin=${coinOf(network)}
                          onAct=${onAct}
                        />`,
                    )
              }
            </section>`,
        )}
    <//>
    ${
      asked !== undefined &&
      html`<${Confirm}
        key=${`${asked.action} ${asked.lane.lane}`}
        title=${html`${ACTIONS[asked.action][0]} <code class="long">${asked.lane.signer}</code>`}
        effect=${ACTIONS[asked.action][1]}
        name=${ACTIONS[asked.action][0]}
        isDanger=${asked.action === 'pause' || asked.action === 'retire'}
        act=${act}
        onClose=${() => setAsked(undefined)}
      />`
    }`;
}
