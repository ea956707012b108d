/**
 * The catalogue, for people. It keeps nothing. What sellers say is shown as text and never as HTML, cut, and with
 * a direction of its own. Plain JavaScript: there is no build.
 */

import { snippetsOf, webUrl } from './snippets.js';

const byId = (id) => document.getElementById(id);

const PAGE = 20;
const AGAIN = 'It did not work. Try again.';
/** Anything that is listed nowhere: the answer says whether there is a catalogue. */
const NOWHERE = 'https://www.example.com/';

/** Control characters, line ends of other kinds, and what turns the direction of text or is not seen. */
const UNSEEN = new RegExp(
  '[\\p{Cc}\\u061c\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\u{e0000}-\\u{e007f}]+',
  'gu',
);

/** What a stranger said, as so many plain characters at most. */
function plain(said, most) {
  const text = typeof said === 'string' ? said : (JSON.stringify(said) ?? '');
  // Bounded first: what is long costs no more than what is short.
  const characters = [...text.slice(0, most * 4).replace(UNSEEN, ' ')];
  return characters.length > most || text.length > most * 4
    ? `${characters.slice(0, most).join('')}…`
    : characters.join('');
}

/** Text is always a text node. */
function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children.filter((child) => child !== undefined));
  return node;
}

/** Its direction changes nothing around it. */
const said = (text, most) => element('bdi', {}, plain(text, most));
const code = (text, most = 128) => element('code', {}, said(text, most));

function say(id, text, className = 'message') {
  byId(id).textContent = text;
  byId(id).className = className;
}

async function ask(path, parameters) {
  const query = new URLSearchParams(
    Object.entries(parameters).filter(([, value]) => value !== undefined && value !== ''),
  );
  const response = await fetch(`${path}?${query}`);
  const answer = await response.json().catch(() => ({}));
  if (response.ok) return answer;
  throw new Error(typeof answer.error === 'string' ? plain(answer.error, 300) : AGAIN);
}

const textOf = (error) => (error instanceof Error ? error.message : AGAIN);

/** Tokens this deployment knows, asked for once; without them amounts are shown in atomic units. */
const tokens = ask('v2/assets', {})
  .then(({ assets }) => {
    const known = (Array.isArray(assets) ? assets : []).map((one) => [
      `${one.network}/${one.asset}`.toLowerCase(),
      one,
    ]);
    return new Map(known);
  })
  .catch(() => new Map());

function amountOf(atomic, decimals) {
  if (!Number.isInteger(decimals) || decimals < 0 || decimals > 36) return undefined;
  const digits = atomic.padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '');
  return fraction === '' ? whole : `${whole}.${fraction}`;
}

function priceOf(network, { asset, amount, maxAmountRequired }, known) {
  const atomic = plain(amount ?? maxAmountRequired ?? '', 78);
  const { symbol, decimals } = known.get(`${network}/${asset}`.toLowerCase()) ?? {};
  const isKnown = /^\d+$/.test(atomic) && typeof symbol === 'string';
  const whole = isKnown ? amountOf(atomic, decimals) : undefined;
  return whole === undefined
    ? element('span', {}, atomic, ' atomic units of ', code(asset))
    : element('span', {}, whole, ' ', said(symbol, 24));
}

/** A link only where it leads to the web; what is shown is where it leads. */
function placeOf({ resource, exampleUrl }) {
  const url = webUrl(exampleUrl ?? resource);
  if (url === undefined) return code(resource, 300);
  const attributes = { href: url.href, rel: 'noopener noreferrer nofollow ugc', target: '_blank' };
  const link = element('a', attributes, said(url.href, 300));
  return exampleUrl === undefined
    ? link
    : element('span', {}, code(resource, 300), ' such as ', link);
}

function row(name, ...value) {
  return element('div', {}, element('dt', {}, name), element('dd', {}, ...value));
}

function timeOf(text) {
  const at = new Date(typeof text === 'string' ? text : NaN);
  if (Number.isNaN(at.getTime())) return undefined;
  const iso = at.toISOString();
  return element('time', { datetime: iso }, `${iso.slice(0, 16).replace('T', ' ')} UTC`);
}

/** Figures of the ledger, where there are any. */
function qualityOf(quality) {
  const facts = Object.entries(typeof quality === 'object' && quality !== null ? quality : {})
    .filter(([, value]) => ['string', 'number', 'boolean'].includes(typeof value))
    .slice(0, 12)
    .map(([name, value]) => `${plain(name, 40)} ${plain(value, 40)}`);
  return facts.length === 0 ? undefined : row('Quality', said(facts.join(', '), 600));
}

function purchaseOf(entry) {
  const snippets = snippetsOf(entry);
  const input = entry.discoveryInfo?.input;
  return element(
    'details',
    {},
    element('summary', {}, 'How to buy it'),
    element(
      'p',
      { class: 'quiet' },
      snippets.length === 0
        ? 'No stock client pays for what is offered here; the seller says how.'
        : 'BUYER_KEY holds the private key that pays. At most the price shown is paid, in this token.',
    ),
    ...snippets.map(([language, text]) =>
      element(
        'details',
        { class: 'snippet' },
        element('summary', {}, language),
        element('pre', { tabindex: '0', 'aria-label': `${language} snippet` }, text),
      ),
    ),
    input === undefined
      ? undefined
      : element(
          'details',
          { class: 'snippet' },
          element('summary', {}, 'What it takes'),
          element('pre', { tabindex: '0', dir: 'ltr' }, plain(input, 8000)),
        ),
  );
}

function cardOf(entry, known) {
  const { serviceName, toolName, method, description, network, payTo, otherPayees } = entry;
  const offers = (Array.isArray(entry.accepts) ? entry.accepts : []).slice(0, 8);
  const title = serviceName ?? toolName ?? entry.resource;
  const paid = timeOf(entry.lastUpdated);
  const kind = entry.type === 'mcp' ? `tool ${plain(toolName ?? '', 128)}` : plain(method ?? '', 8);
  return element(
    'article',
    { class: 'card entry' },
    element('h3', {}, said(title, 120)),
    element('p', {}, said(kind, 140), ' ', placeOf(entry)),
    description === undefined ? undefined : element('p', {}, said(description, 500)),
    element(
      'dl',
      {},
      ...offers.map((offer) =>
        row('Price', priceOf(network, offer, known), ' ', said(`(${plain(offer.scheme, 32)})`, 40)),
      ),
      row('Network', code(network, 64)),
      row('Payee', code(payTo, 64)),
      paid === undefined ? undefined : row('Last paid', paid),
      otherPayees > 0
        ? row('Beware', `Others were paid for the same place: ${plain(otherPayees, 12)}.`)
        : undefined,
      qualityOf(entry.quality),
    ),
    purchaseOf(entry),
  );
}

/** What was asked last, and where it goes on. */
let asked = { words: '', type: '', network: '' };
let next;
/** An answer to an older question is dropped. */
let turn = 0;

const listOf = (answer) =>
  Array.isArray(answer.items)
    ? answer.items
    : Array.isArray(answer.resources)
      ? answer.resources
      : [];

async function show(isMore) {
  turn += 1;
  const mine = turn;
  const { words, type, network } = asked;
  const parameters = { type, network, limit: PAGE, ...(isMore && { cursor: next }) };
  const [answer, known] = await Promise.all([
    words === ''
      ? ask('discovery/resources', parameters)
      : ask('discovery/search', { query: words, ...parameters }),
    tokens,
  ]);
  if (mine !== turn) return;
  const cards = listOf(answer)
    .slice(0, PAGE)
    .map((entry) => cardOf(entry, known));
  next = answer.pagination?.nextCursor ?? answer.pagination?.cursor ?? undefined;
  byId('more').hidden = next === undefined;
  if (isMore) byId('found').append(...cards);
  else byId('found').replaceChildren(...cards);
  const count = byId('found').children.length;
  say(
    'outcome',
    count === 0 ? await emptyOf(words) : `${count} shown${next ? ', there are more' : ''}.`,
  );
}

/** Why there is nothing: no catalogue, nothing that fits, or nothing yet. */
async function emptyOf(words) {
  const { code: standing } = await ask('discovery/status', { resource: NOWHERE });
  if (standing === 'catalogue_off') {
    return 'This facilitator keeps no catalogue: it has no database, or its operator has turned it off.';
  }
  const isWhole = words === '' && asked.type === '' && asked.network === '';
  return isWhole ? 'Nothing is listed yet.' : 'Nothing that is listed fits.';
}

function run(isMore) {
  const button = byId(isMore ? 'more' : 'search');
  button.disabled = true;
  say('outcome', 'Asking.');
  void show(isMore)
    .catch((error) => {
      // What was found for another question would look like the answer to this one.
      if (!isMore) {
        byId('found').replaceChildren();
        byId('more').hidden = true;
      }
      say('outcome', textOf(error), 'message bad');
    })
    .finally(() => {
      button.disabled = false;
    });
}

byId('ask').addEventListener('submit', (event) => {
  event.preventDefault();
  asked = {
    words: byId('words').value.trim(),
    type: byId('type').value,
    network: byId('network').value.trim(),
  };
  run(false);
});

byId('more').addEventListener('click', () => run(true));

byId('check').addEventListener('submit', (event) => {
  event.preventDefault();
  byId('look').disabled = true;
  say('standing', 'Asking.');
  void ask('discovery/status', { resource: byId('resource').value.trim() })
    .then(({ listed, code: standing, message, known }) => {
      const refused = (Array.isArray(known) ? known : [])
        .slice(0, 8)
        .map((one) => `\n${plain(one.payTo, 64)}: ${plain(one.message, 300)}`);
      const text = `${plain(message, 300)} (${plain(standing, 64)})${refused.join('')}`;
      say('standing', text, listed === true ? 'message good' : 'message warn');
    })
    .catch((error) => {
      say('standing', textOf(error), 'message bad');
    })
    .finally(() => {
      byId('look').disabled = false;
    });
});

run(false);
