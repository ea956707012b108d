import { attempt, make } from './asking.js';
import { arePasskeysOn, findPasskey, makePasskey, signByPasskey } from './passkeys.js';

/** The form of the pages on which an owner signs. Plain JavaScript: there is no build. */

const browserWallet = globalThis.ethereum;

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
 * in a browser wallet, by a passkey, or elsewhere and pastes.
 *
 * @param form - `show` and `send` are what the two buttons say. `challenge(address)` gets `{message, rules}`;
 *   `submit({address, message, signature})`, or with `assertion` of a passkey, sends what was signed. `canMake`:
 *   whether somebody may become an owner there.
 */
export function signingForm(place, { show, send, challenge, submit, canMake = false }) {
  const isThere = browserWallet !== undefined;
  const button = (label, attributes) => make('button', { type: 'button', ...attributes }, label);
  const address = input('address', 'Your address', 'Your address, 0x…');
  address.className = 'address';
  address.required = true;
  const connect = button('Use my browser wallet', { id: 'connect' });
  const found = button('Use a passkey', { id: 'passkey' });
  const made = button('Make a passkey', { id: 'passkey-new' });
  const naming = make('form', { id: 'ask', class: 'row' }, address, connect, found, made);
  naming.append(button(show, { type: 'submit' }));

  const rules = make('p', { id: 'rules' });
  const about = make('div', {}, make('h2', {}, 'What it may do'), rules);
  const text = make('pre', { id: 'message', class: 'message' });
  const how =
    'Sign exactly this text with your address (EIP-191, “personal sign”). It costs nothing.';
  const signature = input('signature', 'Signature', 'Signature, 0x…');
  const sign = button('Sign in my browser wallet', { id: 'sign' });
  const signByKey = button('Sign with my passkey', { id: 'passkey-sign' });
  const sending = make('p', {}, signature, ' ', sign, ' ', button(send, { type: 'submit' }));
  sending.append(' ', signByKey);
  const signing = make('form', { id: 'approve' }, sending);
  const heading = make('h2', {}, 'What you sign');
  const approval = make('section', { id: 'approval' }, about, heading, make('p', {}, how), text);
  approval.append(signing);
  approval.hidden = true;
  for (const one of [found, made, signByKey]) one.hidden = true;
  connect.hidden = !isThere;
  sign.hidden = !isThere;
  place.append(naming, approval);

  const given = () => address.value.trim();
  let message = '';
  let passkey;
  void arePasskeysOn().then((isOn) => {
    found.hidden = !isOn;
    made.hidden = !isOn || !canMake;
  });
  const choose = (get) => () =>
    attempt(async () => {
      passkey = await get();
      address.value = passkey.owner;
      signByKey.hidden = false;
    });
  found.addEventListener('click', choose(findPasskey));
  made.addEventListener('click', choose(makePasskey));
  signByKey.addEventListener('click', () =>
    attempt(async () => {
      const assertion = await signByPasskey(passkey.id, message);
      await submit({ address: given(), message, assertion });
    }),
  );
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
