/** What the parts of the operator page share: asking, and showing text as text. */

const KEY = 'x402-admin-key';

export const storedKey = () => sessionStorage.getItem(KEY);
export const storeKey = (key) => sessionStorage.setItem(KEY, key);
export const forgetKey = () => sessionStorage.removeItem(KEY);

export const byId = (id) => document.getElementById(id);

/**
 * Characters that are not seen, or that turn the order of others round, are shown by their numbers: what a
 * stranger chose must not look like something else.
 */
export function plain(text) {
  return text.replace(/[\n\t]+/g, ' ').replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => {
    const number = character.codePointAt(0).toString(16).toUpperCase().padStart(4, '0');
    return `⟨U+${number}⟩`;
  });
}

/** Text is always a text node: nothing that comes from outside is read as HTML. */
export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === 'onclick') node.addEventListener('click', value);
    else node.setAttribute(name, plain(value));
  }
  const shown = children.filter((child) => child !== undefined);
  node.append(...shown.map((child) => (typeof child === 'string' ? plain(child) : child)));
  return node;
}

export function duration(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 100) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 100) return `${minutes} min`;
  return `${Math.round(minutes / 60)} h`;
}

export const number = (value) =>
  value >= Number.MAX_SAFE_INTEGER ? '∞' : value.toLocaleString('en');
export const short = (text) => (text.length > 20 ? `${text.slice(0, 10)}…${text.slice(-6)}` : text);
export const gwei = (wei) => `${(Number(wei) / 1e9).toPrecision(3)} gwei`;
/** ISO 8601 in the form of the page: `2026-11-30 12:00:00`, in UTC. */
export const moment = (text) => text?.replace('T', ' ').slice(0, 19) ?? '';

/** Short to read, whole to copy or to hover over. */
export function code(text) {
  return element('code', { title: text }, short(text));
}

const cell = (content, attributes = {}) => element('td', attributes, content);
export const cells = (...contents) => contents.map((content) => cell(content ?? ''));
export const numberCell = (content) => cell(content, { class: 'number' });
/** Of what a stranger chose: as long as it is, and broken where it does not fit. */
export const longCell = (content) => cell(content ?? '', { class: 'long' });
export const row = (...contents) => element('tr', {}, ...contents);

export function table(columns, rows, empty) {
  if (rows.length === 0) return element('p', { class: 'quiet' }, empty);
  const head = element(
    'tr',
    {},
    ...columns.map((column) => element('th', { scope: 'col' }, column)),
  );
  return element('table', {}, element('thead', {}, head), element('tbody', {}, ...rows));
}

export function button(name, onclick) {
  return element('button', { type: 'button', onclick }, name);
}

// ------------------------------------------------------------------ asking

/** The key is not one that may ask. */
export class Refused extends Error {}

export async function ask(path, options = {}) {
  const response = await fetch(`admin/api/${path}`, {
    ...options,
    headers: { 'X-API-Key': storedKey() ?? '' },
    cache: 'no-store',
  });
  if (response.status === 401) throw new Refused('This key is not one with the scope admin.');
  const body = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(body.error ?? `The service answered ${response.status}.`);
  return body;
}

/** What was asked for, without what was left empty. */
export function queryOf(fields) {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined && value !== '');
  return new URLSearchParams(given).toString();
}

export const problemOf = (error) =>
  error instanceof TypeError ? 'The service does not answer.' : error.message;

// ------------------------------------------------------------------ places

let refused = () => undefined;

/** By the id of a place: what was asked for it last. */
const newest = new Map();

/** @param leave - is told of a key that may not ask any more. */
export function onRefused(leave) {
  refused = leave;
}

/** What was asked is not drawn any more. */
export function forgetQuestions() {
  newest.clear();
}

/**
 * Asks, and draws the answer in its place. What fails is said there too, and the rest of the page goes on. An
 * answer that comes after a later question, or after the key was forgotten, is not drawn.
 */
export async function inside(id, load, draw) {
  const room = byId(id);
  const question = {};
  const isNewest = () => newest.get(id) === question;
  newest.set(id, question);
  room.setAttribute('aria-busy', 'true');
  try {
    const answer = await load();
    if (isNewest()) draw(room, answer);
  } catch (error) {
    if (error instanceof Refused) refused(error);
    else if (isNewest()) fail(room, error);
  } finally {
    if (isNewest()) room.removeAttribute('aria-busy');
  }
}

function fail(room, error) {
  room.replaceChildren(element('p', { class: 'bad', role: 'alert' }, problemOf(error)));
  room.hidden = false;
}

/** Rows of a list so far, and a button for those that follow. */
export function listIn(room, shown, more) {
  room.replaceChildren(shown, ...(more === undefined ? [] : [button('More', more)]));
}

export const fieldsOf = (form) => Object.fromEntries(new FormData(form));

// ------------------------------------------------------------------ settlements

const GOOD_STATES = ['included', 'finalized'];
const BAD_STATES = ['reverted', 'expired'];

export function stateOf(state, reason) {
  const tone = GOOD_STATES.includes(state) ? 'good' : BAD_STATES.includes(state) ? 'bad' : 'warn';
  return element(
    'div',
    {},
    element('span', { class: `state ${tone}` }, state),
    reason === undefined ? undefined : element('div', { class: 'quiet' }, reason),
  );
}

const SETTLEMENT_COLUMNS = [
  'Claimed (UTC)',
  'Id',
  'State',
  'Sale',
  'Network',
  'Payer',
  'Paid to',
  'Amount',
  'Transaction',
];

/** @param open - shows the life of the settlement of an id. */
export function settlementTable(settlements, empty, open) {
  const rows = settlements.map(
    ({ settlementId, state, sale, reason, transaction, payment, times }) =>
      row(
        ...cells(
          moment(times?.claimed),
          element(
            'button',
            {
              type: 'button',
              class: 'link mono',
              title: settlementId,
              'aria-label': `The life of ${settlementId}`,
              onclick: () => open(settlementId),
            },
            short(settlementId),
          ),
          stateOf(state, reason),
          sale,
          payment?.network,
          payment && code(payment.payer),
          payment && code(payment.payTo),
        ),
        numberCell(payment?.amount ?? ''),
        ...cells(transaction && code(transaction)),
      ),
  );
  return table(SETTLEMENT_COLUMNS, rows, empty);
}
