/**
 * The page where an owner answers an application that asks by OAuth. It keeps nothing. What comes from
 * outside is shown as text. Plain JavaScript: there is no build.
 */

const byId = (id) => document.getElementById(id);
const base = location.pathname.replace(/\/+$/, '');
const browserWallet = globalThis.ethereum;
let message = '';

function say(text) {
  byId('outcome').textContent = text;
}

async function ask(path, body) {
  const response = await fetch(`${base}/${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    ...(body !== undefined && {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error ?? 'It did not work. Try again.');
  return answer;
}

/** Runs what a button does, and says why where it does not work. */
async function attempt(work) {
  say('');
  try {
    await work();
  } catch (error) {
    say(error instanceof Error ? error.message : 'It did not work. Try again.');
  }
}

/** `personal_sign` takes bytes as hex. */
function hexOf(text) {
  const bytes = new TextEncoder().encode(text);
  return `0x${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

void attempt(async () => {
  const { client, host, scopes } = await ask('request');
  byId('name').textContent = client.name;
  byId('vouched').textContent =
    client.site === undefined ? 'nobody has checked' : `${client.site} says`;
  byId('host').textContent = host;
  for (const { name, means } of scopes) {
    const item = document.createElement('li');
    item.textContent = `${means} (${name})`;
    byId('scopes').append(item);
  }
  byId('request').hidden = false;
});

if (browserWallet !== undefined) {
  byId('connect').hidden = false;
  byId('sign').hidden = false;
}

byId('connect').addEventListener('click', () =>
  attempt(async () => {
    const [address] = await browserWallet.request({ method: 'eth_requestAccounts' });
    byId('address').value = address ?? '';
  }),
);

byId('deny').addEventListener('click', () =>
  attempt(async () => {
    const { location: next } = await ask('deny', {});
    location.assign(next);
  }),
);

byId('ask').addEventListener('submit', (event) => {
  event.preventDefault();
  void attempt(async () => {
    const challenge = await ask('nonce', { address: byId('address').value.trim() });
    message = challenge.message;
    byId('rules').textContent = challenge.rules;
    byId('message').textContent = message;
    byId('approval').hidden = false;
  });
});

byId('sign').addEventListener('click', () =>
  attempt(async () => {
    const params = [hexOf(message), byId('address').value.trim()];
    byId('signature').value = await browserWallet.request({ method: 'personal_sign', params });
  }),
);

byId('approve').addEventListener('submit', (event) => {
  event.preventDefault();
  void attempt(async () => {
    const address = byId('address').value.trim();
    const signature = byId('signature').value.trim();
    const { location: next } = await ask('approve', { address, message, signature });
    say('It is in. You are sent back to it.');
    location.assign(next);
  });
});
