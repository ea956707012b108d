/** The page where an owner lets an agent pay. It keeps nothing. */

import { Outcome, useAction } from '../components/action.js';
import { ask, urlOf } from '../components/ask.js';
import { html, render, useState } from '../components/html.js';
import { Signing } from './signing.js';

const code = new URLSearchParams(location.search).get('code') ?? '';

function Approved() {
  return html`<section class="card">
    <h2>The agent is in.</h2>
    <p>It pays within the rules that you signed. You can close this page.</p>
    <p>
      A new wallet is empty: <a href=${urlOf('wallet')}>open your wallet</a> to add money, change
      the limits or revoke the agent.
    </p>
  </section>`;
}

function Page() {
  const action = useAction();
  const [isDone, setDone] = useState(false);
  if (isDone)
    return html`<h1>Agent approved</h1>
      <${Approved} />`;
  if (code === '') {
    return html`<h1>Approve an agent</h1>
      <p class="error">This address has no code. Open the link that the agent shows.</p>`;
  }
  return html`<h1>Let an agent pay from your wallet?</h1>
    <p>An agent that shows you this code asks to pay from your wallet here:</p>
    <p class="big"><code id="code">${code}</code></p>
    <p>Approve it only if you started that agent yourself and it shows the same code.</p>
    <${Outcome} of=${action} />
    <${Signing}
      send="Approve"
      action=${action}
      challenge=${(address) => ask('v1/approve/nonce', { body: { code, address } })}
      submit=${async (signed) => {
        await ask('v1/approve', { body: { code, ...signed } });
        setDone(true);
      }}
    />`;
}

render(html`<${Page} />`, document.getElementById('app'));
