/** The operators' console: the sign-in, the parts, and what all of them need to know. */

import { chainFacts, Chains } from '../components/chains.js';
import { html, render, useEffect, useRef, useState } from '../components/html.js';
import { ErrorBox } from '../components/notes.js';
import { usePolled } from '../components/polled.js';
import { Tabs } from '../components/tabs.js';
import { Time } from '../components/time.js';
import { ask, askAssets, forgetKey, storedKey, storeKey, whenRefused } from './api.js';
import { Audit } from './audit.js';
import { Catalogue } from './catalogue.js';
import { Lanes } from './lanes.js';
import { Life } from './life.js';
import { Overview } from './overview.js';
import { hrefOf, placeOf } from './place.js';
import { Reconciliation } from './reconciliation.js';
import { Sellers } from './sellers.js';
import { Settlements } from './settlements.js';
import { Webhooks } from './webhooks.js';

const OVERVIEW_MS = 2000;
/** A token that could not be read yet is read within minutes. */
const ASSETS_MS = 60_000;

const PARTS = {
  overview: ['Overview', Overview],
  settlements: ['Settlements', Settlements],
  lanes: ['Lanes', Lanes],
  sellers: ['Sellers', Sellers],
  webhooks: ['Webhooks', Webhooks],
  reconciliation: ['Reconciliation', Reconciliation],
  catalogue: ['Catalogue', Catalogue],
  audit: ['Audit', Audit],
};
/** Parts of parts: they are reached from there. */
const BELOW = { settlement: ['Settlement', Life, 'settlements'] };

function usePlace() {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const onChange = () => setHash(location.hash);
    addEventListener('hashchange', onChange);
    return () => removeEventListener('hashchange', onChange);
  }, []);
  return placeOf(hash);
}

function SignIn({ problem, onKey }) {
  const [error, setError] = useState(problem);
  const [isBusy, setBusy] = useState(false);
  const onSubmit = async (event) => {
    event.preventDefault();
    setBusy(true);
    storeKey(new FormData(event.currentTarget).get('key').trim());
    try {
      await ask('overview');
      onKey();
    } catch (refused) {
      forgetKey();
      setError(refused);
      setBusy(false);
    }
  };
  return html`<main class="sign-in">
    <form id="enter" class="card" onSubmit=${onSubmit}>
      <h1>Operators</h1>
      <p class="quiet">Sign in with an API key that has the scope <code>admin</code>.</p>
      <label class="wide">
        <span>API key</span>
        <input
          id="key"
          name="key"
          type="password"
          autocomplete="off"
          spellcheck=${false}
          required
        />
      </label>
      <${ErrorBox} error=${error} />
      <div class="buttons">
        <button type="submit" class="primary" disabled=${isBusy}>Sign in</button>
      </div>
      <p class="quiet">
        Make one with <code>npm run keys:new</code>. It stays in this tab until you sign out or
        close it.
      </p>
    </form>
  </main>`;
}

function Console({ leave }) {
  const { page, fields } = usePlace();
  const { answer: overview, error, refresh } = usePolled(() => ask('overview'), OVERVIEW_MS, '');
  const { answer: assets } = usePolled(askAssets, ASSETS_MS, '');
  const known = PARTS[page] ?? BELOW[page] ?? PARTS.overview;
  const [name, Part, above] = known;
  const here = above ?? (PARTS[page] === undefined ? 'overview' : page);
  const heading = useRef();
  const shown = useRef(page + (fields.id ?? ''));
  useEffect(() => {
    document.title = `${name} · x402-settle operators`;
    // Who reads by ear is taken to what is new; nobody is moved who has just come in.
    if (shown.current !== page + (fields.id ?? '')) heading.current?.focus();
    shown.current = page + (fields.id ?? '');
  }, [page, fields.id]);
  const tabs = Object.entries(PARTS).map(([key, [title]]) => ({
    name: title,
    href: hrefOf(key),
    isHere: key === here,
  }));
  const facts = chainFacts(assets, overview?.networks);
  return html`<${Chains.Provider} value=${facts}>
    <header class="bar">
      <p class="brand"><a href="#/overview">x402-settle operators</a></p>
      <span class="quiet" id="freshness">
        ${overview === undefined ? 'Loading …' : html`as of <${Time} at=${overview.at} /> UTC`}
      </span>
      <button type="button" id="leave" onClick=${() => leave()}>Sign out</button>
    </header>
    <${Tabs} label="Parts of the console" tabs=${tabs} />
    <main id="view">
      <h1 ref=${heading} tabindex="-1">${name}</h1>
      <${ErrorBox} error=${error} />
      ${
        overview !== undefined &&
        html`<${Part} overview=${overview} fields=${fields} page=${page} refresh=${refresh} />`
      }
    </main>
    <footer class="quiet">Version ${overview?.version ?? ''}</footer>
  <//>`;
}

function App() {
  const [isIn, setIn] = useState(storedKey() !== null);
  const [problem, setProblem] = useState();
  const leave = (refused) => {
    forgetKey();
    setProblem(refused);
    setIn(false);
  };
  whenRefused((refused) => {
    if (isIn) leave(refused);
  });
  return isIn
    ? html`<${Console} leave=${leave} />`
    : html`<${SignIn} problem=${problem} onKey=${() => setIn(true)} />`;
}

render(html`<${App} />`, document.getElementById('app'));
