/**
 * The page where an owner adds money, sets the limits, approves what waits, sees who has access and what was paid,
 * and ends it. What agents, applications and sellers say is shown as text.
 */

import { ActionButton, Outcome, useAction } from '../components/action.js';
import { Address, Transaction } from '../components/address.js';
import { ask, Refusal, urlOf } from '../components/ask.js';
import { Confirm } from '../components/dialog.js';
import { html, render, useRef, useState } from '../components/html.js';
import { Empty, ErrorBox, State } from '../components/notes.js';
import { usePolled } from '../components/polled.js';
import { Table } from '../components/table.js';
import { Time } from '../components/time.js';
import { Limits, RulesForm } from './rules-form.js';
import { browserWallet, Signing } from './signing.js';
import { COIN, addMoney, withdraw } from './token-moves.js';

/** What waits for the owner comes by itself. */
const REFRESH_MS = 15_000;

const PARTS = {
  policy: '/policy',
  balance: '/balance',
  asks: '/asks',
  grants: '/grants',
  tokens: '/tokens',
  payments: '/payments?limit=20',
};

/** Each part by itself: a node that is away hides the balances, and nothing else. @throws Refusal of the token. */
async function loadAll(me) {
  const facts = await me('');
  const loaded = await Promise.all(
    Object.entries(PARTS).map(async ([name, path]) => {
      try {
        return [name, { is: await me(path) }];
      } catch (error) {
        if (error instanceof Refusal && error.status === 401) throw error;
        return [name, { error }];
      }
    }),
  );
  return { facts, ...Object.fromEntries(loaded) };
}

/** A part of the page, or why it cannot be shown. */
const Part = ({ id, of: part, show }) =>
  html`<div id=${id}>
    ${part.error === undefined ? show(part.is) : html`<${ErrorBox} error=${part.error} />`}
  </div>`;

const seconds = (at) => (at === undefined ? 'never' : html`<${Time} at=${at * 1000} />`);

/** How a token was given out, in words. */
const HOW = {
  approval: (code) => `Agent approved by the code ${code ?? 'it showed'}`,
  legacy: () => 'Agent that signed the constant message',
  nonce: () => 'You, signed in as the owner',
};

function accessRows(grants, tokens) {
  return [
    ...grants.map(({ id, client, host, scopes, ...times }) => ({
      id: `/grants/${encodeURIComponent(id)}`,
      who: `Application “${client.name}”, answered at ${host}`,
      may: scopes.join(', '),
      ...times,
    })),
    ...tokens.map(({ id, role, by, code, isThis, ...times }) => ({
      id: isThis ? undefined : `/tokens/${encodeURIComponent(id)}`,
      who: isThis ? 'This page' : (HOW[by]?.(code) ?? by),
      may: role === 'owner' ? 'everything, limits too' : 'pay within the limits',
      ...times,
    })),
  ];
}

function Access({ grants, tokens, action, me, refresh }) {
  const revoke = (path) => async () => {
    await me(path, { method: 'DELETE' });
    await refresh();
    return 'Access revoked, with the links to files that it made.';
  };
  return html`<${Table}
    label="Access"
    rows=${accessRows(grants, tokens)}
    keyOf=${({ id }) => id ?? 'this'}
    empty="Nobody has access."
    columns=${[
      { name: 'Who', cell: ({ who }) => who, isLong: true },
      { name: 'May', cell: ({ may }) => may, isLong: true },
      { name: 'Since', cell: ({ createdAt }) => seconds(createdAt) },
      { name: 'Last used', cell: ({ lastUsedAt }) => seconds(lastUsedAt) },
      { name: 'Until', cell: ({ expiresAt }) => seconds(expiresAt) },
      {
        name: '',
        cell: ({ id }) =>
          id !== undefined &&
          html`<${ActionButton} of=${action} work=${revoke(id)} name="Revoke" kind="danger" />`,
      },
    ]}
  />`;
}

function Waiting({ asks, action, refresh }) {
  const deny = (id) => async () => {
    await ask(`v1/asks/${encodeURIComponent(id)}/deny`, { body: {} });
    await refresh();
    return 'Denied. Nothing is paid.';
  };
  return html`<${Table}
    label="Payments that wait for you"
    rows=${asks.filter(({ status }) => status === 'awaiting_owner')}
    keyOf=${({ ask: id }) => id}
    empty="No payment waits for you."
    columns=${[
      { name: 'At most', cell: ({ amount }) => `${amount.decimal} ${amount.symbol}` },
      { name: 'For', cell: ({ url }) => url, isLong: true },
      { name: 'To', cell: ({ payTo }) => html`<${Address} value=${payTo} />`, isLong: true },
      { name: 'Expires', cell: ({ expiresAt }) => html`<${Time} at=${expiresAt} />` },
      {
        name: '',
        cell: ({ ask: id }) =>
          html`<span class="buttons">
            <a class="button primary" href=${urlOf('wallet/ask', { id })}>Review and approve</a>
            <${ActionButton} of=${action} work=${deny(id)} name="Deny" kind="danger" />
          </span>`,
      },
    ]}
  />`;
}

/** What money can be added in: the tokens, and the coin of each network. */
function choicesOf({ balances, unreadable }, networks) {
  const tokens = balances.map(({ symbol, asset, network }) => ({ symbol, asset, network }));
  const unread = (unreadable ?? []).map((name) => {
    const [network, asset] = name.split('/');
    return { symbol: asset, asset, network };
  });
  const coins = (networks ?? []).map((network) => ({
    symbol: 'native coin',
    asset: COIN,
    network,
  }));
  return [...tokens, ...unread, ...coins];
}

const TokenChoice = ({ choices }) =>
  html`<label>
    <span>Token</span>
    <select name="token">
      ${choices.map(
        ({ symbol, network, asset }) =>
          html`<option key=${`${network}/${asset}`} value=${`${network}/${asset}`}>
            ${`${symbol} (${network})`}
          </option>`,
      )}
    </select>
  </label>`;

const AmountField = ({ isRequired }) =>
  html`<label>
    <span>${isRequired ? 'Amount' : 'Amount (may be left empty)'}</span>
    <input
      name="amount"
      inputmode="decimal"
      pattern="[0-9]+([.][0-9]+)?"
      autocomplete="off"
      required=${isRequired}
    />
  </label>`;

/** How much of which token a form names, in smallest units as the service counts them. */
async function askedOf(form, choices, me) {
  const chosen = form.get('token');
  const choice = choices.find((one) => `${one.network}/${one.asset}` === chosen);
  if (choice === undefined) throw new Error('Choose the token again: its balance cannot be read.');
  const { asset, network, symbol } = choice;
  const amount = form.get('amount').trim();
  const token = asset === COIN ? 'native' : asset;
  const answer = await me('/fund', { body: { token, network, ...(amount !== '' && { amount }) } });
  return { asset, network, symbol, amount, answer };
}

function AddMoney({ address, owner, choices, action, me, canSend }) {
  const [shown, setShown] = useState();
  const form = useRef();
  const asked = () => askedOf(new FormData(form.current), choices, me);
  const onSubmit = (event) => {
    event.preventDefault();
    void action.run(async () => {
      setShown((await asked()).answer);
    });
  };
  const onSend = async () => {
    if (!form.current.reportValidity()) return undefined;
    const { asset, network, symbol, amount, answer } = await asked();
    if (amount === '') throw new Error('Name an amount.');
    const { atomic } = answer.request;
    const hash = await addMoney({ owner, wallet: address, asset, network, atomic });
    return `Sent ${amount} ${symbol} to the wallet in transaction ${hash}.`;
  };
  return html`<details id="fund" class="card">
    <summary>Add money</summary>
    <p>
      Send tokens of a network named here to this address:
      <${Address} value=${address} />
    </p>
    <form ref=${form} class="fields" onSubmit=${onSubmit}>
      <${TokenChoice} choices=${choices} />
      <${AmountField} />
      <div class="buttons">
        <button type="submit" disabled=${action.isBusy}>Show QR code</button>
        ${
          canSend &&
          html`<${ActionButton}
            of=${action}
            id="send-money"
            work=${onSend}
            name="Send from my browser wallet"
          />`
        }
      </div>
    </form>
    ${
      shown !== undefined &&
      html`<p>
        <img
          id="qr"
          src=${`data:${shown.qr.mimeType};base64,${shown.qr.data}`}
          alt="QR code of the request below"
        />
        <br />
        ${
          shown.request === undefined
            ? html`<code class="long">${shown.qrText}</code>`
            : html`<a class="long" href=${shown.request.uri}>${shown.request.uri}</a>`
        }
      </p>`
    }
  </details>`;
}

function Withdraw({ address, owner, choices, action, me, canSend }) {
  const tokens = choices.filter(({ asset }) => asset !== COIN);
  const onSubmit = (event) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    void action.run(async () => {
      const { asset, network, symbol, amount, answer } = await askedOf(form, tokens, me);
      const hash = await withdraw({
        owner,
        wallet: address,
        asset,
        network,
        atomic: answer.request.atomic,
        call: (body) => me('/rpc', { body }),
      });
      return `Sent ${amount} ${symbol} to ${owner} in transaction ${hash}.`;
    });
  };
  return html`<details id="withdraw" class="card">
    <summary>Withdraw</summary>
    ${
      canSend
        ? html`<p class="quiet">
              Goes to your own address. Your browser wallet pays the gas. It counts against the
              limits like a payment, and must not be above “Ask me above”. Raise the limits first if
              they are too low.
            </p>
            <form class="fields" onSubmit=${onSubmit}>
              <${TokenChoice} choices=${tokens} />
              <${AmountField} isRequired=${true} />
              <div class="buttons">
                <button type="submit" disabled=${action.isBusy}>Withdraw to my address</button>
              </div>
            </form>`
        : html`<p class="quiet">
            Sign in with a browser wallet: money goes to its address, and it pays the gas. The
            address of a passkey holds no money.
          </p>`
    }
  </details>`;
}

const Payments = ({ payments }) =>
  html`<${Table}
    label="Newest payments"
    rows=${payments}
    empty="No payments yet."
    columns=${[
      { name: 'When', cell: ({ at }) => html`<${Time} at=${at} />` },
      { name: 'Outcome', cell: ({ status }) => html`<${State} name=${wordsOf(status)} />` },
      {
        name: 'Amount',
        cell: ({ amount }) => (amount === undefined ? '' : `${amount.decimal} ${amount.symbol}`),
      },
      { name: 'For', cell: ({ url }) => url, isLong: true },
      { name: 'To', cell: ({ payTo }) => html`<${Address} value=${payTo} />`, isLong: true },
      {
        name: 'Transaction',
        cell: ({ transaction }) => html`<${Transaction} value=${transaction} isShort=${true} />`,
      },
    ]}
  />`;

const wordsOf = (status) => status.replaceAll('_', ' ');

function Rules({ rules, balance, me, refresh, action }) {
  const [isOpen, setOpen] = useState(false);
  const { limits, payeeLists, otherPayees, scopes, windowHours } = rules;
  const save = async (changed) => {
    await me('/policy', { method: 'PUT', body: changed });
    setOpen(false);
    await action.run(async () => {
      await refresh();
      return 'The new limits are in force.';
    });
  };
  const assets = balance.is === undefined ? [] : choicesOf(balance.is);
  return html`<${Limits} label="Limits" limits=${limits} windowHours=${windowHours} />
    ${payeeLists.map(
      ({ name, payees, limits: own }) =>
        html`<h3>Tighter for ${name}</h3>
          <p class="quiet long">${payees.join(', ')}</p>
          <${Limits} label=${`Limits for ${name}`} limits=${own} windowHours=${windowHours} />`,
    )}
    <p>
      ${
        otherPayees
          ? html`<span class="warn">Any payee may be paid.</span>`
          : 'Only payees on your lists may be paid.'
      }
      ${scopes.length === 0 ? ' Nothing else is signed.' : ` Also signed: ${scopes.join(', ')}.`}
    </p>
    ${
      isOpen
        ? html`<${RulesForm}
            rules=${rules}
            assets=${assets.map(({ asset, network, symbol }) => ({
              asset: `${network}/${asset}`.toLowerCase(),
              symbol,
            }))}
            save=${save}
            onClose=${() => setOpen(false)}
          />`
        : html`<button id="change-limits" type="button" onClick=${() => setOpen(true)}>
            Change limits
          </button>`
    }`;
}

const Balances = ({ balances, unreadable }) =>
  html`<${Table}
      label="Balances"
      rows=${balances}
      empty="No balance could be read."
      columns=${[
        { name: 'Amount', cell: ({ decimal }) => decimal },
        { name: 'Token', cell: ({ symbol, network }) => `${symbol} (${network})` },
      ]}
    />
    ${
      unreadable.length > 0 &&
      html`<p class="quiet long">Not read just now: ${unreadable.join(', ')}</p>`
    }`;

function Standing({ facts, policy, action, me, refresh }) {
  const { active } = policy.is ?? facts;
  const stop = async () => {
    await me('/stop', { body: {} });
    await refresh();
    return 'Stopped: nothing is paid until you resume payments.';
  };
  const start = async () => {
    const rules = await me('/policy');
    await me('/policy', { method: 'PUT', body: { ...rules, active: true } });
    await refresh();
    return 'Payments resumed, within the same limits.';
  };
  return html`<section class="card">
    <p>
      Wallet <span id="wallet-address"><${Address} value=${facts.ethereum} /></span> of ${' '}<code
        id="owner"
        class="long"
        >${facts.owner}</code
      >
    </p>
    <p>
      <span id="state"
        ><${State}
          name=${active ? 'open to its agents' : 'stopped'}
          tone=${active ? 'good' : 'bad'}
      /></span>
    </p>
    ${
      active
        ? html`<${ActionButton}
            of=${action}
            id="stop"
            kind="danger"
            work=${stop}
            name="Stop all payments"
          />`
        : html`<${ActionButton} of=${action} id="start" work=${start} name="Resume payments" />`
    }
  </section>`;
}

/** Nothing of a wallet stays on a screen that nobody is signed in at. */
function Wallet({ token, by, leave }) {
  const action = useAction();
  const [isEnding, setEnding] = useState(false);
  const me = async (path, options) => {
    try {
      return await ask(`v1/wallets/me${path}`, { token, ...options });
    } catch (error) {
      if (error instanceof Refusal && error.status === 401) {
        leave('Your sign-in has ended. Sign in again.');
      }
      throw error;
    }
  };
  const { answer, error, refresh } = usePolled(() => loadAll(me), REFRESH_MS, token);
  const signOut = async () => {
    await ask('v1/logout', { body: {}, token });
    leave('You are signed out.');
  };
  const endAll = async () => {
    await ask('v1/logout/all', { body: {}, token });
    leave('All access is revoked, with the links to files. You are signed out.');
  };
  const bar = html`<header class="bar">
    <h1>Wallet</h1>
    <${ActionButton}
      of=${action}
      id="refresh"
      work=${async () => void (await refresh())}
      name="Refresh"
    />
    <${ActionButton} of=${action} id="leave" work=${signOut} name="Sign out" />
  </header>`;
  if (answer === undefined) {
    return html`${bar}
    ${error === undefined ? html`<${Empty}>Loading<//>` : html`<${ErrorBox} error=${error} />`}`;
  }
  const { facts, policy, balance, asks, grants, tokens, payments } = answer;
  const shared = { action, me, refresh };
  const money = {
    ...shared,
    address: facts.ethereum,
    owner: facts.owner,
    canSend: by === 'wallet' && browserWallet !== undefined,
  };
  const access =
    grants.error === undefined && tokens.error === undefined
      ? { is: { grants: grants.is.grants, tokens: tokens.is.tokens } }
      : { error: grants.error ?? tokens.error };
  return html`${bar}
    <${Outcome} of=${action} />
    <${ErrorBox} error=${error} />
    <div id="wallet">
      <${Standing} facts=${facts} policy=${policy} ...${shared} />
      <section>
        <h2>Waiting for you</h2>
        <${Part}
          id="asks"
          of=${asks}
          show=${(is) => html`<${Waiting} asks=${is.asks} ...${shared} />`}
        />
      </section>
      <section>
        <h2>Money</h2>
        <${Part} id="balances" of=${balance} show=${(is) => html`<${Balances} ...${is} />`} />
        ${
          balance.is !== undefined &&
          html`<${AddMoney} ...${money} choices=${choicesOf(balance.is, facts.networks)} />
            <${Withdraw} ...${money} choices=${choicesOf(balance.is)} />`
        }
      </section>
      <section>
        <h2>Limits</h2>
        <${Part}
          id="rules-in-force"
          of=${policy}
          show=${(is) => html`<${Rules} rules=${is} balance=${balance} ...${shared} />`}
        />
      </section>
      <section>
        <h2>Access</h2>
        <p class="quiet">
          Names of applications are their own claim. Revoking is immediate and final: to return, an
          agent asks you again.
        </p>
        <${Part}
          id="access"
          of=${access}
          show=${(is) => html`<${Access} ...${is} ...${shared} />`}
        />
        <p>
          <button id="end-all" type="button" class="danger" onClick=${() => setEnding(true)}>
            Revoke all access and sign out
          </button>
        </p>
      </section>
      <section>
        <h2>Newest payments</h2>
        <${Part}
          id="payments"
          of=${payments}
          show=${(is) => html`<${Payments} payments=${is.payments} />`}
        />
      </section>
      ${
        isEnding &&
        html`<${Confirm}
          title="Revoke all access?"
          effect="Every agent and application, and this page, are signed out. Links to files that they made end, too."
          name="Revoke all"
          isDanger=${true}
          act=${endAll}
          onClose=${() => setEnding(false)}
        />`
      }
    </div>`;
}

function Page() {
  const [session, setSession] = useState();
  const [said, setSaid] = useState();
  const action = useAction();
  const leave = (why) => {
    setSession(undefined);
    setSaid(why);
  };
  if (session !== undefined) return html`<${Wallet} ...${session} leave=${leave} />`;
  return html`<h1>Wallet</h1>
    <p>
      Your agents pay from this wallet, within limits that you set. Sign in as its owner to add
      money, change the limits, approve payments and revoke access.
    </p>
    ${
      said !== undefined && action.error === undefined && !action.isBusy
        ? html`<p id="outcome" role="status" class="notice">${said}</p>`
        : html`<${Outcome} of=${action} />`
    }
    <${Signing}
      send="Sign in"
      action=${action}
      canMake=${true}
      challenge=${(address) => ask('v1/login/nonce', { body: { address } })}
      submit=${async (signed, by) => {
        const { token } = await ask('v1/login', { body: signed });
        setSession({ token, by });
      }}
    />`;
}

render(html`<${Page} />`, document.getElementById('app'));
