/**
 * The operator page. The key is kept for as long as this tab is open and goes nowhere but into the
 * header of requests to this service. Plain JavaScript: there is no build.
 */

import {
  ask,
  byId,
  code,
  duration,
  element,
  forgetKey,
  gwei,
  number,
  problemOf,
  Refused,
  settlementTable,
  short,
  storedKey,
  storeKey,
  table,
} from './admin-common.js';
import { clearHistory, openLife, showHistory } from './admin-history.js';

const REFRESH_MS = 2000;

/** What to make of a lane's trouble, for somebody who was asleep a minute ago. */
const TROUBLES = {
  silent: 'No process holds this lane. Is a worker with this key running?',
  paused: 'Paused: it sends nothing new, and follows what it has sent.',
  signer_unavailable:
    'The service that keeps the key does not sign. It goes on by itself when it does.',
  no_gas: 'The signer has no gas money left. Send it native coin; it goes on by itself.',
  budget_exhausted:
    'The daily gas budget is spent. It ends at midnight UTC, or raise GAS_BUDGET_DAILY_<chainId>.',
  gas_price_cap: 'The chain asks for more than MAX_GAS_PRICE_GWEI_<chainId>.',
  chain_unavailable: 'No endpoint of this chain answers.',
  head_stale: 'The newest block is too old: the chain or its endpoints stand still.',
  resyncing: 'It is learning from the chain where it stands. Wait.',
};

// ------------------------------------------------------------------ lanes

/** The account nonces in flight, oldest first, in the room there is for them. */
function nonceLine({ attempts, window, oldestNonce, nextNonce }) {
  const slots = Math.min(Math.max(window, attempts.length, 1), 100);
  const bars = Array.from({ length: slots }, (_, index) =>
    element('i', index < attempts.length ? { class: 'used' } : {}),
  );
  const label = `nonces ${oldestNonce} to ${nextNonce - 1} in flight`;
  return element('div', { class: 'nonces', role: 'img', 'aria-label': label }, ...bars);
}

function attemptTable(attempts) {
  return element(
    'details',
    {},
    element('summary', { class: 'quiet' }, `${attempts.length} transactions not final`),
    element(
      'table',
      {},
      element(
        'tbody',
        {},
        ...attempts.map(
          ({ accountNonce, kind, transactions, settlementIds, ageMs, maxFeePerGasWei }) =>
            element(
              'tr',
              {},
              element('td', { class: 'number' }, String(accountNonce)),
              element('td', {}, code(transactions.at(-1) ?? '')),
              element(
                'td',
                {},
                kind === 'noop' ? 'no-op' : `${settlementIds.length} settled by it`,
              ),
              element(
                'td',
                {},
                transactions.length > 1 ? `raised ${transactions.length - 1}×` : '',
              ),
              element('td', { class: 'number' }, gwei(maxFeePerGasWei)),
              element('td', { class: 'number' }, duration(ageMs)),
            ),
        ),
      ),
    ),
  );
}

const openLanes = new Set();

function switchedLine(what, { by, at }) {
  const when = new Date(at).toISOString().slice(0, 19).replace('T', ' ');
  return element('div', { class: 'quiet' }, `${what} by ${by}, ${when} UTC.`);
}

function laneCard(lane) {
  const tone = lane.trouble === null ? 'good' : lane.trouble === 'paused' ? 'warn' : 'bad';
  const isPaused = lane.paused !== null;
  const details = lane.attempts.length > 0 ? attemptTable(lane.attempts) : undefined;
  if (details !== undefined) {
    details.open = openLanes.has(lane.lane);
    details.addEventListener('toggle', () => {
      if (details.open) openLanes.add(lane.lane);
      else openLanes.delete(lane.lane);
    });
  }
  return element(
    'div',
    { class: 'card lane' },
    element(
      'div',
      {},
      element('h3', { class: 'mono', title: lane.signer }, short(lane.signer)),
      element('div', { class: `state ${tone}` }, lane.trouble ?? 'working'),
      lane.trouble === null
        ? undefined
        : element('div', { class: 'quiet' }, TROUBLES[lane.trouble] ?? ''),
      isPaused ? switchedLine('Paused', lane.paused) : undefined,
      lane.retiring === null
        ? lane.isRetiring && lane.treasury === undefined
          ? element('div', { class: 'quiet' }, 'Retiring, by RETIRING_SIGNERS.')
          : undefined
        : switchedLine('Retiring', lane.retiring),
    ),
    element(
      'div',
      {},
      element(
        'div',
        {},
        element('strong', {}, number(lane.settlementsLeft)),
        ` settlements left on ${lane.balance} coin`,
      ),
      lane.treasury === undefined ? undefined : treasuryLine(lane.treasury),
      nonceLine(lane),
      element(
        'div',
        { class: 'quiet' },
        `${lane.inFlight} of ${lane.window} in flight, next nonce ${lane.nextNonce}` +
          (lane.inFlight > 0 ? `, oldest for ${duration(lane.oldestInFlightMs)}` : '') +
          (lane.inclusionMs > 0 ? `, mined in ${duration(lane.inclusionMs)}` : ''),
      ),
      details,
    ),
    element(
      'div',
      {},
      laneButton(lane, isPaused ? 'resume' : 'pause'),
      laneButton(lane, lane.retiring === null ? 'retire' : 'reinstate'),
    ),
  );
}

/** What it may still send today, and what it sent last. */
function treasuryLine({ dailyCapWei, spentTodayWei, lastRefill }) {
  const coins = (wei) => String(Number(wei) / 1e18);
  const last =
    lastRefill === undefined
      ? 'no refill yet'
      : `last ${coins(lastRefill.valueWei)} to ${short(lastRefill.to)}, ${new Date(lastRefill.at).toISOString()}`;
  return element(
    'div',
    { class: 'quiet' },
    `Treasury: ${coins(spentTodayWei)} of ${coins(dailyCapWei)} coin spent today, ${last}`,
  );
}

const ACTIONS = {
  pause: ['Pause', 'It sends nothing new until somebody resumes it.'],
  resume: ['Resume', 'It takes work again.'],
  retire: ['Retire', 'It takes only payments that name it, and is offered to sellers no more.'],
  reinstate: ['Reinstate', 'It takes any payment again, and is offered to sellers.'],
};

function laneButton(lane, action) {
  const [name, effect] = ACTIONS[action];
  const onclick = () => void switchLane(lane, action, `${name} ${lane.signer}? ${effect}`);
  return element('button', { type: 'button', onclick }, name);
}

async function switchLane(lane, action, question) {
  if (!confirm(question)) return;
  await attempt(async () => {
    await ask(`lanes/${encodeURIComponent(lane.lane)}/${action}`, { method: 'POST' });
    await refresh();
  });
}

function networkSection({ network, queue, headAgeMs, endpoints, lanes }) {
  const waiting =
    queue.queued === 0
      ? 'nothing waits'
      : `${number(queue.queued)} wait, the oldest for ${duration(queue.oldestQueuedMs)}`;
  const head = headAgeMs === null ? 'no block seen' : `newest block ${duration(headAgeMs)} ago`;
  return element(
    'section',
    {},
    element('h2', {}, network),
    element(
      'p',
      { class: 'quiet' },
      `${waiting}; ${number(queue.unfinished)} not final; ${head}; ` +
        `${endpoints.reachable} of ${endpoints.all} endpoints answer`,
    ),
    ...(lanes.length === 0
      ? [element('p', { class: 'bad' }, 'No worker holds a lane of this network.')]
      : lanes.map(laneCard)),
  );
}

/** What is wrong, in one place and in words, before anything else. */
function alarms({ networks, processes, apiKeys }) {
  const found = [];
  if (!processes.some(({ roles }) => roles.includes('worker'))) {
    found.push('No worker process lives: nothing is settled.');
  }
  for (const { network, lanes, endpoints } of networks) {
    if (endpoints.reachable === 0) found.push(`${network}: no endpoint answers.`);
    const settling = lanes.filter(({ treasury }) => treasury === undefined);
    if (settling.length > 0 && settling.every(({ trouble }) => trouble !== null)) {
      found.push(`${network}: no lane takes work.`);
    }
    for (const lane of lanes) {
      if (lane.trouble !== null && lane.trouble !== 'paused') {
        const what = lane.treasury === undefined ? 'takes no work' : 'refills no lane';
        found.push(`${network}: ${short(lane.signer)} ${what} (${lane.trouble}).`);
      } else if (lane.treasury === undefined && lane.settlementsLeft < 100) {
        found.push(
          `${network}: ${short(lane.signer)} pays for ${lane.settlementsLeft} more settlements.`,
        );
      }
      if (lane.isShort === true) {
        found.push(
          `${network}: ${short(lane.signer)} has something to send that costs more than it has.`,
        );
      }
      if (lane.inFlight > 0 && lane.oldestInFlightMs > 30_000) {
        found.push(
          `${network}: ${short(lane.signer)} has waited ${duration(lane.oldestInFlightMs)} for nonce ${lane.oldestNonce}.`,
        );
      }
    }
  }
  if (apiKeys.code !== undefined) {
    found.push('The API key file cannot be used; the keys read before stay in use.');
  }
  return found.map((text) => element('p', { class: 'card bad' }, text));
}

// ------------------------------------------------------------------ settlements and processes

let shownSettlements;

/** What has not changed stays as it is: whoever is about to press a button keeps it. */
function showSettlements({ settlements, error }) {
  const text = JSON.stringify([searched, settlements, error]);
  if (text === shownSettlements) return;
  shownSettlements = text;
  const empty = searched === '' ? 'None yet.' : 'Nothing is known by this.';
  byId('settlements').replaceChildren(
    error === undefined
      ? settlementTable(settlements, empty, openLife)
      : element('p', { class: 'bad', role: 'alert' }, error),
  );
}

function showProcesses({ processes }) {
  const rows = processes.map(({ process, roles, version }) =>
    element(
      'tr',
      {},
      element('td', {}, element('code', {}, process)),
      element('td', {}, roles.join(', ')),
      element('td', {}, version),
    ),
  );
  byId('processes').replaceChildren(table(['Process', 'Roles', 'Version'], rows, 'None.'));
}

// ------------------------------------------------------------------ the page

let searched = '';
let timer;

async function refresh() {
  const [overview, found] = await Promise.all([
    ask('overview'),
    // A search may need what cannot be asked now; the rest of the page does not.
    ask(`settlements?search=${encodeURIComponent(searched)}`).catch((error) => {
      if (error instanceof Refused) throw error;
      return { error: problemOf(error) };
    }),
  ]);
  // Whoever has left meanwhile is shown nothing.
  if (storedKey() === null) return;
  byId('alarms').replaceChildren(...alarms(overview));
  byId('networks').replaceChildren(...overview.networks.map(networkSection));
  showSettlements(found);
  showProcesses(overview);
  byId('freshness').textContent = `as of ${new Date(overview.at).toISOString().slice(11, 19)} UTC`;
  byId('view').hidden = false;
  showHistory(overview, stopped);
}

/** Shows a problem instead of hiding behind old numbers. */
async function attempt(task) {
  const problem = byId('problem');
  try {
    await task();
    problem.hidden = true;
  } catch (error) {
    stopped(error);
  }
}

function stopped(error) {
  const problem = byId('problem');
  problem.textContent = problemOf(error);
  problem.hidden = false;
  byId('freshness').textContent = '';
  if (error instanceof Refused) leave();
}

async function keepFresh() {
  if (!document.hidden) await attempt(refresh);
  if (storedKey() !== null) timer = setTimeout(() => void keepFresh(), REFRESH_MS);
}

function enter() {
  byId('enter').hidden = true;
  byId('leave').hidden = false;
  clearTimeout(timer);
  void keepFresh();
}

function leave() {
  clearTimeout(timer);
  forgetKey();
  byId('enter').hidden = false;
  byId('leave').hidden = true;
  byId('view').hidden = true;
  clearHistory();
  shownSettlements = undefined;
  for (const id of ['alarms', 'networks', 'settlements', 'processes']) byId(id).replaceChildren();
  byId('key').focus();
}

byId('enter').addEventListener('submit', (event) => {
  event.preventDefault();
  storeKey(byId('key').value.trim());
  byId('key').value = '';
  enter();
});
byId('leave').addEventListener('click', leave);
byId('search').addEventListener('submit', (event) => {
  event.preventDefault();
  searched = byId('text').value.trim();
  void attempt(refresh);
});
document.addEventListener('visibilitychange', () => {
  if (!document.hidden && storedKey() !== null) void attempt(refresh);
});

if (storedKey() === null) leave();
else enter();
