/**
 * What the pages share on which an owner signs: asking the service, saying what went wrong, and the form
 * with the message. What comes from outside is shown as text. Plain JavaScript: there is no build.
 */

const FAILED = 'It did not work. Try again.';
const browserWallet = globalThis.ethereum;

export const byId = (id) => document.getElementById(id);

/** Tells the reader what came of it. */
export function say(text) {
  byId('outcome').textContent = text;
}

/** An element. Attributes are words of ours; text from outside belongs into `children`, and stays text. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** What the service says no with. `status` is that of HTTP. */
export class Refusal extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/**
 * Asks the service: by GET, or by POST where there is a body.
 *
 * @throws Refusal
 */
export async function ask(url, body, { token, method } = {}) {
  const response = await fetch(url, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Refusal(answer.error ?? FAILED, response.status);
  return answer;
}

/** Runs what a button does, and says why where it does not work. */
export async function attempt(work) {
  say('');
  try {
    await work();
  } catch (error) {
    say(error instanceof Error ? error.message : FAILED);
  }
}

/** `personal_sign` takes bytes as hex. */
function hexOf(text) {
  const bytes = new TextEncoder().encode(text);
  return `0x${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

/** What is typed as it is: addresses and signatures. */
function input(id, label, placeholder) {
  const exact = { autocomplete: 'off', spellcheck: 'false' };
  return make('input', { id, 'aria-label': label, placeholder, ...exact });
}

/**
 * Builds the form in which an owner names an address, reads the message and the rules it is about, and signs:
 * in a browser wallet, or elsewhere and pastes.
 *
 * @param form - `show` and `send` are what the two buttons say. `challenge(address)` gets `{message, rules}`;
 *   `submit({address, message, signature})` sends what was signed.
 */
export function signingForm(place, { show, send, challenge, submit }) {
  const isThere = browserWallet !== undefined;
  const button = (label, attributes) => make('button', { type: 'button', ...attributes }, label);
  const address = input('address', 'Your address', 'Your address, 0x…');
  address.className = 'address';
  address.required = true;
  const connect = button('Use my browser wallet', { id: 'connect' });
  const naming = make('form', { id: 'ask', class: 'row' }, address, connect);
  naming.append(button(show, { type: 'submit' }));

  const rules = make('p', { id: 'rules' });
  const about = make('div', {}, make('h2', {}, 'What it may do'), rules);
  const text = make('pre', { id: 'message', class: 'message' });
  const how =
    'Sign exactly this text with your address (EIP-191, “personal sign”). It costs nothing.';
  const signature = input('signature', 'Signature', 'Signature, 0x…');
  const sign = button('Sign in my browser wallet', { id: 'sign' });
  const sending = make('p', {}, signature, ' ', sign, ' ', button(send, { type: 'submit' }));
  const signing = make('form', { id: 'approve' }, sending);
  const heading = make('h2', {}, 'What you sign');
  const approval = make('section', { id: 'approval' }, about, heading, make('p', {}, how), text);
  approval.append(signing);
  approval.hidden = true;
  connect.hidden = !isThere;
  sign.hidden = !isThere;
  place.append(naming, approval);

  const given = () => address.value.trim();
  let message = '';
  connect.addEventListener('click', () =>
    attempt(async () => {
      const [account] = await browserWallet.request({ method: 'eth_requestAccounts' });
      address.value = account ?? '';
    }),
  );
  naming.addEventListener('submit', (event) => {
    event.preventDefault();
    void attempt(async () => {
      const asked = await challenge(given());
      message = asked.message;
      about.hidden = asked.rules === undefined;
      rules.textContent = asked.rules ?? '';
      text.textContent = message;
      approval.hidden = false;
    });
  });
  sign.addEventListener('click', () =>
    attempt(async () => {
      const params = [hexOf(message), given()];
      signature.value = await browserWallet.request({ method: 'personal_sign', params });
    }),
  );
  signing.addEventListener('submit', (event) => {
    event.preventDefault();
    void attempt(() => submit({ address: given(), message, signature: signature.value.trim() }));
  });
}
