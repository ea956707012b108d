/**
 * What a public hub stores, for anybody: owners, their buckets and conversations, files, content. The place is in the
 * fragment of the address, so that it can be passed on. What comes from the hub is shown as text.
 */

import { readable } from '../components/format.js';
import { useAction } from '../components/action.js';
import { send, urlOf } from '../components/ask.js';
import { html, render, useEffect, useState } from '../components/html.js';
import { ErrorBox } from '../components/notes.js';
import { Table } from '../components/table.js';
import { Time } from '../components/time.js';

const PAGE = 50;
/** Of a content that is shown; all of it is behind the link. */
const SHOWN_BYTES = 65_536;

const Place = ({ to, children }) => html`<a href=${`#${new URLSearchParams(to)}`}>${children}</a>`;

const askHub = (key, what, query, headers = {}) =>
  send(urlOf(`api/${what}`, query), {
    headers: { ...(key !== '' && { 'x-api-key': key }), ...headers },
  });

const since = { name: 'Since', cell: ({ CreatedAt }) => html`<${Time} at=${CreatedAt} />` };

const files = (query) => ({
  id: 'files',
  what: 'listNeedle',
  query,
  columns: [
    {
      name: 'Name',
      cell: ({ Name, Owner }) => html`<${Place} to=${{ owner: Owner, name: Name }}>${Name}<//>`,
      isLong: true,
    },
    {
      name: 'Owner',
      cell: ({ Owner }) => html`<${Place} to=${{ owner: Owner }}>${Owner}<//>`,
      isLong: true,
    },
    {
      name: 'Bucket',
      cell: ({ Owner, Bucket }) =>
        html`<${Place} to=${{ owner: Owner, bucket: Bucket }}>${Bucket}<//>`,
      isLong: true,
    },
    { name: 'Kind', cell: ({ Kind }) => Kind },
    { name: 'Stored', cell: ({ CreatedAt }) => html`<${Time} at=${CreatedAt} />` },
    { name: 'Bytes', cell: ({ Size }) => String(Size), isNumber: true },
    { name: 'Type', cell: ({ ContentType }) => ContentType },
    {
      name: 'Note',
      cell: ({ TakenDown, Price }) =>
        [TakenDown && 'taken down', Price && 'for sale'].filter(Boolean).join(', '),
    },
  ],
});

const owners = () => ({
  id: 'owners',
  what: 'listAccount',
  query: {},
  columns: [
    {
      name: 'Owner',
      cell: ({ Name }) => html`<${Place} to=${{ owner: Name }}>${Name}<//>`,
      isLong: true,
    },
    since,
  ],
});

const buckets = (owner) => ({
  id: 'buckets',
  what: 'listBucket',
  query: { owner },
  columns: [
    {
      name: 'Bucket',
      cell: ({ Name }) => html`<${Place} to=${{ owner, bucket: Name }}>${Name}<//>`,
      isLong: true,
    },
    since,
  ],
});

const conversations = (owner) => ({
  id: 'conversations',
  what: 'listConversation',
  query: { owner },
  columns: [
    {
      name: 'Conversation',
      cell: ({ Name }) => html`<${Place} to=${{ owner, conversation: Name }}>${Name}<//>`,
      isLong: true,
    },
    { name: 'Texts', cell: ({ Count }) => String(Count), isNumber: true },
    since,
  ],
});

/** A list with a button for its next page. */
function List({ title, list: { id, what, query, columns }, apiKey, onRefused }) {
  const [state, setState] = useState();
  const { isBusy, error, run } = useAction();
  const next = async () => {
    const offset = state?.rows.length ?? 0;
    const page = { ...query, offset: String(offset), length: String(PAGE) };
    try {
      const found = (await (await askHub(apiKey, what, page)).json()) ?? [];
      setState({ rows: [...(state?.rows ?? []), ...found], hasMore: found.length === PAGE });
    } catch (problem) {
      onRefused(problem);
      throw problem;
    }
  };
  useEffect(() => {
    void run(next);
  }, []);
  if (state === undefined && error === undefined) return null;
  return html`<section id=${id}>
    <h2>${title}</h2>
    <${ErrorBox} error=${error} />
    ${
      state !== undefined &&
      html`<${Table} label=${title} rows=${state.rows} columns=${columns} empty="No results." />`
    }
    ${
      state?.hasMore &&
      html`<button type="button" disabled=${isBusy} onClick=${() => void run(next)}>More</button>`
    }
  </section>`;
}

/** The beginning of a content, as text whatever it is. */
function Content({ owner, name, apiKey }) {
  const [shown, setShown] = useState();
  const query = { owner, name, download: '1' };
  useEffect(() => {
    const load = async () => {
      const range = { range: `bytes=0-${SHOWN_BYTES - 1}` };
      const answer = await askHub(apiKey, 'download', query, range);
      const text = new globalThis.TextDecoder().decode(await answer.arrayBuffer());
      const whole = Number(/\/(\d+)$/.exec(answer.headers.get('content-range') ?? '')?.[1] ?? 0);
      setShown({ text: readable(text), whole });
    };
    load().catch((error) => setShown({ error }));
  }, []);
  if (shown === undefined) return null;
  const { text, whole, error } = shown;
  return html`<section id="content" class="card">
    <h2>Content</h2>
    <p><a href=${urlOf('api/download', query)}>Download</a></p>
    <${ErrorBox} error=${error} />
    ${
      text !== undefined &&
      html`<pre tabindex="0" class="long">
${text.split('\n').map((line) => html`<div>${line}</div>`)}</pre>`
    }
    ${whole > SHOWN_BYTES && html`<p class="quiet">The first ${SHOWN_BYTES} of ${whole} bytes.</p>`}
  </section>`;
}

function listsOf({ owner, bucket, conversation, name }) {
  if (owner === '') {
    return [
      ['Owners', owners()],
      ['Newest files', files({})],
    ];
  }
  if (name !== '') return [['File', files({ owner, name })]];
  if (bucket !== '') return [['Files', files({ owner, bucket })]];
  if (conversation !== '') return [['Texts', files({ owner, conversation })]];
  return [
    ['Buckets', buckets(owner)],
    ['Conversations', conversations(owner)],
    ['Files', files({ owner })],
  ];
}

function placeNow() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const of = (what) => asked.get(what) ?? '';
  return {
    owner: of('owner'),
    bucket: of('bucket'),
    conversation: of('conversation'),
    name: of('name'),
  };
}

function Page() {
  const [place, setPlace] = useState(placeNow);
  const [apiKey, setKey] = useState('');
  const [wantsKey, setWantsKey] = useState(false);
  useEffect(() => {
    const onChange = () => setPlace(placeNow());
    addEventListener('hashchange', onChange);
    return () => removeEventListener('hashchange', onChange);
  }, []);
  const { owner, name, ...within } = place;
  const [[what, which] = []] = Object.entries({ ...within, name }).filter(
    ([, text]) => text !== '',
  );
  const onRefused = ({ status }) => {
    if (status === 401 || status === 403) setWantsKey(true);
  };
  const onKey = (event) => {
    event.preventDefault();
    setKey(new FormData(event.currentTarget).get('key').trim());
  };
  const question = JSON.stringify([place, apiKey]);
  return html`<header class="bar">
      <h1>Public files</h1>
      <a href="#">All owners</a>
    </header>
    <p class="quiet">
      This hub is public: everybody may read what is here. Names, kinds and contents are
      unchecked.${' '}
      <a href=${urlOf('hub')}>Upload your own</a>
    </p>
    ${
      wantsKey &&
      html`<form id="entry" class="row" onSubmit=${onKey}>
        <input name="key" type="password" aria-label="API key" placeholder="API key" />
        <button type="submit">Try again</button>
      </form>`
    }
    <p id="place" class="long">
      ${owner !== '' && html`Owner <${Place} to=${{ owner }}>${owner}<//>`}
      ${owner !== '' && what !== undefined && `, ${what} ${which}`}
    </p>
    <div id="lists" key=${question}>
      ${listsOf(place).map(
        ([title, list]) =>
          html`<${List} title=${title} list=${list} apiKey=${apiKey} onRefused=${onRefused} />`,
      )}
      ${
        owner !== '' &&
        name !== '' &&
        html`<${Content} owner=${owner} name=${name} apiKey=${apiKey} />`
      }
    </div>`;
}

render(html`<${Page} />`, document.getElementById('app'));
