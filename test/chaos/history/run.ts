import type { SeededRandom } from '../../support/seeded-random.js';
import { delay } from '../client.js';
import type { Deal } from '../deals.js';
import type { Fault } from '../faults/index.js';
import { type Played, playRun } from '../run.js';
import type { Stage } from '../stage.js';
import { againstLookUps, type Allowances, auditRun, describeRow } from './audit.js';
import type { History } from './history.js';
import { Memory } from './memory.js';
import { reconciled } from './reconcile.js';
import { revisit } from './revisit.js';
import { lastWrite, type Row, rowsOf, writesOf } from './rows.js';
import { eventsOf, heardAt } from './tellings.js';

/** The archive follows within moments of the last fault. */
const ARCHIVED_MS = 30_000;
/** The chain is asked about the block of a payment whose ledger is lost: after 20 s, in rounds of 10 s. */
const SEARCHED_MS = 60_000;
/** A process that dies while it tells is taken over after its lease, and what failed is tried again. */
const TOLD_MS = 90_000;
const LOOK_EVERY_MS = 250;
/** Looked up again after each run. */
const KNOWN_AGAIN = 6;
const AGED_MOST = 3;

interface HistoryRun {
  readonly name: string;
  readonly payments: number;
  readonly faults: readonly Fault[];
  /** All payers are honest. */
  readonly isHonest?: boolean;
}

/** A run of payments, then a comparison of archive, ledger, chain and all answers. */
export async function playHistoryRun(
  stage: Stage,
  random: SeededRandom,
  { name, payments, faults, isHonest = false }: HistoryRun,
): Promise<Played> {
  const history = historyOf(stage);
  const memory = (history.memory ??= new Memory());
  await history.listen(stage);
  const since = await lastWrite(history.database);
  const startedAt = Date.now();
  const mayLoseKeys = faults.some(
    ({ kind, expectations }) =>
      expectations?.isLedgerWhole === false || kind.includes('missed the newest writes'),
  );
  // The chain has a clock of its own.
  const { timestamp } = await stage.world.client.getBlock();
  const [{ deals, violations }, revisited] = await Promise.all([
    playRun(stage, random, {
      payments,
      isHonest,
      bringApprovals: !isHonest,
      faults: [...faults, aging(startedAt)],
      // How fast is for the mode without a history.
      expectations: { isUndisturbed: false },
    }),
    // What this run may lose of the ledger may be a key.
    revisit(stage, random, memory.bought, mayLoseKeys ? Infinity : memory.isWholeSince),
  ]);
  const allowances: Allowances = {
    isLedgerWhole:
      stage.losses.length === 0 &&
      faults.every(({ expectations }) => expectations?.isLedgerWhole !== false),
    hasReorgs: faults.some(({ expectations }) => expectations?.hasReorgs === true),
  };
  if (!allowances.isLedgerWhole) memory.isWholeSince = Date.now();
  const { violations: audited, rows } = await atRest(
    () => auditRun(stage, history, deals, since, allowances),
    allowances.isLedgerWhole ? ARCHIVED_MS : SEARCHED_MS,
  );
  remember(memory, { name, deals, rows, isOver: allowances.isLedgerWhole });
  const found = [
    ...violations,
    ...revisited,
    ...audited,
    ...(await stillKnown(stage, history, random)),
    ...(await wrongTellings(history)).violations,
  ];
  const fromMs = Math.min(startedAt, Number(timestamp) * 1000);
  const isLedgerWhole = allowances.isLedgerWhole && fromMs >= memory.isWholeSince;
  const { leftBehind } = memory;
  found.push(...(await reconciled(stage, history, { fromMs, isLedgerWhole, leftBehind })));
  return { deals, violations: [...new Set(found)] };
}

/**
 * After the last run: every seller has all deliveries, and every evicted settlement is still known.
 */
export async function playHistoryEnd(stage: Stage): Promise<readonly string[]> {
  const history = historyOf(stage);
  const memory = (history.memory ??= new Memory());
  const deadline = Date.now() + TOLD_MS;
  let heard = await wrongTellings(history);
  while (memory.unheard.size > 0 && heard.violations.length === 0 && Date.now() < deadline) {
    await delay(LOOK_EVERY_MS);
    heard = await wrongTellings(history);
  }
  const found = [...heard.violations, ...heard.waiting];
  // Once more, of everything: a repeat may have come late.
  for (const [id, { run }] of memory.known) memory.unheard.set(id, run);
  found.push(...(await wrongTellings(history)).violations);
  // After a crash, the next process may have to store a delivery.
  const noted = await atRest(async () => ({ violations: await wrongDeliveries(history) }), TOLD_MS);
  found.push(...noted.violations);
  for (const { row, run, isOver } of memory.known.values()) {
    const said = await atRest(async () => ({ violations: await againstLookUps(stage, row) }));
    if (isOver) found.push(...said.violations.map((what) => `${run} ${describeRow(row)}: ${what}`));
  }
  found.push(...(await changedRows(history, [...memory.known.keys()])));
  return [...new Set(found)];
}

/** Settlements that ended in earlier runs leave the ledger meanwhile. */
const aging = (beforeMs: number): Fault => ({
  kind: 'earlier settlements leave the ledger',
  name: 'earlier settlements leave the ledger',
  run: async ({ ledger }, random) => {
    for (let count = random.between(1, AGED_MOST); count > 0; count -= 1) {
      await delay(random.between(0, 1200));
      await ledger.age(beforeMs).catch(() => undefined);
    }
  },
});

/** Looks until nothing is wrong any more, or for long enough. */
async function atRest<T extends { readonly violations: readonly string[] }>(
  look: () => Promise<T>,
  patienceMs = ARCHIVED_MS,
): Promise<T> {
  const deadline = Date.now() + patienceMs;
  for (;;) {
    const found = await look();
    if (found.violations.length === 0 || Date.now() > deadline) return found;
    await delay(LOOK_EVERY_MS);
  }
}

interface Remembered {
  readonly name: string;
  readonly deals: readonly Deal[];
  readonly rows: readonly Row[];
  readonly isOver: boolean;
}

function remember(memory: Memory, { name, deals, rows, isOver }: Remembered): void {
  for (const row of rows) {
    memory.known.set(row.id, { row, run: name, isOver });
    memory.unheard.set(row.id, name);
  }
  for (const order of deals.flatMap(({ orders }) => orders)) {
    const success = order.heard.find(({ isSuccess }) => isSuccess);
    const row = rows.find(({ isPaid, isSold, payTo, transaction }) => {
      const isOfOrder = payTo === order.options.payment.payTo.toLowerCase();
      return isOfOrder && isPaid && isSold && transaction === success?.transaction;
    });
    if (order.key === undefined || row?.transaction === undefined || !isOver) continue;
    const { payment, from } = order.options;
    const { transaction } = row;
    memory.bought.push({ payment, key: order.key, from, transaction, run: name, at: Date.now() });
  }
}

/** Some of what earlier runs left. */
async function stillKnown(
  stage: Stage,
  history: History,
  random: SeededRandom,
): Promise<readonly string[]> {
  const known = [...(history.memory?.known.values() ?? [])].filter(({ isOver }) => isOver);
  const found: string[] = [];
  for (const { row, run } of random.some(known, KNOWN_AGAIN)) {
    const { violations } = await atRest(async () => ({
      violations: await againstLookUps(stage, row),
    }));
    found.push(...violations.map((what) => `of ${run}, ${describeRow(row)}: ${what}`));
  }
  return found;
}

/** A row whose settlement is over does not change any more. */
async function changedRows(history: History, ids: readonly string[]): Promise<readonly string[]> {
  const rows = await rowsOf(history.database, ids);
  return rows.flatMap((row) => {
    const known = history.memory?.known.get(row.id);
    const isSame = known?.isOver !== true || JSON.stringify(known.row) === JSON.stringify(row);
    return isSame ? [] : [`of ${known.run}, ${describeRow(row)} was ${describeRow(known.row)}`];
  });
}

interface Tellings {
  readonly violations: readonly string[];
  readonly waiting: readonly string[];
}

/** The wrong and the pending deliveries of the sellers. */
async function wrongTellings(history: History): Promise<Tellings> {
  const { memory, receiver, shops, database, conducts } = history;
  const violations: string[] = [];
  const waiting: string[] = [];
  if (receiver.wrong.length > 0) violations.push(`signatures: ${receiver.wrong.join('; ')}`);
  if (memory === undefined) return { violations, waiting };
  const ids = [...memory.unheard.keys()];
  // Read before the writes: each delivery must be about a change that happened by then.
  const received = receiver.received.slice();
  const writes = await writesOf(database, ids);
  for (const [id, run] of memory.unheard) {
    const ofRow = writes.get(id) ?? [];
    const payTo = ofRow.findLast((write) => write.payTo !== undefined)?.payTo;
    const shop = payTo === undefined ? undefined : shops.shopOf(payTo);
    const expected = shop === undefined ? [] : eventsOf(ofRow);
    const attempts = received.filter(({ settlementId }) => settlementId === id);
    let isWaiting = false;
    for (const conduct of conducts) {
      const path = `/${shop?.name ?? ''}/${conduct}`;
      const here = attempts.filter((one) => one.path === path);
      const heard = heardAt(conduct, here, expected);
      violations.push(...heard.wrong.map((what) => `of ${run}, ${id} at ${path}: ${what}`));
      if (!heard.isWaiting) continue;
      isWaiting = true;
      const types = expected.map(({ type }) => type).join(' ');
      waiting.push(`of ${run}, ${id} at ${path}: was not told all of ${types}`);
    }
    const strangers = attempts.filter(({ path }) => !path.startsWith(`/${shop?.name ?? ''}/`));
    if (strangers.length > 0) violations.push(`of ${run}, ${id}: told to ${strangers[0]?.path}`);
    if (!isWaiting) memory.unheard.delete(id);
  }
  return { violations, waiting };
}

/** What the service believes to have delivered was taken, and nothing was given up or held back. */
async function wrongDeliveries({ database, receiver }: History): Promise<readonly string[]> {
  const rows = await database.query<{ url: string; id: string; type: string; state: string }>(
    `select url, event.id, event.type, delivery.state from x402.webhook_deliveries delivery
      join x402.webhook_endpoints endpoint on endpoint.id = delivery.endpoint_id
      join x402.webhook_events event on event.sequence = delivery.sequence
      where event.type <> 'webhook.challenge'`,
  );
  const taken = new Set(
    receiver.received
      .filter(({ acceptedAt }) => acceptedAt !== undefined)
      .map(({ path, id }) => `${path} ${id}`),
  );
  return rows.flatMap(({ url, id, type, state }) => {
    const path = new URL(url).pathname;
    const isRight =
      state === 'delivered'
        ? taken.has(`${path} ${id}`)
        : state === 'waiting' && path.endsWith('/dead');
    return isRight ? [] : [`${type} is ${state} at ${path}`];
  });
}

function historyOf({ history }: Stage): History {
  if (history === undefined) throw new Error('this deployment has no history');
  return history;
}
