/**
 * The page that checks a seller. It keeps nothing. What a seller says is shown as text and never as HTML.
 * Plain JavaScript: there is no build.
 */

const byId = (id) => document.getElementById(id);

/** Class of a severity in the style sheet. */
const CLASSES = { error: 'bad', warning: 'warn', note: 'quiet' };

/** Text is always a text node. */
function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children.filter((child) => child !== undefined));
  return node;
}

const code = (text) => element('code', {}, text);

function say(text, className = '') {
  byId('outcome').textContent = text;
  byId('outcome').className = className;
}

async function examine() {
  const body = byId('body').value.trim();
  const key = byId('key').value.trim();
  const method = byId('method').value;
  const response = await fetch('v2/doctor', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(key !== '' && { 'x-api-key': key }) },
    body: JSON.stringify({
      url: byId('url').value.trim(),
      method,
      ...(body !== '' && method !== 'GET' && { body }),
    }),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error ?? 'It did not work. Try again.');
  return answer;
}

function plural(count, word) {
  return `${count} ${word}${count === 1 ? '' : 's'}`;
}

function headline({ isSound, status, counts }) {
  if (status === undefined) return ['The seller could not be asked.', 'bad'];
  if (isSound) return ['Sound: a stock buyer can pay.', 'good'];
  const count = `${plural(counts.error, 'error')}, ${plural(counts.warning, 'warning')}.`;
  return [`It answered ${status}. ${count}`, counts.error > 0 ? 'bad' : 'warn'];
}

function finding({ code: name, severity, path, expected, got, fix }) {
  return element(
    'div',
    { class: 'card finding' },
    element(
      'p',
      {},
      element('span', { class: `state ${CLASSES[severity]}` }, severity),
      ' ',
      code(name),
      ' at ',
      code(path),
    ),
    element('p', {}, fix),
    element('p', { class: 'quiet' }, 'Expected: ', expected),
    got === undefined ? undefined : element('p', { class: 'quiet' }, 'Got: ', code(got)),
  );
}

function offerTable(offers) {
  const head = ['Offer', 'Scheme', 'Network', 'Price', 'Asset', 'Payee'];
  return element(
    'div',
    { class: 'scroll' },
    element(
      'table',
      {},
      element('thead', {}, element('tr', {}, ...head.map((name) => element('th', {}, name)))),
      element(
        'tbody',
        {},
        ...offers.map(({ path, scheme, method, network, price, amount, asset, payTo }) =>
          element(
            'tr',
            {},
            element('td', {}, code(path)),
            element('td', {}, `${scheme}, ${method}`),
            element('td', {}, code(network)),
            element('td', {}, price ?? `${amount} atomic units`),
            element('td', {}, code(asset)),
            element('td', {}, code(payTo)),
          ),
        ),
      ),
    ),
  );
}

function show(report) {
  say(...headline(report));
  const { offers, findings } = report;
  byId('report').replaceChildren(
    ...(offers.length > 0 ? [element('h2', {}, 'What it offers'), offerTable(offers)] : []),
    ...(findings.length > 0 ? [element('h2', {}, 'What was found')] : []),
    ...findings.map(finding),
  );
  byId('report').hidden = false;
}

byId('ask').addEventListener('submit', (event) => {
  event.preventDefault();
  byId('check').disabled = true;
  byId('report').hidden = true;
  say('Asking. This takes some seconds.');
  void examine()
    .then(show)
    .catch((error) => {
      say(error instanceof Error ? error.message : 'It did not work. Try again.', 'bad');
    })
    .finally(() => {
      byId('check').disabled = false;
    });
});
