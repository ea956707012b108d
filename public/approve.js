/**
 * The page where an owner lets an agent in. It keeps nothing. What comes from outside is shown as text.
 * Plain JavaScript: there is no build.
 */

const byId = (id) => document.getElementById(id);
const code = new URLSearchParams(location.search).get('code') ?? '';
const browserWallet = globalThis.ethereum;
let message = '';

function say(text) {
  byId('outcome').textContent = text;
}

async function ask(path, body) {
  const response = await fetch(`../v1/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
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

byId('code').textContent = code || 'none: open the link that the agent shows';

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

byId('ask').addEventListener('submit', (event) => {
  event.preventDefault();
  void attempt(async () => {
    const address = byId('address').value.trim();
    const challenge = await ask('approve/nonce', { code, address });
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
    await ask('approve', { code, address, message, signature });
    byId('approval').hidden = true;
    say('The agent is in. You can close this page.');
  });
});
