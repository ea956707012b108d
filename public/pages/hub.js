/**
 * The page where an owner uploads files, shares them, sells them and deletes them. What is shown of files is text:
 * names and media types are what somebody has said.
 */

import { ActionButton, Outcome, useAction } from '../components/action.js';
import { Address } from '../components/address.js';
import { Amount } from '../components/amount.js';
import { ask, urlOf } from '../components/ask.js';
import { chainFacts, Chains } from '../components/chains.js';
import { CopyButton } from '../components/copy-button.js';
import { Confirm } from '../components/dialog.js';
import { plural, size, smallestUnits } from '../components/format.js';
import { html, render, useEffect, useState } from '../components/html.js';
import { Table } from '../components/table.js';
import { Time } from '../components/time.js';
import { HubClient } from './hub-client.js';
import { browserWallet, connectWallet } from './signing.js';

const HOURS_MAX = 720;
const PAGE = 50;
const place = document.getElementById('page');
const isPublic = place.dataset.public === 'true';
const hasTokens = place.dataset.hasTokens === 'true';

const addressOf = (link) => String(urlOf('api/shared', { link }));

/** What is answered where there is no price to tell. */
const NO_PRICE = new Set([403, 404]);

const Price = ({ price: { amount, asset, network } }) =>
  html`<${Amount} atomic=${amount} network=${network} asset=${asset} /> on ${network}`;

/** @returns a whole number within bounds. */
function numberIn(text, most) {
  if (!/^\d{1,6}$/.test(text.trim()) || Number(text) > most) {
    throw new Error(`A whole number up to ${most} is expected.`);
  }
  return Number(text);
}

/** A form whose fields are handed over by name. */
const Form = ({ id, onFields, kind = 'row', children }) =>
  html`<form
    id=${id}
    class=${kind}
    onSubmit=${(event) => {
      event.preventDefault();
      onFields(new FormData(event.currentTarget), event.currentTarget);
    }}
  >
    ${children}
  </form>`;

function Upload({ client, action, reload }) {
  const [file, setFile] = useState();
  const onFields = (fields, form) =>
    void action.run(async () => {
      const name = fields.get('name').trim();
      await client.upload(file, name);
      form.reset();
      setFile(undefined);
      await reload();
      return `Stored ${JSON.stringify(name)}.`;
    });
  return html`<section class="card">
    <h2>Upload a file</h2>
    <${Form} id="upload" kind="fields" onFields=${onFields}>
      <label class="wide">
        <span>File</span>
        <input
          id="file"
          name="file"
          type="file"
          required
          onChange=${({ currentTarget }) => setFile(currentTarget.files[0])}
        />
      </label>
      <label key=${file?.name}>
        <span>Name</span>
        <input
          id="file-name"
          name="name"
          maxlength="255"
          defaultValue=${file?.name ?? ''}
          autocomplete="off"
          spellcheck=${false}
          required
        />
      </label>
      <div class="buttons">
        <button type="submit" class="primary" disabled=${action.isBusy}>Upload</button>
      </div>
    <//>
    ${
      isPublic &&
      html`<p class="quiet">This hub is public: everybody may read a file that has no price.</p>`
    }
  </section>`;
}

const Files = ({ rows, owner, hasMore, action, open, more }) =>
  html`<section>
    <h2>Your files</h2>
    <div id="list">
      <${Table}
        label="Your files"
        rows=${rows}
        keyOf=${({ Name }) => Name}
        empty="No files yet."
        columns=${[
          { name: 'Name', cell: ({ Name }) => Name, isLong: true },
          {
            name: 'Bucket',
            cell: ({ Bucket }) => (Bucket === owner.toLowerCase() ? '' : Bucket),
            isLong: true,
          },
          { name: 'Stored', cell: ({ CreatedAt }) => html`<${Time} at=${CreatedAt} />` },
          { name: 'Size', cell: ({ Size }) => size(Size) },
          { name: 'Type', cell: ({ ContentType }) => ContentType, isLong: true },
          {
            name: 'Price',
            cell: ({ Price: price }) => price !== undefined && html`<${Price} price=${price} />`,
          },
          {
            name: 'Note',
            cell: ({ TakenDown, Reason }) =>
              TakenDown === undefined ? '' : `taken down by the operator: ${Reason}`,
            isLong: true,
          },
          {
            name: '',
            cell: ({ Name }) =>
              html`<${ActionButton} of=${action} work=${() => open(Name)} name="Open" />`,
          },
        ]}
      />
    </div>
    <p>
      <button
        id="more"
        type="button"
        hidden=${!hasMore}
        disabled=${action.isBusy}
        onClick=${() => void action.run(more)}
      >
        More
      </button>
    </p>
  </section>`;

function Sell({ client, name, action, tokens, isForSale, reopen }) {
  const onFields = (fields) =>
    void action.run(async () => {
      const text = (field) => fields.get(field)?.trim() ?? '';
      const token = tokens[Number(text('token'))];
      const amount =
        token === undefined ? text('amount') : smallestUnits(text('amount'), token.decimals);
      if (amount === undefined) throw new Error(`${token.symbol} has ${token.decimals} decimals.`);
      await client.asOwner('PUT', 'price', {
        fields: {
          file: name,
          network: token?.network ?? text('network'),
          asset: token?.asset ?? text('asset'),
          amount,
          accessSeconds: 3600 * numberIn(text('accessHours'), 8760),
        },
      });
      await reopen();
      return 'The price is set. Buyers pay at the address of the file.';
    });
  const clear = async () => {
    await client.asOwner('DELETE', 'price', { query: { file: name } });
    await reopen();
    return 'It is not for sale any more.';
  };
  return html`<details>
    <summary>Sell it</summary>
    <${Form} id="sell" kind="fields" onFields=${onFields}>
      ${
        tokens.length > 0
          ? html`<label>
              <span>Token</span>
              <select name="token">
                ${tokens.map(
                  ({ symbol, network }, at) =>
                    html`<option value=${String(at)}>${`${symbol} (${network})`}</option>`,
                )}
              </select>
            </label>`
          : html`<label>
                <span>Network</span>
                <input name="network" placeholder="eip155:56" autocomplete="off" required />
              </label>
              <label>
                <span>Token</span>
                <input name="asset" placeholder="0x…" autocomplete="off" required />
              </label>`
      }
      <label>
        <span>${tokens.length > 0 ? 'Price' : 'Price, in smallest units'}</span>
        <input name="amount" inputmode="decimal" autocomplete="off" required />
      </label>
      <label>
        <span>Hours a buyer may download</span>
        <input name="accessHours" inputmode="numeric" defaultValue="24" required />
      </label>
      <div class="buttons">
        <button type="submit" disabled=${action.isBusy}>Set price</button>
        ${
          isForSale &&
          html`<${ActionButton} of=${action} id="unsell" work=${clear} name="Stop selling" />`
        }
      </div>
    <//>
  </details>`;
}

function Share({ client, name, action, made, onMade }) {
  const onFields = (fields) =>
    void action.run(async () => {
      const once = fields.get('once') !== null;
      const hours = Math.max(1, numberIn(fields.get('hours'), HOURS_MAX));
      const { link, until } = await client.share(name, { seconds: 3600 * hours, once });
      onMade({ link, until, once, name });
      return 'Anyone who has the link can read the file until it expires.';
    });
  return html`<${Form} id="share" onFields=${onFields}>
      <label for="hours">Share for hours</label>
      <input
        id="hours"
        name="hours"
        inputmode="numeric"
        autocomplete="off"
        size="6"
        defaultValue="24"
        required
      />
      <label><input id="once" name="once" type="checkbox" /> one download only</label>
      <button type="submit" disabled=${action.isBusy}>Create link</button>
    <//>
    <p>
      <code id="link" class="long">${made === undefined ? '' : addressOf(made)}</code>
      ${made !== undefined && html`<${CopyButton} text=${addressOf(made)} label="the link" />`}
    </p>`;
}

/** Where a file is read by anybody in a public hub, and bought in any. */
const fileUrl = ({ owner }, name) =>
  String(urlOf(`api/download/${owner}/${encodeURIComponent(name)}`));

const Where = ({ client, name, isForSale }) =>
  html`<p>
    ${isForSale ? 'Buyers pay at' : 'Anyone can read it at'}${' '}
    <code id="address-of-file" class="long">${fileUrl(client, name)}</code>
    <${CopyButton} text=${fileUrl(client, name)} label="the address" />
  </p>`;

function OneFile({ file, client, action, tokens, links, addLink, reopen, remove }) {
  const { name, versions, price, priceError } = file;
  const made = links.findLast((one) => one.name === name)?.link;
  return html`<section id="one" class="card">
    <h2>One file</h2>
    <p><code id="name" class="long">${name}</code></p>
    <p id="price" class="quiet">
      ${
        priceError !== undefined
          ? `The price is not known now: ${priceError}`
          : price === undefined
            ? 'Not for sale.'
            : html`For sale: <${Price} price=${price} />`
      }
    </p>
    ${
      (isPublic || price !== undefined) &&
      html`<${Where} client=${client} name=${name} isForSale=${price !== undefined} />`
    }
    ${
      !isPublic &&
      html`<${Share}
        client=${client}
        name=${name}
        action=${action}
        made=${made}
        onMade=${addLink}
      />`
    }
    <${Sell}
      client=${client}
      name=${name}
      action=${action}
      tokens=${tokens}
      isForSale=${price !== undefined}
      reopen=${reopen}
    />
    <details>
      <summary>Versions</summary>
      <div id="versions">
        <${Table}
          label="Versions"
          rows=${versions}
          empty="No versions."
          columns=${[
            { name: 'Stored', cell: ({ CreatedAt }) => html`<${Time} at=${CreatedAt} />` },
            { name: 'Size', cell: ({ Size }) => size(Size) },
            { name: 'Type', cell: ({ ContentType }) => ContentType, isLong: true },
            { name: 'SHA-256', cell: ({ Sha256 }) => html`<code>${Sha256}</code>`, isLong: true },
          ]}
        />
      </div>
    </details>
    <p>
      <button id="delete" type="button" class="danger" onClick=${remove}>Delete this file</button>
    </p>
  </section>`;
}

function Links({ client, action, links, removeLinks }) {
  const [isEnding, setEnding] = useState(false);
  const revoke = (link) => async () => {
    await client.asOwner('DELETE', 'shared', { query: { link } });
    removeLinks((one) => one.link === link);
    return 'Link revoked.';
  };
  const onFields = (fields, form) =>
    void action.run(async () => {
      const given = fields.get('address').trim();
      const link = URL.canParse(given) ? new URL(given).searchParams.get('link') : given;
      if (!/^[\w-]+$/.test(link ?? '')) throw new Error('This is no share link.');
      form.reset();
      return revoke(link)();
    });
  const revokeAll = async () => {
    await client.asOwner('DELETE', 'shared');
    removeLinks(() => true);
    await action.run(
      () =>
        // A clock may be that much ahead: a link of that time may have been made before.
        'All links are revoked. Links that you create in the next five minutes do not work.',
    );
  };
  return html`<details id="links" class="card" open=${links.length > 0}>
    <summary>Share links</summary>
    <p class="quiet">
      The hub keeps no list of them. Links that you create here are listed until you leave this
      page; any other one is revoked by its address.
    </p>
    <div id="made">
      ${
        links.length > 0 &&
        html`<${Table}
          label="Links of this visit"
          rows=${links}
          keyOf=${({ link }) => link}
          columns=${[
            { name: 'File', cell: ({ name }) => name, isLong: true },
            { name: 'Until', cell: ({ until }) => html`<${Time} at=${until * 1000} />` },
            { name: 'Note', cell: ({ once }) => (once ? 'one download only' : '') },
            {
              name: 'Link',
              cell: ({ link }) => html`<code>${addressOf(link)}</code>`,
              isLong: true,
            },
            {
              name: '',
              cell: ({ link }) =>
                html`<${ActionButton} of=${action} work=${revoke(link)} name="Revoke link" />`,
            },
          ]}
        />`
      }
    </div>
    <${Form} id="one-link" onFields=${onFields}>
      <input
        id="address"
        name="address"
        aria-label="A link"
        placeholder="A link to revoke"
        autocomplete="off"
        spellcheck=${false}
        required
      />
      <button type="submit" disabled=${action.isBusy}>Revoke link</button>
      <button id="take-back" type="button" class="danger" onClick=${() => setEnding(true)}>
        Revoke all links
      </button>
    <//>
    ${
      isEnding &&
      html`<${Confirm}
        title="Revoke all links?"
        effect="Every share link that you have given out stops working."
        name="Revoke all"
        isDanger=${true}
        act=${revokeAll}
        onClose=${() => setEnding(false)}
      />`
    }
  </details>`;
}

function Retention({ client, action }) {
  const [days, setDays] = useState('');
  const show = async () => {
    const { Days } = await (await client.asOwner('GET', 'retention')).json();
    setDays(String(Days));
  };
  const onFields = (fields) =>
    void action.run(async () => {
      const asked = String(numberIn(fields.get('days'), 999_999));
      const answer = await client.asOwner('PUT', 'retention', { query: { days: asked } });
      const { Days } = await answer.json();
      return Days === 0
        ? 'Files are kept until you delete them.'
        : `Files are deleted after ${Days} days.`;
    });
  return html`<details class="card">
    <summary>Retention</summary>
    <${Form} id="retention" onFields=${onFields}>
      <label for="days">Delete files after days (0: never)</label>
      <input
        id="days"
        name="days"
        inputmode="numeric"
        autocomplete="off"
        size="6"
        value=${days}
        onInput=${({ currentTarget }) => setDays(currentTarget.value)}
        required
      />
      <${ActionButton} of=${action} id="ask-days" work=${show} name="Current setting" />
      <button type="submit" disabled=${action.isBusy}>Save</button>
    <//>
  </details>`;
}

async function listed(client, offset) {
  const query = { offset: String(offset), length: String(PAGE) };
  const answer = await client.read('listNeedle', query);
  const [used, quota] = ['used', 'quota'].map((name) => answer.headers.get(`hub-${name}-bytes`));
  const found = (await answer.json()) ?? [];
  return { found, hasMore: found.length === PAGE, used, quota };
}

async function opened(client, name) {
  const versions = await (await client.read('versions', { name })).json();
  try {
    const price = await client.open('price', { owner: client.owner, file: name });
    return { name, versions, price };
  } catch (error) {
    // Anything else is no answer: an owner must not take it for one and set a price anew.
    return NO_PRICE.has(error.status)
      ? { name, versions }
      : { name, versions, priceError: error.message };
  }
}

const usedOf = ({ used, quota }) =>
  used === null
    ? ''
    : `Used: ${size(Number(used))}${quota === null ? ', no quota' : ` of ${size(Number(quota))}`}.`;

function Owner({ client, first, tokens, leave }) {
  const action = useAction();
  const [list, setList] = useState(first);
  const [file, setFile] = useState();
  const [links, setLinks] = useState([]);
  const [isDeleting, setDeleting] = useState(false);
  const reload = async () => {
    setList(await listed(client, 0));
    setFile(undefined);
  };
  const more = async () => {
    const next = await listed(client, list.found.length);
    setList({ ...next, found: [...list.found, ...next.found] });
  };
  const open = async (name) => {
    setFile(await opened(client, name));
  };
  const remove = async () => {
    await client.asOwner('DELETE', 'object', { query: { name: file.name } });
    await reload();
    await action.run(() => 'Deleted.');
  };
  const reopen = async () => {
    const [next, again] = [await listed(client, 0), await opened(client, file.name)];
    setList(next);
    setFile(again);
  };
  const { hasMore } = list;
  const bytes = list.found.reduce((sum, { Size }) => sum + Size, 0);
  return html`<header class="bar">
      <h1>Files</h1>
      <${ActionButton} of=${action} id="refresh" work=${reload} name="Refresh" />
      <button type="button" onClick=${leave}>Sign out</button>
    </header>
    <${Outcome} of=${action} />
    <div id="files">
      <p>
        <span id="owner"><${Address} value=${client.owner} /></span>
      </p>
      <p>
        <span id="count">
          ${`${plural(list.found.length, 'file')}${hasMore ? ' and more' : ''}, ${size(bytes)}.`}
        </span>
        ${' '}<span id="used">${usedOf(list)}</span>
      </p>
      <${Upload} client=${client} action=${action} reload=${reload} />
      ${
        file !== undefined &&
        html`<${OneFile}
          key=${file.name}
          file=${file}
          client=${client}
          action=${action}
          tokens=${tokens}
          links=${links}
          addLink=${(link) => setLinks([...links, link])}
          reopen=${reopen}
          remove=${() => setDeleting(true)}
        />`
      }
      <${Files}
        rows=${list.found}
        owner=${client.owner}
        hasMore=${hasMore}
        action=${action}
        open=${open}
        more=${more}
      />
      ${
        !isPublic &&
        html`<${Links}
          client=${client}
          action=${action}
          links=${links}
          removeLinks=${(isGone) => setLinks(links.filter((one) => !isGone(one)))}
        />`
      }
      <${Retention} client=${client} action=${action} />
      ${
        isDeleting &&
        html`<${Confirm}
          title=${`Delete ${JSON.stringify(file.name)}?`}
          effect="It cannot be found any more."
          name="Delete"
          isDanger=${true}
          act=${remove}
          onClose=${() => setDeleting(false)}
        />`
      }
    </div>`;
}

function Entry({ action, onClient }) {
  const [key, setKey] = useState('');
  const connect = async () => {
    const client = new HubClient(await connectWallet(), key.trim(), isPublic);
    onClient(client, await listed(client, 0));
  };
  return html`<h1>Files</h1>
    <p>
      Upload files, share them by links, and sell them for x402 payments. They belong to the address
      of your wallet, which signs each step. Signing costs nothing, and this page keeps nothing.
    </p>
    <${Outcome} of=${action} />
    ${
      browserWallet === undefined
        ? html`<p id="missing" class="notice">
            This browser has no wallet: open the page in one that has, or in the browser of your
            wallet app. A program signs the same requests: <a href=${urlOf('docs')}>API</a>, “File
            hub”.
          </p>`
        : html`<div class="buttons">
            <${ActionButton}
              of=${action}
              id="connect"
              kind="primary"
              work=${connect}
              name="Continue with browser wallet"
            />
          </div>`
    }
    <details>
      <summary>API key</summary>
      <form onSubmit=${(event) => event.preventDefault()}>
        <input
          id="key"
          type="password"
          aria-label="API key"
          placeholder="API key, if this hub asks for one"
          autocomplete="off"
          value=${key}
          onInput=${({ currentTarget }) => setKey(currentTarget.value)}
        />
      </form>
    </details>
    ${
      isPublic && html`<p><a href=${urlOf('hub/browse')}>Browse what this public hub stores</a></p>`
    }`;
}

function Page() {
  const action = useAction();
  const [session, setSession] = useState();
  const [assets, setAssets] = useState([]);
  useEffect(() => {
    if (!hasTokens) return;
    ask('v2/assets').then(
      (answer) => setAssets(answer.assets),
      () => undefined,
    );
  }, []);
  const tokens = assets.filter(({ symbol, decimals }) => symbol && Number.isInteger(decimals));
  return html`<${Chains.Provider} value=${chainFacts(assets)}>
    ${
      session === undefined
        ? html`<${Entry}
            action=${action}
            onClient=${(client, first) => setSession({ client, first })}
          />`
        : html`<${Owner} ...${session} tokens=${tokens} leave=${() => setSession(undefined)} />`
    }
  <//>`;
}

render(html`<${Page} />`, place);
