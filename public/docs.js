/** Shows openapi.json to people. Plain JavaScript: there is no build between this file and the page. */

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

/** Text is always a text node: nothing of the description is read as HTML. */
function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children.filter((child) => child !== undefined));
  return node;
}

/** Words between backquotes as code. */
function prose(text = '', attributes = {}) {
  const parts = text.split('`');
  const nodes = parts.map((part, index) => (index % 2 === 1 ? element('code', {}, part) : part));
  return element('p', attributes, ...nodes);
}

const pre = (value) => element('pre', {}, JSON.stringify(value, null, 2));

function resolve(api, node) {
  if (node?.$ref === undefined) return node;
  return node.$ref
    .split('/')
    .slice(1)
    .reduce((at, name) => at[name], api);
}

function schemaName(schema) {
  return schema?.$ref?.split('/').at(-1);
}

function parameterTable(parameters) {
  if (parameters === undefined || parameters.length === 0) return undefined;
  return element(
    'div',
    { class: 'scroll' },
    element('h3', {}, 'Parameters'),
    element(
      'table',
      {},
      element(
        'tbody',
        {},
        ...parameters.map((parameter) =>
          element(
            'tr',
            {},
            element('td', {}, element('code', {}, parameter.name)),
            element('td', { class: 'quiet' }, parameter.in),
            element('td', {}, prose(parameter.description)),
          ),
        ),
      ),
    ),
  );
}

function bodies(content) {
  const media = content?.['application/json'];
  if (media === undefined) return [];
  const examples = Object.values(media.examples ?? {});
  if (media.example !== undefined) examples.push({ value: media.example });
  const name = schemaName(media.schema);
  return [
    name === undefined
      ? undefined
      : element(
          'p',
          { class: 'quiet' },
          'Schema ',
          element('a', { href: `#schema-${name}` }, element('code', {}, name)),
        ),
    ...examples.flatMap(({ summary, value }) => [
      summary === undefined ? undefined : element('p', { class: 'quiet' }, summary),
      pre(value),
    ]),
  ];
}

function responses(api, operation) {
  return Object.entries(operation.responses).map(([status, response]) => {
    const { description, headers, content } = resolve(api, response);
    const names = Object.keys(headers ?? {});
    return element(
      'details',
      { class: 'card' },
      element('summary', {}, element('code', {}, status), prose(description)),
      names.length > 0
        ? prose(`Headers: ${names.map((name) => `\`${name}\``).join(', ')}`)
        : undefined,
      ...bodies(content),
    );
  });
}

function operationCard(api, path, method, operation) {
  const needsKey = (operation.security ?? []).some((way) => Object.keys(way).length > 0);
  return element(
    'details',
    { class: 'card', id: operation.operationId },
    element(
      'summary',
      {},
      element('span', { class: `mono method ${method}` }, method.toUpperCase()),
      element('span', { class: 'mono path' }, path),
      element('span', { class: 'quiet' }, operation.summary ?? ''),
    ),
    prose(operation.description),
    needsKey
      ? prose('An API key is asked for where keys are in use.', { class: 'quiet' })
      : undefined,
    parameterTable(operation.parameters),
    operation.requestBody === undefined
      ? undefined
      : element('div', {}, element('h3', {}, 'Body'), ...bodies(operation.requestBody.content)),
    element('h3', {}, 'Answers'),
    ...responses(api, operation),
  );
}

function render(api) {
  const operations = Object.entries(api.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method] !== undefined).map((method) => ({
      path,
      method,
      operation: item[method],
    })),
  );
  const content = document.getElementById('content');
  content.replaceChildren(
    element('h1', {}, `${api.info.title} ${api.info.version}`),
    prose(api.info.summary),
    prose(api.info.description),
    element(
      'p',
      {},
      element('a', { href: 'openapi.json' }, 'openapi.json'),
      ' says the same to programs.',
    ),
    ...api.tags.flatMap((tag) => [
      element('h2', {}, tag.name),
      prose(tag.description, { class: 'quiet' }),
      ...operations
        .filter(({ operation }) => operation.tags.includes(tag.name))
        .map(({ path, method, operation }) => operationCard(api, path, method, operation)),
    ]),
    element('h2', {}, 'Schemas'),
    prose('JSON Schema 2020-12.', { class: 'quiet' }),
    ...Object.entries(api.components.schemas).map(([name, schema]) =>
      element(
        'details',
        { class: 'card', id: `schema-${name}` },
        element('summary', {}, element('span', { class: 'mono path' }, name)),
        pre(schema),
      ),
    ),
  );
}

/** A link into the page opens what it leads to. */
function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target === null) return;
  target.open = true;
  target.scrollIntoView();
}

try {
  const response = await fetch('openapi.json');
  if (!response.ok) throw new Error(`status ${response.status}`);
  render(await response.json());
  openTarget();
  addEventListener('hashchange', openTarget);
} catch (error) {
  document
    .getElementById('content')
    .append(element('p', { class: 'bad' }, `The description could not be read: ${error.message}`));
}
