/** The page where an owner answers an application that asks by OAuth. It keeps nothing. */

import { ActionButton, Outcome, useAction } from '../components/action.js';
import { ask } from '../components/ask.js';
import { html, render, useEffect, useState } from '../components/html.js';
import { ErrorBox } from '../components/notes.js';
import { Signing } from './signing.js';

const base = `oauth/consent/${location.pathname.replace(/\/+$/, '').split('/').at(-1)}`;

function Request({ client, host, scopes }) {
  return html`<section id="request">
    <p>
      It calls itself <strong id="name">${client.name}</strong>, which
      <span id="vouched">
        ${client.site === undefined ? ' nobody has checked' : ` ${client.site} says`}</span
      >. Its answer goes to <strong id="host">${host}</strong>.
    </p>
    <p>It asks to:</p>
    <ul id="scopes">
      ${scopes.map(({ name, means }) => html`<li>${`${means} (${name})`}</li>`)}
    </ul>
    <p>Approve it only if you began this yourself, in an application you trust.</p>
  </section>`;
}

function Page() {
  const action = useAction();
  const [asked, setAsked] = useState();
  const [error, setError] = useState();
  useEffect(() => {
    ask(`${base}/request`).then(setAsked, setError);
  }, []);
  const goOn = ({ location: next }) => {
    location.assign(next);
  };
  if (error !== undefined) {
    return html`<h1>Approve an application</h1>
      <div id="outcome"><${ErrorBox} error=${error} /></div>`;
  }
  if (asked === undefined)
    return html`<h1>Approve an application</h1>
      <p class="quiet">Loading</p>`;
  return html`<h1>Let an application use your wallet?</h1>
    <${Request} ...${asked} />
    <${Outcome} of=${action} />
    <${Signing}
      send="Approve"
      action=${action}
      challenge=${(address) => ask(`${base}/nonce`, { body: { address } })}
      submit=${async (signed) => {
        goOn(await ask(`${base}/approve`, { body: signed }));
        return 'Approved. You are sent back to the application.';
      }}
    >
      <${ActionButton}
        of=${action}
        id="deny"
        kind="danger"
        name="Deny"
        work=${async () => goOn(await ask(`${base}/deny`, { body: {} }))}
      />
    <//>`;
}

render(html`<${Page} />`, document.getElementById('app'));
