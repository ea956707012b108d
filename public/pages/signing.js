/** How an owner signs: in a browser wallet and by a passkey in two clicks, or elsewhere. */

import { CopyButton } from '../components/copy-button.js';
import { html, useEffect, useState } from '../components/html.js';
import { arePasskeysOn, findPasskey, makePasskey, signByPasskey } from './passkeys.js';

export const browserWallet = globalThis.ethereum;

/** `personal_sign` takes bytes as hex. */
function hexOf(text) {
  const bytes = new TextEncoder().encode(text);
  return `0x${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

/** The address that the browser's wallet lets this page use. */
export async function connectWallet() {
  const [account] = await browserWallet.request({ method: 'eth_requestAccounts' });
  if (account === undefined) throw new Error('The browser wallet named no address.');
  return account;
}

/** For those who sign elsewhere, by a hardware wallet or a command line: address, then signature. */
function ByHand({ isOpen, isBusy, onAddress }) {
  const onSubmit = (event) => {
    event.preventDefault();
    onAddress(new FormData(event.currentTarget).get('address').trim());
  };
  return html`<details open=${isOpen}>
    <summary>Sign elsewhere, and paste the signature</summary>
    <form id="ask" class="row" onSubmit=${onSubmit}>
      <input
        id="address"
        name="address"
        class="address"
        aria-label="Your address"
        placeholder="Your address, 0x…"
        autocomplete="off"
        spellcheck=${false}
        required
      />
      <button type="submit" disabled=${isBusy}>Show the message</button>
    </form>
  </details>`;
}

function Pasted({ send, isBusy, onSignature }) {
  const onSubmit = (event) => {
    event.preventDefault();
    onSignature(new FormData(event.currentTarget).get('signature').trim());
  };
  return html`<form id="approve" class="row" onSubmit=${onSubmit}>
    <input
      id="signature"
      name="signature"
      aria-label="Signature"
      placeholder="Signature, 0x…"
      autocomplete="off"
      spellcheck=${false}
      required
    />
    <button type="submit" class="primary" disabled=${isBusy}>${send}</button>
  </form>`;
}

/**
 * The owner names an address, reads the message and the rules it is about, and signs.
 *
 * @param send - what the last button says.
 * @param challenge - takes an address and gets `{ message, rules? }`.
 * @param submit - sends `{ address, message, signature }`, or with `assertion` of a passkey in its place. Its second
 *   argument is `wallet`, `passkey` or `hand`. It returns
 *   what came of it.
 * @param action - of the page, which shows what came of it.
 * @param canMake - whether somebody may become an owner here.
 * @param children - other buttons beside the last one.
 */
export function Signing({ send, challenge, submit, action, canMake = false, children }) {
  const [arePasskeys, setPasskeys] = useState(false);
  const [asked, setAsked] = useState();
  useEffect(() => {
    void arePasskeysOn().then(setPasskeys);
  }, []);
  const { isBusy, run } = action;
  const ask = (by, get) =>
    void run(async () => {
      const who = await get();
      setAsked({ by, ...who, ...(await challenge(who.address)) });
    });
  const answer = (make) =>
    void run(async () => {
      const { address, message } = asked;
      return submit({ address, message, ...(await make()) }, asked.by);
    });
  if (asked === undefined) {
    const isThere = browserWallet !== undefined;
    const byKey = (find) => () => ask('passkey', find);
    return html`<div class="buttons">
        ${
          isThere &&
          html`<button
            type="button"
            id="connect"
            class="primary"
            disabled=${isBusy}
            onClick=${() => ask('wallet', async () => ({ address: await connectWallet() }))}
          >
            Continue with browser wallet
          </button>`
        }
        ${
          arePasskeys &&
          html`<button
            type="button"
            id="passkey"
            class=${isThere ? '' : 'primary'}
            disabled=${isBusy}
            onClick=${byKey(findPasskey)}
          >
            Continue with a passkey
          </button>`
        }
        ${
          arePasskeys &&
          canMake &&
          html`<button
            type="button"
            id="passkey-new"
            disabled=${isBusy}
            onClick=${byKey(makePasskey)}
          >
            Create a passkey
          </button>`
        }
        ${children}
      </div>
      ${
        !isThere &&
        html`<p id="no-wallet" class="quiet">
          This browser has no wallet: open the page in one that has, or in the browser of your
          wallet app.
        </p>`
      }
      <${ByHand}
        isOpen=${!isThere && !arePasskeys}
        isBusy=${isBusy}
        onAddress=${(address) => ask('hand', () => ({ address }))}
      />`;
  }
  const { by, rules, message, address, id } = asked;
  return html`<section id="approval" class="card">
    ${
      rules !== undefined &&
      html`<h2>What it may do</h2>
        <p id="rules" class="message">${lines(rules)}</p>
        ${
          rules.includes('Payees: anybody') &&
          html`<p class="notice warn">It may pay anybody, within these limits.</p>`
        }`
    }
    <h2>What you sign</h2>
    <p>
      As <code id="signer">${address}</code>.
      ${by === 'hand' ? ' Sign exactly this text (EIP-191, “personal sign”).' : ''} Signing costs
      nothing.
    </p>
    <pre id="message" class="message" tabindex="0">${lines(message)}</pre>
    ${by === 'hand' && html`<${CopyButton} text=${message} label="the message" />`}
    ${
      by === 'hand' &&
      html`<${Pasted}
        send=${send}
        isBusy=${isBusy}
        onSignature=${(signature) => answer(() => ({ signature }))}
      />`
    }
    <div class="buttons">
      ${
        by === 'wallet' &&
        html`<button
          type="button"
          id="sign"
          class="primary"
          disabled=${isBusy}
          onClick=${() =>
            answer(async () => ({
              signature: await browserWallet.request({
                method: 'personal_sign',
                params: [hexOf(message), address],
              }),
            }))}
        >
          ${send}
        </button>`
      }
      ${
        by === 'passkey' &&
        html`<button
          type="button"
          id="passkey-sign"
          class="primary"
          disabled=${isBusy}
          onClick=${() => answer(async () => ({ assertion: await signByPasskey(id, message) }))}
        >
          ${send}
        </button>`
      }
      <button type="button" disabled=${isBusy} onClick=${() => setAsked(undefined)}>Back</button>
      ${children}
    </div>
  </section>`;
}

/** Line by line, for line ends are part of what is signed and are shown as such. */
function lines(text) {
  return text.split('\n').flatMap((line, at) => (at === 0 ? [line] : [html`<br />`, line]));
}
