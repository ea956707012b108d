/** The life of one settlement: what it is, whom it was sold to, and what happened to it, in its order. */

import {
  cells,
  code,
  duration,
  element,
  gwei,
  longCell,
  moment,
  numberCell,
  row,
  stateOf,
  table,
} from './admin-common.js';

const STEPS = {
  arrived: 'the request began to arrive',
  claimed: 'claimed in the ledger',
  allocated: 'a transaction was signed for it',
  included: 'in a block',
  finished: 'at its end',
};

/** What happened, oldest first: of the ledger, of webhooks, of operators. */
export function stepsOf({ settlement, history }) {
  const { events = [], actions = [], row: noted } = history;
  const steps = [
    ...Object.entries(settlement.times ?? {}).map(([name, at]) => ({
      at,
      what: STEPS[name] ?? name,
      detail: '',
    })),
    ...(noted === undefined
      ? []
      : [{ at: noted.archivedAt, what: 'archived as it is', detail: '' }]),
    ...events.flatMap(({ type, happenedAt, deliveries }) => [
      { at: happenedAt, what: `event ${type}`, detail: '' },
      ...deliveries
        .filter(({ triedAt }) => triedAt !== undefined)
        .map((one) => ({
          at: one.triedAt,
          what: `${type}: ${one.state} after ${one.attempts}`,
          detail: [one.owner, one.url, one.status, one.problem, one.answer]
            .filter((part) => part !== undefined)
            .join(' · '),
        })),
    ]),
    ...actions.map(({ at, by, action, subject }) => ({
      at,
      what: `an operator: ${action}`,
      detail: `${by} · ${subject}`,
    })),
  ];
  return steps.sort((a, b) => a.at.localeCompare(b.at));
}

function fact(name, content) {
  if (content === undefined || content === '') return undefined;
  return element('tr', {}, element('th', { scope: 'row' }, name), longCell(content));
}

function saleText({ state, requester, isBoundToKey, isSoldToKey }, isAsync) {
  return [
    state,
    requester && `to the request ${requester}`,
    isSoldToKey && 'by its idempotency key',
    isBoundToKey && 'bound to an idempotency key',
    isAsync && 'handed out by a 202',
  ]
    .filter(Boolean)
    .join(', ');
}

function factsOf({ settlement, network, sale, isAsync }) {
  const { payment = {}, transactions = [], block } = settlement;
  return element(
    'table',
    {},
    element(
      'tbody',
      {},
      fact('State', stateOf(settlement.state, settlement.reason)),
      fact('Known to', settlement.source),
      fact('Paid', settlement.paid ? `yes, ${settlement.finality}` : 'no'),
      fact('Sale', saleText(sale, isAsync)),
      fact('Network', network),
      fact('Scheme', [payment.scheme, payment.method].filter(Boolean).join(', ')),
      fact('Asset', payment.asset),
      fact('Amount', payment.amount),
      fact('Settled amount', payment.settledAmount),
      fact('Payer', payment.payer),
      fact('Paid to', payment.payTo),
      fact('Nonce', payment.nonce),
      fact('Transaction', settlement.transaction),
      fact('All transactions', transactions.length > 1 ? transactions.join(' ') : undefined),
      fact('Block', block && [block.number, block.hash].filter(Boolean).join(' ')),
    ),
  );
}

function attemptRow({ lane, accountNonce, kind, transactions, maxFeePerGasWei, ageMs }) {
  return row(
    ...cells(code(lane), String(accountNonce), kind, code(transactions.at(-1) ?? '')),
    numberCell(String(transactions.length - 1)),
    numberCell(gwei(maxFeePerGasWei)),
    numberCell(duration(ageMs)),
  );
}

function historyOf(life) {
  const { history } = life;
  const steps = stepsOf(life).map(({ at, what, detail }) =>
    row(...cells(moment(at), what), longCell(detail)),
  );
  const shown = [table(['When (UTC)', 'What', 'More'], steps, 'No time of it is kept.')];
  if (history.status === 'off') {
    shown.push(element('p', { class: 'quiet' }, 'There is no history: this is what Redis has.'));
  }
  if (history.status === 'unavailable') {
    shown.push(element('p', { class: 'bad', role: 'alert' }, history.error));
  }
  if (history.status === 'known' && history.row === undefined) {
    shown.push(element('p', { class: 'warn' }, 'It is not archived yet.'));
  }
  for (const { runId, name, meaning, expected, found } of history.differences ?? []) {
    const sides = `books: ${expected ?? 'nothing'}; chain: ${found ?? 'nothing'}`;
    shown.push(element('p', { class: 'bad' }, `Run ${runId}: ${name}. ${meaning ?? ''} ${sides}`));
  }
  return shown;
}

export function showLife(room, life) {
  const attempts = life.attempts.map(attemptRow);
  const columns = ['Lane', 'Nonce', 'Kind', 'Transaction', 'Raised', 'Fee', 'Age'];
  room.replaceChildren(
    element('h3', { class: 'mono' }, `Settlement ${life.settlement.settlementId}`),
    factsOf(life),
    ...(attempts.length === 0 ? [] : [table(columns, attempts, '')]),
    ...historyOf(life),
  );
  room.hidden = false;
}

export function clearLife() {
  document.getElementById('life').hidden = true;
}
