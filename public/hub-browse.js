import { attempt, byId, make } from './asking.js';

/**
 * What a public hub stores, for anybody: owners, their buckets and conversations, files, content. The place is in the
 * fragment of the address, so that it can be passed on. What comes from the hub is shown as text. Plain JavaScript:
 * there is no build.
 */

const PAGE = 50;
/** Of a content that is shown; all of it is behind the link. */
const SHOWN_BYTES = 65_536;
const FAILED = 'It did not work. Try again.';

const timeOf = (text) => new Date(text).toLocaleString();
const urlOf = (what, parameters) =>
  new URL(`../api/${what}?${new URLSearchParams(parameters)}`, document.baseURI);

function linkTo(text, place) {
  return make('a', { href: `#${new URLSearchParams(place)}` }, text);
}

function headers() {
  const key = byId('key').value.trim();
  return key === '' ? {} : { 'x-api-key': key };
}

/** @throws Error with what the hub says. */
async function ask(what, parameters, more = {}) {
  const response = await fetch(urlOf(what, parameters), { headers: { ...headers(), ...more } });
  if (response.ok) return response;
  const answer = await response.json().catch(() => ({}));
  if (response.status === 401 || response.status === 403) byId('entry').hidden = false;
  throw new Error(typeof answer.Message === 'string' ? answer.Message : FAILED);
}

async function rowsOf(what, parameters, offset) {
  const page = { ...parameters, offset: String(offset), length: String(PAGE) };
  return (await (await ask(what, page)).json()) ?? [];
}

function tableOf(names, lines) {
  const head = make('tr', {}, ...names.map((name) => make('th', { scope: 'col' }, name)));
  const body = lines.map((cells) =>
    make('tr', {}, ...cells.map((cell) => make('td', { class: 'long' }, cell))),
  );
  return make('table', {}, make('thead', {}, head), make('tbody', {}, ...body));
}

/** A list with a button for its next page. */
async function list(title, { id, what, parameters, names, cellsOf }) {
  const section = make('section', { id }, make('h2', {}, title));
  const shown = make('div', { class: 'scroll' });
  const more = make('button', { type: 'button' }, 'More');
  const rows = [];
  const next = async () => {
    const found = await rowsOf(what, parameters, rows.length);
    rows.push(...found);
    shown.replaceChildren(rows.length === 0 ? 'Nothing.' : tableOf(names, rows.map(cellsOf)));
    more.hidden = found.length < PAGE;
  };
  more.addEventListener('click', () => attempt(next));
  section.append(shown, more);
  await next();
  return section;
}

const files = (parameters) => ({
  id: 'files',
  what: 'listNeedle',
  parameters,
  names: ['name', 'owner', 'bucket', 'kind', 'stored', 'bytes', 'type', ''],
  cellsOf: ({ Name, Owner, Bucket, Kind, CreatedAt, Size, ContentType, TakenDown, Price }) => [
    linkTo(Name, { owner: Owner, name: Name }),
    linkTo(Owner, { owner: Owner }),
    linkTo(Bucket, { owner: Owner, bucket: Bucket }),
    Kind,
    timeOf(CreatedAt),
    String(Size),
    ContentType,
    [TakenDown && 'taken down', Price && 'for sale'].filter(Boolean).join(', '),
  ],
});

const owners = () => ({
  id: 'owners',
  what: 'listAccount',
  parameters: {},
  names: ['owner', 'since'],
  cellsOf: ({ Name, CreatedAt }) => [linkTo(Name, { owner: Name }), timeOf(CreatedAt)],
});

const buckets = (owner) => ({
  id: 'buckets',
  what: 'listBucket',
  parameters: { owner },
  names: ['bucket', 'since'],
  cellsOf: ({ Name, CreatedAt }) => [linkTo(Name, { owner, bucket: Name }), timeOf(CreatedAt)],
});

const conversations = (owner) => ({
  id: 'conversations',
  what: 'listConversation',
  parameters: { owner },
  names: ['conversation', 'texts', 'since'],
  cellsOf: ({ Name, Count, CreatedAt }) => [
    linkTo(Name, { owner, conversation: Name }),
    String(Count),
    timeOf(CreatedAt),
  ],
});

function readable(text) {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2);
  } catch {
    return text;
  }
}

/** The beginning of a content, as text whatever it is. */
async function content(owner, name) {
  const parameters = { owner, name, download: '1' };
  const section = make('section', { id: 'content', class: 'card' }, make('h2', {}, 'Content'));
  section.append(
    make('p', {}, make('a', { href: String(urlOf('download', parameters)) }, 'Download')),
  );
  try {
    const answer = await ask('download', parameters, { range: `bytes=0-${SHOWN_BYTES - 1}` });
    const text = new globalThis.TextDecoder().decode(await answer.arrayBuffer());
    const whole = Number(/\/(\d+)$/.exec(answer.headers.get('content-range') ?? '')?.[1] ?? 0);
    section.append(make('pre', {}, readable(text)));
    if (whole > SHOWN_BYTES) {
      section.append(make('p', { class: 'quiet' }, `The first ${SHOWN_BYTES} of ${whole} bytes.`));
    }
  } catch (error) {
    section.append(make('p', {}, error.message));
  }
  return section;
}

function sectionsOf({ owner, bucket, conversation, name }) {
  if (owner === '') return [list('Owners', owners()), list('Newest files', files({}))];
  if (name !== '') return [list('File', files({ owner, name })), content(owner, name)];
  if (bucket !== '') return [list('Files', files({ owner, bucket }))];
  if (conversation !== '') return [list('Texts', files({ owner, conversation }))];
  return [
    list('Buckets', buckets(owner)),
    list('Conversations', conversations(owner)),
    list('Files', files({ owner })),
  ];
}

async function show() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const of = (what) => asked.get(what) ?? '';
  const place = {
    owner: of('owner'),
    bucket: of('bucket'),
    conversation: of('conversation'),
    name: of('name'),
  };
  const { owner, ...rest } = place;
  const [[what, within] = []] = Object.entries(rest).filter(([, value]) => value !== '');
  byId('place').replaceChildren(
    ...(owner === '' ? [] : ['Owner ', linkTo(owner, { owner })]),
    ...(owner === '' || within === undefined ? [] : [`, ${what} ${within}`]),
  );
  const { hash } = location;
  const sections = await Promise.all(sectionsOf(place));
  // Another place was asked for meanwhile.
  if (location.hash === hash) byId('lists').replaceChildren(...sections);
}

globalThis.addEventListener('hashchange', () => attempt(show));
byId('again').addEventListener('click', () => attempt(show));
void attempt(show);
