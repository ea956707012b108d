/** The history on the operator page. It is asked when somebody wants to see it, not every two seconds. */

import { clearCatalogue, showCatalogue } from './admin-catalogue.js';
import {
  ask,
  button,
  byId,
  cells,
  code,
  element,
  fieldsOf,
  forgetQuestions,
  inside,
  listIn,
  longCell,
  moment,
  number,
  numberCell,
  onRefused,
  queryOf,
  row,
  settlementTable,
  table,
} from './admin-common.js';
import { clearLife, showLife } from './admin-life.js';
import { clearTotals, showTotals } from './admin-totals.js';

const ROOMS = ['found', 'life', 'totals', 'webhooks', 'deliveries', 'runs', 'run', 'actions'];

let isShown = false;

const day = (ms) => new Date(ms).toISOString().slice(0, 10);
const DAY_MS = 86_400_000;

// ------------------------------------------------------------------ search and life

function search(fields, known = [], cursor = undefined) {
  const load = () => ask(`history/settlements?${queryOf({ ...fields, cursor })}`);
  return inside('found', load, (room, { settlements, nextCursor }) => {
    const all = [...known, ...settlements];
    const more = nextCursor && (() => void search(fields, all, nextCursor));
    listIn(room, settlementTable(all, 'Nothing was found.', openLife), more);
  });
}

/** All that is known of one settlement, wherever its id was found. */
export function openLife(id) {
  const load = () => ask(`settlements/${encodeURIComponent(id)}`);
  void inside('life', load, (room, life) => {
    showLife(room, life);
    room.scrollIntoView({ block: 'nearest' });
    room.focus();
  });
}

function totals({ value, ...fields }) {
  const load = () => ask(`history/totals?${queryOf(fields)}`);
  return inside('totals', load, (room, answer) => showTotals(room, answer, { value, fields }));
}

// ------------------------------------------------------------------ webhooks

function lastAnswer({ last }) {
  if (last === undefined) return 'nothing was sent yet';
  const said = [last.status, last.problem].filter((part) => part !== undefined).join(', ');
  return `${moment(last.at)}: ${said === '' ? last.state : said}`;
}

function webhookRow(webhook) {
  const { id, owner, url, description, status, confirmedAt, failingSince, disabled, backlog } =
    webhook;
  const isWell = failingSince === undefined && confirmedAt !== undefined;
  const tone = status === 'disabled' ? 'bad' : isWell ? 'good' : 'warn';
  const unconfirmed =
    confirmedAt === undefined ? 'its URL has not answered the challenge' : undefined;
  const why =
    disabled === undefined
      ? (unconfirmed ?? (failingSince && `nothing reaches it since ${moment(failingSince)}`))
      : `${disabled.reason}, ${moment(disabled.at)}`;
  return row(
    ...cells(
      code(id),
      owner,
      element(
        'div',
        {},
        element('span', { class: `state ${tone}` }, status),
        why === undefined ? undefined : element('div', { class: 'quiet' }, why),
      ),
    ),
    longCell(url),
    longCell(description),
    longCell(lastAnswer(webhook)),
    numberCell(`${number(backlog.waiting)}${backlog.isMore ? ' and more' : ''}`),
    ...cells(button('Deliveries', () => void deliveries(webhook))),
  );
}

function webhooks(fields, known = [], after = undefined) {
  const load = () => ask(`webhooks?${queryOf({ ...fields, after })}`);
  return inside('webhooks', load, (room, { webhooks: found, next }) => {
    const all = [...known, ...found];
    const columns = ['Id', 'API key', 'State', 'URL', 'Description', 'Last answer', 'Waiting', ''];
    listIn(
      room,
      table(columns, all.map(webhookRow), 'There is none.'),
      next && (() => void webhooks(fields, all, next)),
    );
  });
}

function deliveryRow({ happenedAt, type, eventId, settlementId, state, attempts, ...rest }) {
  return row(
    ...cells(
      moment(happenedAt),
      type,
      code(eventId),
      settlementId && button('Life', () => openLife(settlementId)),
      state,
    ),
    numberCell(String(attempts)),
    ...cells(moment(rest.triedAt), moment(rest.dueAt), rest.status && String(rest.status)),
    longCell(rest.problem),
    longCell(rest.answer),
  );
}

function deliveries(webhook, known = [], before = undefined) {
  const load = () =>
    ask(`webhooks/${encodeURIComponent(webhook.id)}/deliveries?${queryOf({ before })}`);
  return inside('deliveries', load, (room, { deliveries: found, next }) => {
    const all = [...known, ...found];
    const columns = [
      'Happened (UTC)',
      'Event',
      'Id',
      '',
      'State',
      'Attempts',
      'Last',
      'Next',
      'Status',
      'Problem',
      'Answer',
    ];
    const shown = table(columns, all.map(deliveryRow), 'Nothing was to be told.');
    listIn(
      room,
      element('div', {}, element('h3', {}, `Deliveries to ${webhook.id}`), shown),
      next && (() => void deliveries(webhook, all, next)),
    );
  });
}

// ------------------------------------------------------------------ reconciliation

const countsOf = (counts) =>
  Object.entries(counts)
    .map(([name, count]) => `${name}: ${count}`)
    .join(', ');

function runRow(run) {
  const { id, network, startedBy, from, to, blocks, settlements, differences, counts } = run;
  return row(
    ...cells(
      moment(run.finishedAt),
      network,
      startedBy,
      `${moment(from)} to ${moment(to)}`,
      blocks === undefined ? 'none' : `${blocks.first} to ${blocks.last}`,
    ),
    numberCell(number(settlements)),
    ...cells(
      element(
        'span',
        { class: differences === 0 ? 'good' : 'bad' },
        differences === 0 ? 'none' : number(differences),
      ),
    ),
    longCell(countsOf(counts)),
    ...cells(button('Open', () => void openRun(id))),
  );
}

function runs(fields, known = [], before = undefined) {
  const load = () => ask(`reconciliations?${queryOf({ ...fields, before })}`);
  return inside('runs', load, (room, { runs: found, next }) => {
    const all = [...known, ...found];
    const columns = [
      'Finished (UTC)',
      'Network',
      'Started by',
      'Time',
      'Blocks',
      'Settlements',
      'Differences',
      'By name',
      '',
    ];
    listIn(
      room,
      table(columns, all.map(runRow), 'The books were not held against the chain yet.'),
      next && (() => void runs(fields, all, next)),
    );
  });
}

function differenceRow({ name, isNote, meaning, settlementId, ...rest }) {
  return row(
    ...cells(
      element('span', { class: isNote ? 'quiet' : 'bad', title: meaning ?? '' }, name),
      settlementId && button('Life', () => openLife(settlementId)),
      rest.transaction && code(rest.transaction),
      rest.lane && code(rest.lane),
      rest.block,
    ),
    longCell(rest.expected),
    longCell(rest.found),
    longCell(meaning),
  );
}

function openRun(id, known = [], after = undefined) {
  const load = () => ask(`reconciliations/${encodeURIComponent(id)}?${queryOf({ after })}`);
  return inside('run', load, (room, run) => {
    const all = [...known, ...run.found];
    const columns = ['Name', '', 'Transaction', 'Lane', 'Block', 'Books', 'Chain', 'Meaning'];
    const lanes = run.lanes.map(({ lane, transactions, feesWei, balanceAfterWei }) =>
      row(
        ...cells(code(lane)),
        numberCell(number(transactions)),
        numberCell(feesWei),
        numberCell(balanceAfterWei ?? 'not read'),
      ),
    );
    listIn(
      room,
      element(
        'div',
        {},
        element('h3', {}, `Run ${run.id} of ${run.network}, ${moment(run.finishedAt)} UTC`),
        table(columns, all.map(differenceRow), 'The books agree with the chain.'),
        table(['Lane', 'Transactions', 'Fees (wei)', 'Left (wei)'], lanes, 'No lane was met.'),
      ),
      run.next && (() => void openRun(id, all, run.next)),
    );
  });
}

// ------------------------------------------------------------------ what operators did

function actions(fields, known = [], before = undefined) {
  const load = () => ask(`audit?${queryOf({ ...fields, before })}`);
  return inside('actions', load, (room, { actions: found, next }) => {
    const all = [...known, ...found];
    const rows = all.map(({ at, by, action, subject, network, reason }) =>
      row(...cells(moment(at), by, action, network), longCell(subject), longCell(reason)),
    );
    listIn(
      room,
      table(['When (UTC)', 'Who', 'What', 'Network', 'To what', 'Why'], rows, 'Nothing yet.'),
      next && (() => void actions(fields, all, next)),
    );
  });
}

// ------------------------------------------------------------------ the page

const FORMS = {
  'find-settlements': search,
  'find-totals': totals,
  'find-webhooks': webhooks,
  'find-runs': runs,
  'find-actions': actions,
};

for (const [id, show] of Object.entries(FORMS)) {
  byId(id).addEventListener('submit', (event) => {
    event.preventDefault();
    void show(fieldsOf(byId(id)));
  });
}

/** Once for each time that somebody comes in. @param leave - is told of a key that may not ask any more. */
export function showHistory({ history, networks }, leave) {
  onRefused(leave);
  if (isShown) return;
  isShown = true;
  byId('history-off').hidden = history.enabled;
  byId('history').hidden = !history.enabled;
  if (!history.enabled) return;
  byId('webhooks-off').hidden = history.webhooks;
  byId('reconciles-off').hidden = history.reconciles;
  byId('catalogue').hidden = !history.catalogue;
  byId('catalogue-off').hidden = history.catalogue;
  const names = networks.map(({ network }) => network);
  for (const select of document.querySelectorAll('select[name="network"]')) {
    const all = element('option', { value: '' }, 'every network');
    select.replaceChildren(all, ...names.map((name) => element('option', { value: name }, name)));
  }
  byId('from').value = day(Date.now() - 7 * DAY_MS);
  byId('totals-from').value = day(Date.now() - 13 * DAY_MS);
  for (const [id, show] of Object.entries(FORMS)) void show(fieldsOf(byId(id)));
  if (history.catalogue) showCatalogue();
}

/** Nothing stays of what a key has shown. */
export function clearHistory() {
  isShown = false;
  forgetQuestions();
  clearCatalogue();
  clearTotals();
  clearLife();
  for (const id of ROOMS) byId(id).replaceChildren();
}
