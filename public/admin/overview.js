import { Amount } from '../components/amount.js';
import { Chains } from '../components/chains.js';
import { coins, duration, number, percent } from '../components/format.js';
import { Fragment, html } from '../components/html.js';
import { ErrorBox } from '../components/notes.js';
import { usePolled } from '../components/polled.js';
import { Table } from '../components/table.js';
import { Tile, Tiles } from '../components/tile.js';
import { ask } from './api.js';
import { gasOf, outcomesOf, percentile, settleTimes, totalsOfPage, volumesOf } from './figures.js';
import { hrefOf } from './place.js';
import { settlementColumns } from './settlements.js';
import { troublesOf } from './troubles.js';

const DAY_MS = 86_400_000;
/** Sums over a day of settlements are asked for once a minute. */
const TOTALS_MS = 60_000;
const NEWEST_MS = 5000;
const NEWEST_SHOWN = 8;
const VOLUMES_SHOWN = 3;
/** A stock of gas that lasts less is to be looked after. */
const DAYS_FEW = 3;

function Troubles({ overview }) {
  const troubles = troublesOf(overview);
  if (troubles.length === 0) {
    return html`<p class="notice good" role="status">
      <strong>All well.</strong> Every network settles, and nothing waits for an operator.
    </p>`;
  }
  return html`<div role="alert">
    ${troubles.map(
      ({ text, page, fields }) =>
        html`<p class="notice bad">
          ${text} ${page && html`<a href=${hrefOf(page, fields)}>Show</a>`}
        </p>`,
    )}
  </div>`;
}

/** A day by the totals of the history; without one, the newest settlements of the ledger. */
function useFigures({ history }) {
  const newest = usePolled(() => ask('settlements'), NEWEST_MS, '');
  const totals = usePolled(
    () =>
      history.enabled
        ? ask(`history/totals?groupBy=asset&from=${new Date(Date.now() - DAY_MS).toISOString()}`)
        : Promise.resolve({}),
    TOTALS_MS,
    history.enabled,
  );
  const settlements = newest.answer?.settlements ?? [];
  const daily = totals.answer?.totals;
  return {
    settlements,
    totals: daily ?? totalsOfPage(settlements),
    isOfDay: daily !== undefined,
    perDayOf: (network) =>
      daily &&
      daily
        .filter((one) => one.network === network)
        .reduce((total, { paid }) => total + Number(paid.count), 0),
    error: newest.error ?? totals.error,
  };
}

function DeliveryTile({ networks }) {
  if (networks.every(({ unclaimed }) => unclaimed === undefined)) return null;
  const all = networks.flatMap(({ network, unclaimed }) =>
    (unclaimed?.sums ?? []).map((one) => ({ network, ...one })),
  );
  const count = networks.reduce((total, { unclaimed }) => total + (unclaimed?.count ?? 0), 0);
  const note =
    count === 0
      ? 'every buyer was served'
      : all.map(
          ({ network, asset, amount }) =>
            html`<div><${Amount} atomic=${amount} network=${network} asset=${asset} /></div>`,
        );
  return html`<${Tile}
    name="Paid, not delivered"
    value=${number(count)}
    note=${note}
    tone=${count > 0 ? 'bad' : ''}
    href=${hrefOf('settlements', { sale: 'unclaimed' })}
  />`;
}

function GasTile({ network, perDay, coin }) {
  const gas = gasOf(network, perDay);
  if (gas === undefined) return null;
  const { balance, spent, daysLeft } = gas;
  const isFew = daysLeft !== undefined && daysLeft < DAYS_FEW;
  const left =
    daysLeft === undefined ? 'no payments yet: days unknown' : `lasts about ${daysText(daysLeft)}`;
  return html`<${Tile}
    name=${`Gas, ${network.network}`}
    value=${spent === undefined ? `${coins(balance)} ${coin}` : `≈ ${coins(spent)} ${coin} a day`}
    note=${`${spent === undefined ? '' : `${coins(balance)} ${coin} left, `}${left}`}
    tone=${isFew ? 'bad' : ''}
    isLong
    href=${hrefOf('lanes')}
  />`;
}

function daysText(days) {
  if (days < 1) return `${Math.round(days * 24)} hours`;
  return days > 3650 ? '10 years and more' : `${number(Math.round(days))} days`;
}

function Volume({ totals }) {
  const volumes = volumesOf(totals);
  if (volumes.length === 0) return '0';
  const rest = volumes.length - VOLUMES_SHOWN;
  return html`<${Fragment}>
    ${volumes
      .slice(0, VOLUMES_SHOWN)
      .map(
        ({ network, asset, atomic }) =>
          html`<div><${Amount} atomic=${String(atomic)} network=${network} asset=${asset} /></div>`,
      )}
    ${rest > 0 && html`<div class="quiet">and ${rest} more tokens</div>`}
  <//>`;
}

function Figures({ overview, figures }) {
  const { networks, settles24h } = overview;
  const { totals, settlements, isOfDay } = figures;
  const counted = settles24h ?? (isOfDay ? outcomesOf(totals) : undefined);
  const span = counted === undefined ? `of the newest ${settlements.length}` : 'last 24 hours';
  const { succeeded, refused } = counted ?? ofPage(settlements);
  const answered = succeeded + refused;
  const times = settleTimes(settlements);
  const pending = networks.reduce((total, { queue }) => total + queue.unfinished, 0);
  const oldest = Math.max(0, ...networks.map(({ queue }) => queue.oldestQueuedMs));
  const timeOf = (part) => duration(percentile(times, part) ?? 0);
  return html`<${Chains.Consumer}>
    ${({ coinOf }) =>
      html`<${Tiles} label="Figures">
        <${Tile}
          name="Settled"
          value=${number(succeeded)}
          note=${span}
          href=${hrefOf('settlements')}
        />
        <${Tile} name="Refused" value=${number(refused)} note=${span} />
        <${Tile}
          name="Pending"
          value=${number(pending)}
          note=${oldest === 0 ? 'not final yet; nothing waits' : `not final yet; the oldest waits ${duration(oldest)}`}
        />
        <${DeliveryTile} networks=${networks} />
        <${Tile}
          name="Success rate"
          value=${answered === 0 ? '–' : percent(succeeded / answered)}
          note=${answered === 0 ? 'nothing was asked' : span}
        />
        <${Tile}
          name="Time to settle"
          value=${times.length === 0 ? '–' : timeOf(0.5)}
          note=${times.length === 0 ? 'no settlement yet' : `median; p99 ${timeOf(0.99)}, newest ${times.length}`}
        />
        ${networks.map((network) => {
          const perDay = figures.perDayOf(network.network) ?? perDayOfOne(overview);
          return html`<${GasTile}
            network=${network}
            perDay=${perDay}
            coin=${coinOf(network.network)}
          />`;
        })}
        <${Tile}
          name="Volume"
          value=${html`<${Volume} totals=${totals} />`}
          note=${isOfDay ? 'last 24 hours' : `of the newest ${settlements.length}`}
        />
      <//>`}
  <//>`;
}

const ofPage = (settlements) => ({
  succeeded: settlements.filter(({ paid }) => paid).length,
  refused: settlements.filter(
    ({ paid, state }) => !paid && !['queued', 'broadcast'].includes(state),
  ).length,
});

/** Answers are not counted by network: with a single one they are its own. */
const perDayOfOne = ({ networks, settles24h }) =>
  networks.length === 1 ? settles24h?.succeeded : undefined;

const FAULTS = { buyer: 'buyer', seller: 'seller', facilitator: 'this service' };

function Refusals({ reasons }) {
  if (reasons === undefined || reasons.length === 0) return null;
  const columns = [
    { name: 'Reason', cell: ({ reason }) => html`<code>${reason}</code>` },
    { name: 'Caused by', cell: ({ fault }) => FAULTS[fault] ?? fault },
    { name: 'Answers', cell: ({ count }) => number(count), isNumber: true },
    {
      name: 'API keys',
      cell: ({ sellers }) =>
        sellers.map(({ key, count }) => `${key} (${number(count)})`).join(', '),
      isLong: true,
    },
  ];
  return html`<h2>Refused in 24 hours</h2>
    <div class="scroll">
      <${Table}
        label="Refusals by reason"
        columns=${columns}
        rows=${reasons}
        keyOf=${({ reason }) => reason}
      />
    </div>`;
}

const CHANNEL_COLUMNS = [
  {
    name: 'Action',
    cell: ({ action }) => html`<a href=${hrefOf('settlements', { action })}>${action}</a>`,
  },
  { name: 'Done', cell: ({ succeeded }) => number(succeeded), isNumber: true },
  { name: 'Pending', cell: ({ pending }) => number(pending), isNumber: true },
  { name: 'Refused', cell: ({ refused }) => number(refused), isNumber: true },
  {
    name: 'Why refused',
    cell: ({ reasons }) =>
      reasons.map(({ reason, count }) => `${reason} (${number(count)})`).join(', '),
    isLong: true,
  },
];

/** Answers about channels of `batch-settlement`. */
function Channels({ channels = [] }) {
  if (channels.length === 0) return null;
  return html`<h2>Channels in 24 hours</h2>
    <div id="channels" class="scroll">
      <${Table}
        label="Answers about channels by action"
        columns=${CHANNEL_COLUMNS}
        rows=${channels}
        keyOf=${({ action }) => action}
      />
    </div>`;
}

const PROCESS_COLUMNS = [
  { name: 'Process', cell: ({ process }) => html`<code>${process}</code>` },
  { name: 'Roles', cell: ({ roles }) => roles.join(', ') },
  { name: 'Version', cell: ({ version }) => version },
];

const NETWORK_COLUMNS = [
  { name: 'Network', cell: ({ network }) => network },
  { name: 'Queued', cell: ({ queue }) => number(queue.queued), isNumber: true },
  { name: 'Not final', cell: ({ queue }) => number(queue.unfinished), isNumber: true },
  {
    name: 'Newest block',
    cell: ({ headAgeMs }) => (headAgeMs === null ? 'none seen' : `${duration(headAgeMs)} ago`),
  },
  {
    name: 'RPC endpoints that answer',
    cell: ({ endpoints }) => `${endpoints.reachable} of ${endpoints.all}`,
  },
  { name: 'Lanes', cell: ({ lanes }) => number(lanes.length), isNumber: true },
];

export function Overview({ overview }) {
  const figures = useFigures(overview);
  const { processes, networks, settles24h } = overview;
  return html`<${Troubles} overview=${overview} />
    <${ErrorBox} error=${figures.error} />
    <${Figures} overview=${overview} figures=${figures} />
    <${Refusals} reasons=${settles24h?.reasons} />
    <${Channels} channels=${settles24h?.channels} />
    <h2>Newest settlements</h2>
    <div class="scroll">
      <${Table}
        label="Newest settlements"
        columns=${settlementColumns}
        rows=${figures.settlements.slice(0, NEWEST_SHOWN)}
        keyOf=${({ settlementId }) => settlementId}
        empty="No settlement yet."
      />
    </div>
    <p><a href=${hrefOf('settlements')}>All settlements</a></p>
    <h2>Networks</h2>
    <div class="scroll">
      <${Table}
        label="Networks"
        columns=${NETWORK_COLUMNS}
        rows=${networks}
        keyOf=${({ network }) => network}
      />
    </div>
    <h2>Processes</h2>
    <div id="processes" class="scroll">
      <${Table}
        label="Processes"
        columns=${PROCESS_COLUMNS}
        rows=${processes}
        keyOf=${({ process }) => process}
        empty="None runs."
      />
    </div>`;
}
