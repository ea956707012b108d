/**
 * The catalogue, for people. It keeps nothing. What sellers say is shown as text, cut, and with a direction of its
 * own.
 */

import { useAction } from '../components/action.js';
import { ask } from '../components/ask.js';
import { Fields } from '../components/fields.js';
import { duration, percent, plural, smallestUnits, wholeUnits } from '../components/format.js';
import { html, render, useEffect, useRef, useState } from '../components/html.js';
import { snippetsOf, webUrl } from './snippets.js';

const PAGE = 20;
/** The service orders by quality alone: for another order so many pages of a hundred are read, and ordered here. */
const SORTED_PAGES = 5;
const SORTED_PAGE = 100;
/** Anything that is listed nowhere: the answer says whether there is a catalogue. */
const NOWHERE = 'https://www.example.com/';

/** Control characters, line ends of other kinds, and what turns the direction of text or is not seen. */
const UNSEEN = new RegExp(
  '[\\p{Cc}\\p{Cs}\\u061c\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\u{e0000}-\\u{e007f}]+',
  'gu',
);

/** What a stranger said, as so many plain characters at most. */
function cut(said, most) {
  const text = typeof said === 'string' ? said : (JSON.stringify(said) ?? '');
  // Bounded first: what is long costs no more than what is short.
  const characters = [...text.slice(0, most * 4).replace(UNSEEN, ' ')];
  return characters.length > most || text.length > most * 4
    ? `${characters.slice(0, most).join('')}…`
    : characters.join('');
}

/** Its direction changes nothing around it. */
const Said = ({ text, most }) => html`<bdi>${cut(text, most)}</bdi>`;
const Code = ({ text, most = 128 }) => html`<code><${Said} text=${text} most=${most} /></code>`;

const tokenOf = (tokens, network, asset) =>
  tokens.find(
    (one) => `${one.network}/${one.asset}`.toLowerCase() === `${network}/${asset}`.toLowerCase(),
  );

function Price({ network, offer, tokens }) {
  const { asset, amount, maxAmountRequired, scheme } = offer;
  const atomic = cut(amount ?? maxAmountRequired ?? '', 78);
  const token = tokenOf(tokens, network, asset);
  const shown =
    token !== undefined && /^\d+$/.test(atomic)
      ? html`<span
          >${wholeUnits(atomic, token.decimals)} <${Said} text=${token.symbol} most=${24}
        /></span>`
      : html`<span><bdi>${atomic}</bdi> smallest units of <${Code} text=${asset} /></span>`;
  return html`${shown} <${Said} text=${`(${cut(scheme, 32)})`} most=${40} />`;
}

/** A link only where it leads to the web; what is shown is where it leads. */
function Where({ resource, exampleUrl }) {
  const url = webUrl(exampleUrl ?? resource);
  if (url === undefined) return html`<${Code} text=${resource} most=${300} />`;
  const link = html`<a href=${url.href} rel="noopener noreferrer nofollow ugc" target="_blank">
    <${Said} text=${url.href} most=${300} />
  </a>`;
  return exampleUrl === undefined
    ? link
    : html`<span><${Code} text=${resource} most=${300} /> such as ${link}</span>`;
}

function When({ text }) {
  const at = new Date(typeof text === 'string' ? text : NaN);
  if (Number.isNaN(at.getTime())) return null;
  const iso = at.toISOString();
  return html`<time datetime=${iso}>${`${iso.slice(0, 16).replace('T', ' ')} UTC`}</time>`;
}

const isDate = (text) => !Number.isNaN(new Date(typeof text === 'string' ? text : NaN).getTime());

/** Figures of the ledger for thirty days, in words; nothing where there are none. */
function qualityOf(quality) {
  const facts = typeof quality === 'object' && quality !== null ? quality : {};
  const number = (name) => (Number.isFinite(facts[name]) ? facts[name] : undefined);
  const [calls, payers, repeat, rate, settleMs] = [
    'l30DaysTotalCalls',
    'l30DaysUniquePayers',
    'l30DaysRepeatPayers',
    'l30DaysSuccessRate',
    'l30DaysMedianSettleMs',
  ].map(number);
  return [
    calls !== undefined && plural(calls, 'purchase'),
    payers !== undefined && plural(payers, 'buyer'),
    repeat > 0 && `${repeat} came back`,
    rate !== undefined && `${percent(rate)} settled`,
    settleMs !== undefined && `in ${duration(settleMs)}`,
  ]
    .filter(Boolean)
    .join(', ');
}

const Row = ({ name, children }) =>
  html`<div>
    <dt>${name}</dt>
    <dd>${children}</dd>
  </div>`;

/** Line by line: a line end is part of a snippet. */
const Lines = ({ label, text }) =>
  html`<pre tabindex="0" dir="ltr" aria-label=${label}>
${text.split('\n').flatMap((line, at) => (at === 0 ? [line] : [html`<br />`, line]))}</pre>`;

function Purchase({ entry }) {
  const snippets = snippetsOf(entry);
  const input = entry.discoveryInfo?.input;
  return html`<details>
    <summary>How to buy it</summary>
    <p class="quiet">
      ${
        snippets.length === 0
          ? 'No stock client pays for what is offered here; the seller says how.'
          : 'BUYER_KEY holds the private key that pays. At most the price shown is paid, in this token.'
      }
    </p>
    ${snippets.map(
      ([language, text]) =>
        html`<details class="snippet">
          <summary>${language}</summary>
          <${Lines} label=${`${language} snippet`} text=${text} />
        </details>`,
    )}
    ${
      input !== undefined &&
      html`<details class="snippet">
        <summary>What it takes</summary>
        <pre tabindex="0" dir="ltr">${cut(input, 8000)}</pre>
      </details>`
    }
  </details>`;
}

function Entry({ entry, tokens }) {
  const { serviceName, toolName, method, description, network, payTo, otherPayees } = entry;
  const offers = (Array.isArray(entry.accepts) ? entry.accepts : []).slice(0, 8);
  const kind = entry.type === 'mcp' ? `tool ${cut(toolName ?? '', 128)}` : cut(method ?? '', 8);
  const title = serviceName ?? toolName;
  const quality = qualityOf(entry.quality);
  return html`<article class="card entry">
    ${title !== undefined && html`<h3><${Said} text=${title} most=${120} /></h3>`}
    <p><${Said} text=${kind} most=${140} /> <${Where} ...${entry} /></p>
    ${description !== undefined && html`<p><${Said} text=${description} most=${500} /></p>`}
    <dl>
      ${offers.map(
        (offer) =>
          html`<${Row} name="Price">
            <strong><${Price} network=${network} offer=${offer ?? {}} tokens=${tokens} /></strong>
          <//>`,
      )}
      <${Row} name="Network"><${Code} text=${network} most=${64} /><//>
      <${Row} name="Payee"><${Code} text=${payTo} most=${64} /><//>
      ${
        isDate(entry.lastUpdated) &&
        html`<${Row} name="Last paid"><${When} text=${entry.lastUpdated} /><//>`
      }
      ${quality !== '' && html`<${Row} name="30 days">${quality}<//>`}
      ${
        otherPayees > 0 &&
        html`<${Row} name="Beware">
          <span class="warn">Others were paid for the same place: ${cut(otherPayees, 12)}.</span>
        <//>`
      }
    </dl>
    <${Purchase} entry=${entry} />
  </article>`;
}

const listOf = ({ items, resources }) =>
  [items, resources].find((list) => Array.isArray(list)) ?? [];

/** The first price of an entry in a token, for an order by it. */
function priceIn(entry, asset) {
  const offers = Array.isArray(entry.accepts) ? entry.accepts : [];
  const offer = offers.find((one) => String(one?.asset).toLowerCase() === asset.toLowerCase());
  const amount = String(offer?.amount ?? offer?.maxAmountRequired ?? '');
  return /^\d{1,78}$/.test(amount) ? BigInt(amount) : undefined;
}

const bySize = (one, other) => (one < other ? -1 : one > other ? 1 : 0);

/** In the order that was asked for; that of the service is by quality. */
function ordered(entries, order, token) {
  if (order === 'paid') {
    return entries.toSorted((one, other) =>
      bySize(String(other.lastUpdated), String(one.lastUpdated)),
    );
  }
  if (order !== 'price' || token === undefined) return entries;
  const priced = entries.map((entry) => ({ entry, price: priceIn(entry, token.asset) }));
  return priced
    .toSorted((one, other) => {
      if (one.price === undefined || other.price === undefined) {
        return Number(one.price === undefined) - Number(other.price === undefined);
      }
      return bySize(one.price, other.price);
    })
    .map(({ entry }) => entry);
}

/** Why there is nothing: no catalogue, nothing that fits, or nothing yet. */
async function emptyOf(asked) {
  const { code } = await ask('discovery/status', { query: { resource: NOWHERE } });
  if (code === 'catalogue_off') {
    return 'This facilitator keeps no catalogue: it has no database, or its operator has turned it off.';
  }
  return Object.keys(asked).length === 0 ? 'Nothing is listed yet.' : 'No results.';
}

function questionOf({ words, type, network, token, price, order }, tokens) {
  const asset = tokens[Number(token)];
  if (order === 'price' && asset === undefined) throw new Error('Choose a token to sort by price.');
  const maxPrice = asset && price !== undefined ? smallestUnits(price, asset.decimals) : undefined;
  if (price !== undefined && asset === undefined) throw new Error('Choose a token for the price.');
  if (price !== undefined && maxPrice === undefined) throw new Error('The price is no amount.');
  return {
    path: words === undefined ? 'discovery/resources' : 'discovery/search',
    query: {
      query: words,
      type,
      network: asset?.network ?? network,
      asset: asset?.asset,
      maxPrice,
      limit: String(order === undefined ? PAGE : SORTED_PAGE),
    },
  };
}

const NOTHING = { entries: [], next: undefined, said: 'Loading' };

function saidOf(count, next, order) {
  if (next === undefined) return `${count} shown.`;
  const isSorted = order !== undefined;
  return isSorted
    ? `${count} shown: those of the highest quality, sorted. There are more.`
    : `${count} shown, there are more.`;
}

function Listing({ tokens, networks }) {
  const { isBusy, error, run } = useAction();
  const [asked, setAsked] = useState({});
  const [{ entries, next, said }, setFound] = useState(NOTHING);
  const turn = useRef(0);
  const { order, ...filter } = asked;
  const load = (isMore) =>
    void run(async () => {
      // An answer to an older question is dropped.
      const mine = (turn.current += 1);
      const { path, query } = questionOf(asked, tokens);
      const all = isMore ? [...entries] : [];
      let cursor = isMore ? next : undefined;
      for (let left = order === undefined ? 1 : SORTED_PAGES; left > 0; left -= 1) {
        const answer = await ask(path, { query: { ...query, cursor } });
        all.push(...listOf(answer).slice(0, Number(query.limit)));
        cursor = answer.pagination?.nextCursor ?? answer.pagination?.cursor ?? undefined;
        if (cursor === undefined) break;
      }
      const text = all.length === 0 ? await emptyOf(filter) : saidOf(all.length, cursor, order);
      const found = ordered(all, order, tokens[Number(filter.token)]);
      if (mine === turn.current) setFound({ entries: found, next: cursor, said: text });
    }).then((isDone) => {
      // What was found for another question would look like the answer to this one.
      if (!isDone && !isMore) setFound({ ...NOTHING, said: '' });
    });
  const question = JSON.stringify(asked);
  useEffect(() => load(false), [question]);
  const fields = [
    { name: 'words', label: 'Search', placeholder: 'weather, translation, …', isWide: true },
    {
      name: 'type',
      label: 'Kind',
      options: [
        ['', 'any'],
        ['http', 'requests'],
        ['mcp', 'tools (MCP)'],
      ],
    },
    {
      name: 'network',
      label: 'Network',
      options: [['', 'any'], ...networks.map((network) => [network, network])],
    },
    {
      name: 'token',
      label: 'Token',
      options: [
        ['', 'any'],
        ...tokens.map(({ symbol, network }, at) => [String(at), `${symbol} (${network})`]),
      ],
    },
    { name: 'price', label: 'Price at most', placeholder: 'in the token' },
    {
      name: 'order',
      label: 'Sort by',
      options: [
        ['', 'quality'],
        ['paid', 'last purchase'],
        ['price', 'price, lowest first'],
      ],
    },
  ];
  return html`<${Fields}
      label="Search the marketplace"
      fields=${fields}
      values=${asked}
      submit="Search"
      onAsk=${setAsked}
    />
    <p id="outcome" role="status" class=${error === undefined ? 'quiet' : 'error'}>
      ${error?.message ?? (isBusy ? 'Loading' : said)}
    </p>
    <section id="found" aria-label="Entries" aria-busy=${isBusy}>
      ${entries.map((entry) => html`<${Entry} entry=${entry} tokens=${tokens} />`)}
    </section>
    <button
      id="more"
      type="button"
      hidden=${next === undefined}
      disabled=${isBusy}
      onClick=${() => load(true)}
    >
      Show more
    </button>`;
}

function Standing() {
  const { isBusy, error, run } = useAction();
  const [answer, setAnswer] = useState();
  const onSubmit = (event) => {
    event.preventDefault();
    const resource = new FormData(event.currentTarget).get('resource').trim();
    void run(async () => {
      setAnswer(await ask('discovery/status', { query: { resource } }));
    });
  };
  const known = Array.isArray(answer?.known) ? answer.known : [];
  return html`<h2>Is a resource listed?</h2>
    <form id="check" class="row" onSubmit=${onSubmit}>
      <input
        id="resource"
        name="resource"
        type="url"
        maxlength="2048"
        autocomplete="off"
        spellcheck=${false}
        aria-label="URL of the resource"
        placeholder="https://seller.example/report"
        required
      />
      <button type="submit" disabled=${isBusy}>Check</button>
    </form>
    <div id="standing" role="status">
      ${error !== undefined && html`<p class="error">${cut(error.message, 300)}</p>`}
      ${
        answer !== undefined &&
        error === undefined &&
        html`<p class=${answer.listed === true ? 'good' : 'warn'}>
            <bdi>${`${cut(answer.message, 300)} (${cut(answer.code, 64)})`}</bdi>
          </p>
          ${known
            .slice(0, 8)
            .map(
              (one) =>
                html`<p><bdi>${`${cut(one?.payTo, 64)}: ${cut(one?.message, 300)}`}</bdi></p>`,
            )}`
      }
    </div>`;
}

function Page() {
  const [facts, setFacts] = useState();
  useEffect(() => {
    const load = async () => {
      const [{ assets = [] }, { kinds = [] }] = await Promise.all([
        ask('v2/assets').catch(() => ({})),
        ask('supported').catch(() => ({})),
      ]);
      const tokens = assets.filter(
        ({ symbol, decimals }) =>
          typeof symbol === 'string' &&
          Number.isInteger(decimals) &&
          decimals >= 0 &&
          decimals <= 36,
      );
      const networks = [...new Set(kinds.map(({ network }) => network))];
      setFacts({ tokens, networks: networks.filter((network) => network.includes(':')) });
    };
    void load();
  }, []);
  return html`<h1>Marketplace</h1>
    <p>
      Resources and tools that were paid for through this facilitator. Names and descriptions are
      what a payment declared, unchecked: compare the payee with the offer of the URL before you
      pay.
    </p>
    ${facts !== undefined && html`<${Listing} ...${facts} />`}
    <${Standing} />`;
}

render(html`<${Page} />`, document.getElementById('app'));
