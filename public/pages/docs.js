/** Shows openapi.json to people, and tries its endpoints. */

import { readable } from '../components/format.js';
import { useAction } from '../components/action.js';
import { ask, urlOf } from '../components/ask.js';
import { html, render, useEffect, useState } from '../components/html.js';
import { Empty, ErrorBox } from '../components/notes.js';
import { Table } from '../components/table.js';

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];
/** The four that a seller needs. */
const FIRST = ['POST /settle', 'POST /verify', 'GET /supported', 'GET /v2/settlements/{id}'];
const ANSWER_SHOWN = 20_000;

/** Words between backquotes as code. */
const Prose = ({ text = '', kind = '' }) =>
  text !== '' &&
  html`<p class=${kind}>
    ${text.split('`').map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : part))}
  </p>`;

/** Line by line: a text of more than one line is shown as such. */
const Lines = ({ text }) =>
  html`<pre tabindex="0">
${text.split('\n').flatMap((line, at) => (at === 0 ? [line] : [html`<br />`, line]))}</pre>`;

const Json = ({ value }) => html`<${Lines} text=${JSON.stringify(value, null, 2)} />`;

function resolve(api, node) {
  if (node?.$ref === undefined) return node;
  return node.$ref
    .split('/')
    .slice(1)
    .reduce((at, name) => at[name], api);
}

const schemaName = (schema) => schema?.$ref?.split('/').at(-1);

/** Those beside the schema, else those of the schema. */
function examplesOf(api, content) {
  const media = content?.['application/json'];
  if (media === undefined) return [];
  const examples = Object.values(media.examples ?? {}).map(({ value }) => value);
  if (media.example !== undefined) examples.push(media.example);
  return examples.length > 0 ? examples : (resolve(api, media.schema)?.examples ?? []);
}

function Bodies({ api, content }) {
  const media = content?.['application/json'];
  if (media === undefined) return null;
  const name = schemaName(media.schema);
  return html`${
    name !== undefined &&
    html`<p class="quiet">
      Schema <a href=${`#schema-${name}`}><code>${name}</code></a>
    </p>`
  }
  ${examplesOf(api, content).map((value) => html`<${Json} value=${value} />`)}`;
}

const Responses = ({ api, responses }) =>
  Object.entries(responses).map(([status, response]) => {
    const { description, headers, content } = resolve(api, response);
    const names = Object.keys(headers ?? {});
    return html`<details class="card">
      <summary><code>${status}</code><${Prose} text=${description} /></summary>
      ${
        names.length > 0 &&
        html`<${Prose} text=${`Headers: ${names.map((name) => `\`${name}\``).join(', ')}`} />`
      }
      <${Bodies} api=${api} content=${content} />
    </details>`;
  });

const Parameters = ({ parameters }) =>
  parameters.length > 0 &&
  html`<h3>Parameters</h3>
    <${Table}
      label="Parameters"
      rows=${parameters}
      columns=${[
        { name: 'Name', cell: ({ name }) => html`<code>${name}</code>` },
        { name: 'In', cell: ({ in: place }) => place },
        {
          name: 'Meaning',
          cell: ({ description }) => html`<${Prose} text=${description} />`,
          isLong: true,
        },
      ]}
    />`;

/** What a form asks, as a request of this service. */
function requestOf(form, { method, path }, parameters) {
  const given = (name) => String(form.get(name) ?? '').trim();
  const query = {};
  const headers = {};
  let filled = path;
  for (const { name, in: place } of parameters) {
    const value = given(`p-${name}`);
    if (place === 'path') filled = filled.replace(`{${name}}`, encodeURIComponent(value));
    if (place === 'query') query[name] = value;
    if (place === 'header' && value !== '') headers[name] = value;
  }
  const [key, bearer, body] = ['key', 'bearer', 'body'].map(given);
  if (key !== '') headers['x-api-key'] = key;
  if (bearer !== '') headers.authorization = `Bearer ${bearer}`;
  if (body !== '') headers['content-type'] = 'application/json';
  const options = { method: method.toUpperCase(), headers, ...(body !== '' && { body }) };
  return { url: urlOf(filled.slice(1), query), options };
}

function Try({ operation, parameters, example }) {
  const { isBusy, error, run } = useAction();
  const [answer, setAnswer] = useState();
  const { method, about } = operation;
  const onSubmit = (event) => {
    event.preventDefault();
    const { url, options } = requestOf(new FormData(event.currentTarget), operation, parameters);
    void run(async () => {
      const startedAt = Date.now();
      const response = await fetch(url, options);
      const text = readable(await response.text()).slice(0, ANSWER_SHOWN);
      const ms = Date.now() - startedAt;
      setAnswer({ status: response.status, isOk: response.ok, text, ms, url: url.href });
    });
  };
  const schemes = (about.security ?? []).flatMap((way) => Object.keys(way));
  return html`<details class="card">
    <summary>Try it</summary>
    <form class="fields" onSubmit=${onSubmit}>
      ${parameters.map(
        ({ name, in: place, required, example: value }) =>
          html`<label>
            <span>${name} (${place})</span>
            <input
              name=${`p-${name}`}
              defaultValue=${value === undefined ? '' : String(value)}
              required=${required === true}
              autocomplete="off"
              spellcheck=${false}
            />
          </label>`,
      )}
      ${
        schemes.includes('apiKey') &&
        html`<label>
          <span>API key, if one is required</span>
          <input name="key" type="password" autocomplete="off" />
        </label>`
      }
      ${
        schemes.some((name) => name !== 'apiKey' && name !== 'bearer') &&
        html`<label>
          <span>Bearer token</span>
          <input name="bearer" type="password" autocomplete="off" />
        </label>`
      }
      ${
        about.requestBody !== undefined &&
        html`<label class="wide">
          <span>Body</span>
          <textarea
            name="body"
            rows="10"
            spellcheck=${false}
            defaultValue=${example === undefined ? '' : JSON.stringify(example, null, 2)}
          ></textarea>
        </label>`
      }
      <div class="buttons">
        <button type="submit" disabled=${isBusy}>Send ${method.toUpperCase()}</button>
      </div>
    </form>
    <${ErrorBox} error=${error} />
    ${
      answer !== undefined &&
      html`<div role="status">
        <p>
          <strong class=${answer.isOk ? 'good' : 'bad'}>${answer.status}</strong>
          ${` after ${answer.ms} ms from `}<code class="long">${answer.url}</code>
        </p>
        <${Lines} text=${answer.text} />
      </div>`
    }
  </details>`;
}

function Details({ api, operation }) {
  const { about, aliases } = operation;
  const parameters = (about.parameters ?? []).map((one) => resolve(api, one));
  const needsKey = (about.security ?? []).some((way) => Object.keys(way).length > 0);
  const body = resolve(api, about.requestBody);
  return html`<${Prose} text=${about.description} />
    ${
      needsKey &&
      html`<p class="quiet">Needs an API key or a token where the deployment asks for one.</p>`
    }
    ${
      aliases.length > 0 &&
      html`<p class="quiet">
        Also:
        ${aliases.map(
          ({ method, path }) => html` <code>${method.toUpperCase()} ${path}</code>${' '}`,
        )}
      </p>`
    }
    <${Parameters} parameters=${parameters} />
    ${
      body !== undefined &&
      html`<h3>Body</h3>
        <${Bodies} api=${api} content=${body.content} />`
    }
    <h3>Answers</h3>
    <${Responses} api=${api} responses=${about.responses} />
    <${Try}
      operation=${operation}
      parameters=${parameters}
      example=${examplesOf(api, body?.content)[0]}
    />`;
}

/** What is inside is made when it is opened: there is a lot of it. */
function Operation({ api, operation, target }) {
  const { about, method, path } = operation;
  const [isOpen, setOpen] = useState(false);
  const isTarget = [operation, ...operation.aliases].some(
    (one) => one.about.operationId === target,
  );
  useEffect(() => {
    if (isTarget) setOpen(true);
  }, [isTarget]);
  return html`<details
    class="card"
    id=${about.operationId}
    open=${isOpen}
    onToggle=${({ currentTarget }) => setOpen(currentTarget.open)}
  >
    <summary>
      <span class=${`mono method ${method}`}>${method.toUpperCase()}</span>
      <span class="mono path">${path}</span>
      <span class="quiet">${about.summary}</span>
    </summary>
    ${isOpen && html`<${Details} api=${api} operation=${operation} />`}
  </details>`;
}

function Schema({ name, schema, target }) {
  const [isOpen, setOpen] = useState(false);
  const isTarget = target === `schema-${name}`;
  useEffect(() => {
    if (isTarget) setOpen(true);
  }, [isTarget]);
  return html`<details
    class="card"
    id=${`schema-${name}`}
    open=${isOpen}
    onToggle=${({ currentTarget }) => setOpen(currentTarget.open)}
  >
    <summary><span class="mono path">${name}</span></summary>
    ${isOpen && html`<${Json} value=${schema} />`}
  </details>`;
}

/** Operations, each with the other paths and methods of the same: aliases say nothing new. */
function operationsOf({ paths }) {
  const all = Object.entries(paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method] !== undefined).map((method) => ({
      path,
      method,
      about: item[method],
    })),
  );
  const groups = new Map();
  let before;
  for (const one of all) {
    const isSame =
      /^The same\b(?! by a link)/.test(one.about.summary ?? '') && before !== undefined;
    const key = isSame ? before : `${one.about.tags[0]} ${one.about.summary ?? ''}`;
    groups.set(key, [...(groups.get(key) ?? []), one]);
    before = key;
  }
  return [...groups.values()].map((same) => {
    const [first, ...aliases] = same.toSorted((one, other) => one.path.length - other.path.length);
    return { ...first, aliases };
  });
}

const isFirst = ({ method, path }) => FIRST.includes(`${method.toUpperCase()} ${path}`);

function fits({ path, method, about, aliases }, words) {
  const text = [
    `${method} ${path} ${about.summary ?? ''} ${about.operationId} ${about.tags.join(' ')}`,
    ...aliases.map((one) => one.path),
  ]
    .join(' ')
    .toLowerCase();
  return words.every((word) => text.includes(word));
}

function useTarget() {
  const read = () => decodeURIComponent(location.hash.slice(1));
  const [target, setTarget] = useState(read);
  useEffect(() => {
    const onChange = () => setTarget(read());
    addEventListener('hashchange', onChange);
    return () => removeEventListener('hashchange', onChange);
  }, []);
  return target;
}

function Description({ api }) {
  const [search, setSearch] = useState('');
  const target = useTarget();
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const operations = operationsOf(api);
  const found = operations.filter((one) => fits(one, words));
  useEffect(() => {
    // What a link leads to is not hidden by what was searched for.
    setSearch('');
    const place = target && document.getElementById(target);
    if (place) place.scrollIntoView();
  }, [target]);
  const shown = (list) =>
    list.map(
      (operation) =>
        html`<${Operation}
          key=${operation.about.operationId}
          api=${api}
          operation=${operation}
          target=${target}
        />`,
    );
  const first = FIRST.flatMap((name) =>
    found.filter(({ method, path }) => `${method.toUpperCase()} ${path}` === name),
  );
  const tags = api.tags
    .map((tag) => ({
      ...tag,
      of: found.filter((one) => one.about.tags.includes(tag.name) && !isFirst(one)),
    }))
    .filter(({ of: list }) => list.length > 0);
  return html`<h1>API</h1>
    <p>
      ${api.info.summary} <a href=${urlOf('openapi.json')}>openapi.json</a> says the same to
      programs.
    </p>
    <details>
      <summary>How it answers</summary>
      <${Prose} text=${api.info.description} />
    </details>
    <form role="search" class="row" onSubmit=${(event) => event.preventDefault()}>
      <input
        id="search"
        type="search"
        aria-label="Search endpoints"
        placeholder="settle, webhook, /v2/…"
        value=${search}
        onInput=${({ currentTarget }) => setSearch(currentTarget.value)}
      />
    </form>
    <nav class="tabs" aria-label="Parts of the API">
      ${tags.map(({ name }) => html`<a href=${`#tag-${name.replaceAll(' ', '-')}`}>${name}</a>`)}
    </nav>
    ${found.length === 0 && html`<${Empty}>No results.<//>`}
    ${
      first.length > 0 &&
      html`<h2>Start here</h2>
        ${shown(first)}`
    }
    ${tags.map(
      ({ name, description, of: list }) =>
        html`<section key=${name} id=${`tag-${name.replaceAll(' ', '-')}`}>
          <h2>${name}</h2>
          <${Prose} text=${description} kind="quiet" />
          ${shown(list)}
        </section>`,
    )}
    ${
      words.length === 0 &&
      html`<h2>Schemas</h2>
        <p class="quiet">JSON Schema 2020-12.</p>
        ${Object.entries(api.components.schemas).map(
          ([name, schema]) =>
            html`<${Schema} key=${name} name=${name} schema=${schema} target=${target} />`,
        )}`
    }`;
}

function Page() {
  const [api, setApi] = useState();
  const [error, setError] = useState();
  useEffect(() => {
    ask('openapi.json').then(setApi, setError);
  }, []);
  if (error !== undefined)
    return html`<h1>API</h1>
      <${ErrorBox} error=${error} />`;
  if (api === undefined)
    return html`<h1>API</h1>
      <p class="quiet">Loading</p>`;
  return html`<${Description} api=${api} />`;
}

render(html`<${Page} />`, document.getElementById('app'));
