import { attempt, byId, make, say } from './asking.js';
import {
  ANY_CONTENT,
  base64urlOf,
  DOMAIN_TYPE,
  EMPTY,
  LINK_TYPE,
  newNonce,
  REQUEST_TYPE,
} from './hub-messages.js';

/**
 * The page where an owner sees what a hub stores, shares it and gives it up. Each request is signed by the
 * owner's browser wallet (docs/hub.md, "Private hubs and signatures"). What is shown of files is text: names
 * and media types are what somebody has said. Plain JavaScript: there is no build.
 */

const FAILED = 'It did not work. Try again.';
const KEY_WANTED = 'This hub asks for an API key that it knows.';
const browserWallet = globalThis.ethereum;

/** Of a signature over a request. */
const SIGNED_SECONDS = 300;
const HOURS_MAX = 720;
const PAGE = 50;

let owner = '';
let hub = '';
/** The name that "One file" is about. */
let chosen = '';
let rows = [];
const made = new Map();

const nowSeconds = () => Math.floor(Date.now() / 1000);

/** Has the owner sign typed data (EIP-712) for this hub. */
function signed(primaryType, fields, message) {
  const domain = { name: 'x402 file hub', version: '1', verifyingContract: hub };
  const types = { EIP712Domain: DOMAIN_TYPE, [primaryType]: fields };
  const params = [owner, JSON.stringify({ domain, types, primaryType, message })];
  return browserWallet.request({ method: 'eth_signTypedData_v4', params });
}

function keyHeader() {
  const key = byId('key').value.trim();
  return key === '' ? {} : { 'x-api-key': key };
}

/** @returns the answer, and how much of the quota is used where the hub says so. */
async function sendForBoth(method, url, headers = {}) {
  const response = await fetch(url, { method, headers: { ...keyHeader(), ...headers } });
  const answer = await response.json().catch(() => undefined);
  const [used, quota] = ['used', 'quota'].map((name) => response.headers.get(`hub-${name}-bytes`));
  if (response.ok) return { answer, used, quota };
  const { Message, error } = answer ?? {};
  const said = [Message, error].find((text) => typeof text === 'string') ?? FAILED;
  // A signature that is refused is refused with words of the hub's own.
  if (response.status === 401 && said === 'Unauthorized') throw new Error(KEY_WANTED);
  throw Object.assign(new Error(said), { status: response.status });
}

async function send(method, url, headers) {
  return (await sendForBoth(method, url, headers)).answer;
}

function urlOf(what, parameters) {
  return new URL(`api/${what}?${new URLSearchParams(parameters)}`, document.baseURI);
}

/** Asks the hub what only the owner may. */
async function asOwner(method, what, parameters = {}, sending = send) {
  const url = urlOf(what, { owner, ...parameters });
  const path = url.pathname + url.search;
  const proof = { owner, bodySha256: EMPTY, expiry: nowSeconds() + SIGNED_SECONDS };
  const message = { method, path, ...proof, nonce: newNonce() };
  const signature = await signed('HubRequest', REQUEST_TYPE, message);
  const { nonce } = message;
  const authorization = `Hub-EIP712 ${base64urlOf({ ...proof, nonce, signature })}`;
  return sending(method, url, { authorization });
}

const timeOf = (text) => new Date(text).toLocaleString();

function sizeOf(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const step = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(bytes, 1)) / 10));
  const count = bytes / 1024 ** step;
  return `${step === 0 ? count : count.toFixed(1)} ${units[step]}`;
}

function table(names, lines) {
  const head = make('tr', {}, ...names.map((name) => make('th', { scope: 'col' }, name)));
  const body = lines.map((cells) =>
    make('tr', {}, ...cells.map((cell) => make('td', { class: 'long' }, cell))),
  );
  const whole = make('table', {}, make('thead', {}, head), make('tbody', {}, ...body));
  return make('div', { class: 'scroll' }, whole);
}

function buttonOf(text, work) {
  const button = make('button', { type: 'button' }, text);
  button.addEventListener('click', () => attempt(work));
  return button;
}

/** In the token's smallest unit. */
const costOf = ({ amount, asset, network }) => `${amount} of ${asset} (${network})`;

function showRows(isMore) {
  const lines = rows.map(({ Name, Bucket, Size, Price, TakenDown, ...row }) => [
    Name,
    Bucket === owner.toLowerCase() ? '' : Bucket,
    timeOf(row.CreatedAt),
    sizeOf(Size),
    row.ContentType,
    Price === undefined ? '' : costOf(Price),
    TakenDown === undefined ? '' : `taken down by the operator: ${row.Reason}`,
    buttonOf('Open', () => openFile(Name)),
  ]);
  const names = ['name', 'bucket', 'stored', 'size', 'type', 'price', '', ''];
  byId('list').replaceChildren(lines.length === 0 ? 'Nothing yet.' : table(names, lines));
  const bytes = rows.reduce((sum, { Size }) => sum + Size, 0);
  byId('count').textContent = `${rows.length}${isMore ? ' and more' : ''}, ${sizeOf(bytes)}`;
  byId('more').hidden = !isMore;
}

/** @param offset - of the first row that is asked for; those before it stay. */
async function showFiles(offset) {
  const page = { offset: String(offset), length: String(PAGE) };
  const { answer: found, used, quota } = await asOwner('GET', 'listNeedle', page, sendForBoth);
  rows = [...rows.slice(0, offset), ...(found ?? [])];
  byId('owner').textContent = owner;
  const whole = quota === null ? ', and there is no quota' : ` of ${sizeOf(Number(quota))}`;
  byId('used').textContent = `Used: ${sizeOf(Number(used))}${whole}.`;
  byId('one').hidden = true;
  byId('files').hidden = false;
  byId('refresh').hidden = false;
  byId('entry').hidden = true;
  showRows((found ?? []).length === PAGE);
}

/** What is answered where there is none to tell. */
const NO_PRICE = new Set([403, 404]);

async function priceOf(name) {
  try {
    const price = await send('GET', urlOf('price', { owner, file: name }));
    return `For sale: ${costOf(price)}, in the token’s smallest unit.`;
  } catch (error) {
    // Anything else is no answer: an owner must not take it for one and set a price anew.
    if (NO_PRICE.has(error.status)) return 'Not for sale.';
    return `The price is not known now: ${error.message}`;
  }
}

async function openFile(name) {
  const versions = await asOwner('GET', 'versions', { name });
  chosen = name;
  byId('name').textContent = name;
  byId('link').textContent = '';
  byId('price').textContent = await priceOf(name);
  const lines = versions.map(({ CreatedAt, Size, ContentType, Sha256 }) => [
    timeOf(CreatedAt),
    sizeOf(Size),
    ContentType,
    Sha256,
  ]);
  const names = ['stored', 'size', 'type', 'SHA-256'];
  byId('versions').replaceChildren(table(names, lines));
  byId('one').hidden = false;
}

/** Of this visit: what the link opens, until when, and how it is taken back. */
function showMade() {
  const lines = [...made].map(([link, { name, until, once }]) => [
    name,
    new Date(until * 1000).toLocaleString(),
    once ? 'one answer only' : '',
    link,
    buttonOf('Take back', () => takeBack(link)),
  ]);
  const names = ['file', 'until', '', 'link', ''];
  byId('made').replaceChildren(lines.length === 0 ? '' : table(names, lines));
}

/** @param link - as it stands in an address. */
async function takeBack(link) {
  await asOwner('DELETE', 'shared', { link });
  made.delete(link);
  if (byId('link').textContent === String(urlOf('shared', { link }))) byId('link').textContent = '';
  showMade();
  say('It is taken back.');
}

/** @returns a whole number within bounds. */
function numberIn(id, most) {
  const text = byId(id).value.trim();
  if (!/^\d{1,6}$/.test(text) || Number(text) > most) {
    throw new Error(`A whole number up to ${most} is expected.`);
  }
  return Number(text);
}

function on(id, event, work) {
  byId(id).addEventListener(event, (happened) => {
    happened.preventDefault();
    void attempt(work);
  });
}

on('connect', 'click', async () => {
  const [account] = await browserWallet.request({ method: 'eth_requestAccounts' });
  owner = account;
  const { Name } = await send('GET', urlOf('info', {}));
  if (!/^0x[0-9a-fA-F]{40}$/.test(Name)) throw new Error('This hub has no address to sign for.');
  hub = Name;
  rows = [];
  await showFiles(0);
});

on('refresh', 'click', () => showFiles(0));
on('more', 'click', () => showFiles(rows.length));

on('share', 'submit', async () => {
  const issuedAt = nowSeconds();
  const until = issuedAt + 3600 * Math.max(1, numberIn('hours', HOURS_MAX));
  const { checked: once } = byId('once');
  const link = {
    owner,
    name: chosen,
    sha256: ANY_CONTENT,
    issuedAt,
    until,
    once,
    nonce: newNonce(),
  };
  const signature = await signed('HubLink', LINK_TYPE, link);
  const text = base64urlOf({ ...link, signature });
  byId('link').textContent = String(urlOf('shared', { link: text }));
  made.set(text, { name: chosen, until, once });
  showMade();
  say(`Whoever has this link can read the file until ${new Date(until * 1000).toLocaleString()}.`);
});

on('take-back', 'click', async () => {
  if (!globalThis.confirm('Take back every share link that you have given out?')) return;
  await asOwner('DELETE', 'shared');
  byId('link').textContent = '';
  made.clear();
  showMade();
  // A clock may be that much ahead: a link of that time may have been made before.
  say('They are taken back. Links that you make in the next five minutes do not work.');
});

on('one-link', 'submit', async () => {
  const given = byId('address').value.trim();
  const link = URL.canParse(given) ? new URL(given).searchParams.get('link') : given;
  if (!/^[\w-]+$/.test(link ?? '')) throw new Error('This is no share link.');
  await takeBack(link);
  byId('address').value = '';
});

on('give-up', 'click', async () => {
  if (!globalThis.confirm(`Give up ${JSON.stringify(chosen)}? It cannot be found any more.`))
    return;
  await asOwner('DELETE', 'object', { name: chosen });
  await showFiles(0);
  say('It is given up.');
});

on('ask-days', 'click', async () => {
  const { Days } = await asOwner('GET', 'retention');
  byId('days').value = String(Days);
});

on('retention', 'submit', async () => {
  const { Days } = await asOwner('PUT', 'retention', { days: String(numberIn('days', 999_999)) });
  say(
    Days === 0
      ? 'Files are kept until you give them up.'
      : `Files are given up after ${Days} days.`,
  );
});

byId('missing').hidden = browserWallet !== undefined;
byId('connect').hidden = browserWallet === undefined;
