import { ask, attempt, byId, make, Refusal, say } from './asking.js';
import { signingForm } from './signing.js';

/**
 * The page where an owner sees who is let in, what they may spend and have paid, and ends it. What agents,
 * applications and sellers say is shown as text. Plain JavaScript: there is no build.
 */

/** In the memory of this page and nowhere else: who closes it is signed out. */
let token;

const me = (path, body, options) => ask(`v1/wallets/me${path}`, body, { token, ...options });

/** Does it, and goes back to the form where the token is not good any more. */
function act(work) {
  return attempt(async () => {
    try {
      await work();
    } catch (error) {
      if (error instanceof Refusal && error.status === 401) showEntry();
      throw error;
    }
  });
}

function showEntry() {
  token = undefined;
  byId('entry').hidden = false;
  byId('approval').hidden = true;
  byId('signature').value = '';
  for (const id of ['wallet', 'refresh', 'leave']) byId(id).hidden = true;
  // Nothing of the wallet stays on a screen that nobody is signed in at.
  for (const id of ['access', 'rules-in-force', 'balances', 'payments']) byId(id).replaceChildren();
}

function timeOf(seconds) {
  return seconds === undefined ? 'not seen' : new Date(seconds * 1000).toLocaleString();
}

function table(names, rows) {
  const head = make('tr', {}, ...names.map((name) => make('th', { scope: 'col' }, name)));
  const lines = rows.map((cells) =>
    make('tr', {}, ...cells.map((cell) => make('td', { class: 'long' }, cell))),
  );
  const whole = make('table', {}, make('thead', {}, head), make('tbody', {}, ...lines));
  return make('div', { class: 'scroll' }, whole);
}

/** How a token was given out, in words. */
const HOW = {
  approval: (code) => `An agent you let in by the code ${code ?? 'it showed'}`,
  legacy: () => 'An agent that signed the constant message',
  nonce: () => 'You, signed in as the owner',
};

function endButton(path) {
  const button = make('button', { type: 'button' }, 'End it');
  button.addEventListener('click', () =>
    act(async () => {
      await me(path, undefined, { method: 'DELETE' });
      await showAll();
      say('It is ended, with the links to files that it made.');
    }),
  );
  return button;
}

async function accessRows() {
  const [{ grants }, { tokens }] = await Promise.all([me('/grants'), me('/tokens')]);
  const ofGrants = grants.map(({ id, client, host, scopes, createdAt, expiresAt, lastUsedAt }) => [
    `The application “${client.name}”, answered at ${host}`,
    scopes.join(', '),
    ...[createdAt, lastUsedAt, expiresAt].map(timeOf),
    endButton(`/grants/${encodeURIComponent(id)}`),
  ]);
  const ofTokens = tokens.map(({ id, role, by, code, isThis, ...times }) => [
    isThis ? 'This page' : (HOW[by]?.(code) ?? by),
    role === 'owner' ? 'everything, rules too' : 'pay within the rules',
    ...[times.createdAt, times.lastUsedAt, times.expiresAt].map(timeOf),
    isThis ? '' : endButton(`/tokens/${encodeURIComponent(id)}`),
  ]);
  return [...ofGrants, ...ofTokens];
}

async function showAccess(place) {
  const names = ['who', 'may', 'since', 'last used', 'until', ''];
  place.replaceChildren(table(names, await accessRows()));
}

function limitsTable(limits, windowHours) {
  const names = ['token', 'a payment', 'asks above', `in ${windowHours} hours`, 'spent', 'left'];
  return table(
    names,
    limits.map(({ symbol, asset, perPayment, askAbove, budget, spent, left }) => [
      `${symbol} (${asset.split('/')[0]})`,
      perPayment.decimal,
      askAbove?.decimal ?? 'never',
      ...[budget, spent, left].map(({ decimal }) => decimal),
    ]),
  );
}

async function showRules(place) {
  const { limits, payeeLists, otherPayees, scopes, windowHours, active } = await me('/policy');
  const lists = payeeLists.flatMap(({ name, payees, limits: own }) => [
    make('h3', {}, `Tighter for ${name}`),
    make('p', { class: 'quiet' }, payees.join(', ')),
    limitsTable(own, windowHours),
  ]);
  const others = otherPayees ? 'Anybody may be paid.' : 'Nobody else may be paid.';
  const more =
    scopes.length === 0 ? 'Nothing else is signed.' : `Also signed: ${scopes.join(', ')}.`;
  place.replaceChildren(
    limits.length === 0 ? 'No payments.' : limitsTable(limits, windowHours),
    ...lists,
    make('p', {}, `${others} ${more}`),
  );
  byId('state').textContent = active ? 'open to its agents' : 'stopped';
  byId('state').className = active ? 'state good' : 'state bad';
  byId('stop').hidden = !active;
  byId('start').hidden = active;
}

async function showBalances(place) {
  const { balances, unreadable } = await me('/balance');
  const rows = balances.map(({ decimal, symbol, network }) => [decimal, `${symbol} (${network})`]);
  const missing = unreadable.length === 0 ? '' : `Not read just now: ${unreadable.join(', ')}`;
  place.replaceChildren(table(['amount', 'token'], rows), make('p', { class: 'quiet' }, missing));
}

async function showPayments(place) {
  const { payments } = await me('/payments?limit=20');
  if (payments.length === 0) {
    place.replaceChildren('None yet.');
    return;
  }
  const rows = payments.map(({ at, status, amount, url, payTo, transaction }) => [
    new Date(at).toLocaleString(),
    status.replaceAll('_', ' '),
    amount === undefined ? '' : `${amount.decimal} ${amount.symbol}`,
    url,
    payTo ?? '',
    transaction ?? '',
  ]);
  const names = ['when', 'outcome', 'amount', 'what for', 'to', 'transaction'];
  place.replaceChildren(table(names, rows));
}

const PARTS = {
  access: showAccess,
  'rules-in-force': showRules,
  balances: showBalances,
  payments: showPayments,
};

/** Each part by itself: a node that is away hides the balances, and nothing else. */
async function showAll() {
  const { ethereum, owner } = await me('');
  byId('wallet-address').textContent = ethereum;
  byId('owner').textContent = owner;
  const shown = Object.entries(PARTS).map(async ([id, show]) => {
    try {
      await show(byId(id));
    } catch (error) {
      if (error instanceof Refusal && error.status === 401) throw error;
      byId(id).replaceChildren(error instanceof Error ? error.message : 'It cannot be shown now.');
    }
  });
  await Promise.all(shown);
  byId('entry').hidden = true;
  for (const id of ['wallet', 'refresh', 'leave']) byId(id).hidden = false;
}

function onClick(id, work) {
  byId(id).addEventListener('click', () => act(work));
}

onClick('refresh', showAll);

onClick('leave', async () => {
  await ask('v1/logout', {}, { token });
  showEntry();
  say('You are signed out.');
});

onClick('stop', async () => {
  await me('/stop', {});
  await showAll();
  say('It is stopped: nothing is paid until you let it pay again.');
});

onClick('start', async () => {
  const rules = await me('/policy');
  await me('/policy', { ...rules, active: true }, { method: 'PUT' });
  await showAll();
  say('It may pay again, by the same rules.');
});

onClick('end-all', async () => {
  if (
    !globalThis.confirm(
      'End every agent and application, and this page? Links to files that they made end, too.',
    )
  )
    return;
  await ask('v1/logout/all', {}, { token });
  showEntry();
  say('All of them are ended, with the links to files that they made. You are signed out.');
});

signingForm(byId('form'), {
  show: 'Show what I sign',
  send: 'Sign in',
  canMake: true,
  challenge: (address) => ask('v1/login/nonce', { address }),
  submit: async (signed) => {
    ({ token } = await ask('v1/login', signed));
    await act(showAll);
  },
});
