import { attempt, byId, make, say } from './asking.js';

/**
 * The page where an owner sees what a hub stores, shares it and gives it up. Each request is signed by the
 * owner's browser wallet (docs/hub.md, "Private hubs and signatures"). What is shown of files is text: names
 * and media types are what somebody has said. Plain JavaScript: there is no build.
 */

const FAILED = 'It did not work. Try again.';
const browserWallet = globalThis.ethereum;

/** SHA-256 of nothing: no request of this page has a body. */
const EMPTY = '0xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
const ANY_CONTENT = `0x${'00'.repeat(32)}`;
/** Of a signature over a request. */
const SIGNED_SECONDS = 300;
const HOURS_MAX = 720;
const PAGE = 50;

const DOMAIN_TYPE = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'verifyingContract', type: 'address' },
];
const REQUEST_TYPE = [
  { name: 'method', type: 'string' },
  { name: 'path', type: 'string' },
  { name: 'owner', type: 'address' },
  { name: 'bodySha256', type: 'bytes32' },
  { name: 'expiry', type: 'uint256' },
  { name: 'nonce', type: 'bytes32' },
];
const LINK_TYPE = [
  { name: 'owner', type: 'address' },
  { name: 'name', type: 'string' },
  { name: 'sha256', type: 'bytes32' },
  { name: 'issuedAt', type: 'uint256' },
  { name: 'until', type: 'uint256' },
  { name: 'once', type: 'bool' },
  { name: 'nonce', type: 'bytes32' },
];

let owner = '';
let hub = '';
/** The name that "One file" is about. */
let chosen = '';
let rows = [];

const nowSeconds = () => Math.floor(Date.now() / 1000);

function newNonce() {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return `0x${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

function base64urlOf(value) {
  const bytes = new TextEncoder().encode(JSON.stringify(value));
  const text = btoa(String.fromCodePoint(...bytes));
  return text.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

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

async function send(method, url, headers = {}) {
  const response = await fetch(url, { method, headers: { ...keyHeader(), ...headers } });
  const answer = await response.json().catch(() => undefined);
  if (response.ok) return answer;
  const { Message, error } = answer ?? {};
  const said = [Message, error].find((text) => typeof text === 'string') ?? FAILED;
  throw Object.assign(new Error(said), { status: response.status });
}

function urlOf(what, parameters) {
  return new URL(`api/${what}?${new URLSearchParams(parameters)}`, document.baseURI);
}

/** Asks the hub what only the owner may. */
async function asOwner(method, what, parameters = {}) {
  const url = urlOf(what, { owner, ...parameters });
  const path = url.pathname + url.search;
  const proof = { owner, bodySha256: EMPTY, expiry: nowSeconds() + SIGNED_SECONDS };
  const message = { method, path, ...proof, nonce: newNonce() };
  const signature = await signed('HubRequest', REQUEST_TYPE, message);
  const { nonce } = message;
  const authorization = `Hub-EIP712 ${base64urlOf({ ...proof, nonce, signature })}`;
  return send(method, url, { authorization });
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

function openButton(name) {
  const button = make('button', { type: 'button' }, 'Open');
  button.addEventListener('click', () => attempt(() => openFile(name)));
  return button;
}

function showRows(isMore) {
  const lines = rows.map(({ Name, Bucket, CreatedAt, Size, TakenDown, Reason }) => [
    Name,
    Bucket === owner.toLowerCase() ? '' : Bucket,
    timeOf(CreatedAt),
    sizeOf(Size),
    TakenDown === undefined ? '' : `taken down by the operator: ${Reason}`,
    openButton(Name),
  ]);
  const names = ['name', 'bucket', 'stored', 'size', '', ''];
  byId('list').replaceChildren(lines.length === 0 ? 'Nothing yet.' : table(names, lines));
  const bytes = rows.reduce((sum, { Size }) => sum + Size, 0);
  byId('count').textContent = `${rows.length}${isMore ? ' and more' : ''}, ${sizeOf(bytes)}`;
  byId('more').hidden = !isMore;
}

/** @param offset - of the first row that is asked for; those before it stay. */
async function showFiles(offset) {
  const found = await asOwner('GET', 'listNeedle', {
    offset: String(offset),
    length: String(PAGE),
  });
  rows = [...rows.slice(0, offset), ...(found ?? [])];
  byId('owner').textContent = owner;
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
    const { amount, asset, network } = await send('GET', urlOf('price', { owner, file: name }));
    return `For sale: ${amount} of ${asset} (${network}), in the token’s smallest unit.`;
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
    ...[timeOf(CreatedAt), sizeOf(Size), ContentType, Sha256],
  ]);
  const names = ['stored', 'size', 'type', 'SHA-256'];
  byId('versions').replaceChildren(table(names, lines));
  byId('one').hidden = false;
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
  byId('link').textContent = String(urlOf('shared', { link: base64urlOf({ ...link, signature }) }));
  say(`Whoever has this link can read the file until ${new Date(until * 1000).toLocaleString()}.`);
});

on('take-back', 'click', async () => {
  if (!globalThis.confirm('Take back every share link that you have given out?')) return;
  await asOwner('DELETE', 'shared');
  byId('link').textContent = '';
  say('They are taken back.');
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
