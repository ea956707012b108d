/** The catalogue on the operator page: what is listed, what is denied, and why. */

import {
  ask,
  button,
  byId,
  cells,
  code,
  element,
  fieldsOf,
  inside,
  listIn,
  longCell,
  moment,
  numberCell,
  problemOf,
  queryOf,
  row,
  table,
} from './admin-common.js';

/** The places of this part. */
export const CATALOGUE_ROOMS = ['entries', 'denials'];

const EFFECTS = {
  deny: 'On every network, at once: it hides what there is and refuses what comes. Payments are settled as before.',
  allow: 'What was not forgotten meanwhile is shown again, and the next payments are listed.',
};

// ------------------------------------------------------------------ what is decided

/** Asks for a reason, and does it only then. @param verdict - what is sent with the reason. */
function decide(what, { title, effect, verdict }) {
  byId('verdict-title').replaceChildren(...title);
  byId('verdict-effect').textContent = effect;
  byId('verdict-problem').hidden = true;
  byId('verdict-reason').value = '';
  byId('verdict-form').onsubmit = (event) => {
    event.preventDefault();
    void carryOut(what, { ...verdict, reason: byId('verdict-reason').value });
  };
  byId('verdict').showModal();
}

async function carryOut(what, verdict) {
  const confirm = byId('verdict-confirm');
  confirm.disabled = true;
  try {
    await ask(`catalogue/${what}`, { method: 'POST', body: JSON.stringify(verdict) });
    byId('verdict').close();
    showCatalogue();
  } catch (error) {
    byId('verdict-problem').textContent = problemOf(error);
    byId('verdict-problem').hidden = false;
  } finally {
    confirm.disabled = false;
  }
}

function judge(what, { kind, value }) {
  const name = `${what === 'deny' ? 'Deny' : 'Allow'} the ${kind} `;
  const title = [element('span', {}, name), element('code', {}, value)];
  decide(what, { title, effect: EFFECTS[what], verdict: { kind, value } });
}

const decisionOf = (isDenied, kind, value) =>
  isDenied
    ? button(`Allow ${kind}`, () => judge('allow', { kind, value }))
    : button(`Deny ${kind}`, () => judge('deny', { kind, value }));

// ------------------------------------------------------------------ lists

const TONES = { listed: 'good', expired: 'warn', denied: 'bad' };

function stateOfEntry({ state, denials }) {
  return element(
    'div',
    {},
    element('span', { class: `state ${TONES[state] ?? 'warn'}` }, state),
    ...denials.map(({ kind, reason }) =>
      element('div', { class: 'quiet' }, reason === '' ? kind : `${kind}: ${reason}`),
    ),
  );
}

function entryRow(entry) {
  const { resource, call, network, payTo, host, serviceName, description, otherPayees } = entry;
  const isDenied = (kind) => entry.denials.some((one) => one.kind === kind);
  return row(
    longCell(stateOfEntry(entry)),
    ...cells(moment(entry.lastPaidAt), network),
    longCell(`${call} ${resource}`),
    longCell([serviceName, description].filter((one) => one !== undefined).join(': ')),
    ...cells(code(payTo)),
    numberCell(String(otherPayees)),
    ...cells(
      element(
        'div',
        {},
        decisionOf(isDenied('payee'), 'payee', payTo),
        decisionOf(isDenied('host'), 'host', host),
      ),
    ),
  );
}

function entries(fields, known = [], after = undefined) {
  const load = () => ask(`catalogue/entries?${queryOf({ ...fields, after })}`);
  return inside('entries', load, (room, { entries: found, next }) => {
    const all = [...known, ...found];
    const columns = [
      'State',
      'Last paid (UTC)',
      'Network',
      'Resource',
      'Words',
      'Payee',
      'Other payees',
      '',
    ];
    listIn(
      room,
      table(columns, all.map(entryRow), 'Nothing fits.'),
      next && (() => void entries(fields, all, next)),
    );
  });
}

function denialRow({ kind, value, reason, by, at }) {
  return row(
    ...cells(moment(at), by === '' ? 'by hand' : by, kind),
    longCell(value),
    longCell(reason),
    ...cells(decisionOf(true, kind, value)),
  );
}

function denials(fields, known = [], after = undefined) {
  const load = () => ask(`catalogue/denials?${queryOf({ ...fields, after })}`);
  return inside('denials', load, (room, { denials: found, next }) => {
    const all = [...known, ...found];
    listIn(
      room,
      table(
        ['Since (UTC)', 'Who', 'What', 'Value', 'Reason', ''],
        all.map(denialRow),
        'Nothing is denied.',
      ),
      next && (() => void denials(fields, all, next)),
    );
  });
}

// ------------------------------------------------------------------ the part

const FORMS = { 'find-entries': entries, 'find-denials': denials };

for (const [id, show] of Object.entries(FORMS)) {
  byId(id).addEventListener('submit', (event) => {
    event.preventDefault();
    void show(fieldsOf(byId(id)));
  });
}
byId('deny-something').addEventListener('submit', (event) => {
  event.preventDefault();
  judge('deny', fieldsOf(byId('deny-something')));
});
byId('verdict-leave').addEventListener('click', () => byId('verdict').close());

/** As the forms stand. */
export function showCatalogue() {
  for (const [id, show] of Object.entries(FORMS)) void show(fieldsOf(byId(id)));
}

/** Nothing stays of what a key has shown. */
export function clearCatalogue() {
  byId('verdict').close();
  byId('verdict-title').replaceChildren();
  for (const id of CATALOGUE_ROOMS) byId(id).replaceChildren();
}
