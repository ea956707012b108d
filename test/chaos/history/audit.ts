import type { Hex } from 'viem';
import { ask } from '../client.js';
import type { Deal } from '../deals.js';
import type { Order } from '../order.js';
import type { Stage } from '../stage.js';
import type { History } from './history.js';
import { brokenTables, type Row, rowsOf, type Write, writesOf, writtenSince } from './rows.js';

/** What the faults of a run take away from what can be promised. */
export interface Allowances {
  /** A ledger that lost writes leaves unfinished rows behind. */
  readonly isLedgerWhole: boolean;
  /** The answers may name another block by now. */
  readonly hasReorgs: boolean;
}

interface Audit {
  readonly violations: readonly string[];
  readonly rows: readonly Row[];
}

const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
const OVER = new Set(['finalized', 'reverted', 'expired', 'foreign', 'withdrawn']);
const ANSWER_TIMEOUT_MS = 5000;

/** Compares the archive of a run with the ledger, the chain and all answers to sellers. */
export async function auditRun(
  stage: Stage,
  history: History,
  deals: readonly Deal[],
  since: string,
  allowances: Allowances,
): Promise<Audit> {
  const { database } = history;
  const violations: string[] = [];
  const waiting = await stage.ledger.waiting();
  if (waiting > 0) violations.push(`${waiting} changes are not archived`);
  violations.push(...(await brokenTables(database)));
  const ids = await writtenSince(database, since);
  const rows = await rowsOf(database, ids);
  for (const [id, writes] of await writesOf(database, ids)) {
    violations.push(...wentBack(writes).map((what) => `${id}: ${what}`));
  }
  const dealOf = new Map(
    deals.flatMap((deal) => deal.payments.map(({ payTo }) => [payTo.toLowerCase(), deal] as const)),
  );
  for (const row of rows) {
    const isCopied = dealOf.get(row.payTo ?? '')?.trick === 'is_copied';
    const found = [
      ...(await againstChain(stage, row, rows, isCopied || !allowances.isLedgerWhole)),
      ...(await againstLookUps(stage, row, allowances.isLedgerWhole)),
    ];
    if (!OVER.has(row.state) && allowances.isLedgerWhole) found.push(`at rest as ${row.state}`);
    violations.push(...found.map((what) => `${describeRow(row)}: ${what}`));
  }
  for (const deal of deals) violations.push(...againstDeal(stage, deal, rows, allowances));
  return { violations, rows };
}

/** Each state of a row is of a later moment than the one before. */
function wentBack(writes: readonly Write[]): string[] {
  const found: string[] = [];
  writes.forEach((write, index) => {
    const before = writes[index - 1];
    if (before === undefined) return;
    const order =
      compare(before.epoch, write.epoch) ||
      compare(before.versionMs, write.versionMs) ||
      compare(before.versionSequence, write.versionSequence);
    if (order >= 0) found.push(`went back from ${before.state} to ${write.state}`);
  });
  return found;
}

const compare = (one: bigint, other: bigint): number => (one < other ? -1 : one > other ? 1 : 0);

/** A row says paid if and only if the chain does, and then by this log of this block. */
async function againstChain(
  { world }: Stage,
  row: Row,
  rows: readonly Row[],
  mayBePaidElsewhere: boolean,
): Promise<string[]> {
  const { asset, payTo, transaction, blockHash, blockNumber, logIndex } = row;
  if (asset === undefined || payTo === undefined) return [];
  if (!row.isPaid) {
    const isPaidOtherwise = rows.some((other) => other.payTo === payTo && other.isPaid);
    if (isPaidOtherwise || mayBePaidElsewhere) return [];
    const received = await world.balance(asset, payTo);
    return received > 0n ? [`the payee has ${received}, and it says ${row.state}`] : [];
  }
  if (transaction === undefined) return ['paid without a transaction'];
  const receipt = await world.client
    .getTransactionReceipt({ hash: transaction })
    .catch(() => undefined);
  if (receipt?.status !== 'success') return [`${transaction} is not on the chain`];
  const found: string[] = [];
  // Of a use by a transaction that is not ours the number of the block is kept, and not its hash.
  const isNumbered = row.state === 'foreign' && blockHash === undefined;
  if (receipt.blockHash !== blockHash && !isNumbered)
    found.push(`in block ${receipt.blockHash}, not ${blockHash}`);
  if (receipt.blockNumber.toString() !== blockNumber) {
    found.push(`in block ${receipt.blockNumber}, not ${blockNumber}`);
  }
  const amount = BigInt(row.settledAmount ?? row.amount ?? -1);
  const logs = receipt.logs.filter(
    ({ address, topics, data }) =>
      address.toLowerCase() === asset &&
      topics[0] === TRANSFER &&
      topics[1] === wordOf(row.payer) &&
      topics[2] === wordOf(payTo) &&
      BigInt(data) === amount,
  );
  // Within the block.
  const isThere = logs.some((log) => logIndex === undefined || log.logIndex === logIndex);
  if (!isThere) found.push(`log ${logIndex} does not pay ${amount}`);
  return found;
}

const wordOf = (address: Hex | undefined): string =>
  `0x${(address ?? '0x').slice(2).padStart(64, '0')}`;

/**
 * Every look-up gives the same answer, from the ledger or from the archive.
 *
 * @param isLedgerWhole - else the archive may know more than a ledger that went back, but not
 *   otherwise.
 */
export async function againstLookUps(
  { fleet }: Stage,
  row: Row,
  isLedgerWhole = true,
): Promise<string[]> {
  const [api] = fleet.of('api');
  const answer = await ask(`${api?.url}/v2/settlements/${row.id}`, {
    timeoutMs: ANSWER_TIMEOUT_MS,
  });
  if (answer?.status !== 200) return [`a look-up says ${answer?.status ?? 'nothing'}`];
  const { source, state, paid, sale, transaction, block, logIndex, payment } = answer.json as {
    readonly [name: string]: unknown;
    readonly block?: { readonly number?: string; readonly hash?: string };
    readonly payment?: { readonly payTo?: string; readonly amount?: string };
  };
  const pairs: readonly (readonly [string, unknown, unknown])[] = [
    ['state', state, row.state],
    ['paid', paid, row.isPaid],
    ['sold', sale === 'sold', row.isSold],
    ['transaction', transaction, row.transaction],
    ['block', block?.number, row.blockNumber],
    // A record that was made again without its payment does not know it.
    ['block hash', block?.hash ?? row.blockHash, row.blockHash],
    ['log', logIndex, row.logIndex],
    ['payee', payment?.payTo?.toLowerCase() ?? row.payTo, row.payTo],
    ['amount', payment?.amount ?? row.amount, row.amount],
  ];
  return pairs
    .filter(([name]) => isLedgerWhole || name === 'paid' || name === 'transaction')
    .filter(([, shown, archived]) => shown !== archived)
    .map(
      ([name, shown, archived]) =>
        `${name}: the ${String(source)} says ${String(shown)}, the row ${String(archived)}`,
    );
}

/** Answers to sellers and sent transactions are in the archive, and agree with it. */
function againstDeal(
  { pool, losses }: Stage,
  { payments, orders, strangers, manner }: Deal,
  rows: readonly Row[],
  { isLedgerWhole, hasReorgs }: Allowances,
): string[] {
  const found: string[] = [];
  const isWhole = isLedgerWhole && losses.length === 0;
  for (const payment of payments) {
    const mine = rows.filter(
      ({ payTo, nonce }) =>
        payTo === payment.payTo.toLowerCase() && nonce === BigInt(payment.nonce).toString(),
    );
    if (isWhole && pool.firstSight(payment) !== undefined && mine.length === 0) {
      found.push(
        `${payment.method} ${payment.nonce.slice(0, 12)} ${manner}: sent and not archived`,
      );
    }
  }
  for (const order of [...orders, ...strangers]) {
    for (const [id, heard] of order.heardAnswers) {
      const row = rows.find((one) => one.id === id);
      const said = row === undefined ? unarchived(isWhole) : saidOf(row, order, heard);
      // A block that was replaced may have taken it elsewhere, or to its end.
      if (hasReorgs && row !== undefined) continue;
      if (said !== undefined) found.push(`${manner} ${id}: ${said}`);
    }
  }
  return found;
}

const unarchived = (isWhole: boolean): string | undefined =>
  isWhole ? 'told of, and not archived' : undefined;

function saidOf(
  row: Row,
  { isBuyer }: Order,
  { isSuccess, isAccepted, transaction }: Order['heard'][number],
): string | undefined {
  if (isSuccess && (!row.isPaid || row.transaction !== transaction)) {
    return `told of success by ${String(transaction)}, and archived as ${describeRow(row)}`;
  }
  if ((isSuccess || isAccepted) && isBuyer && !row.isSold) {
    return 'sold, and archived as not sold';
  }
  return undefined;
}

export function describeRow({ id, state, transaction }: Row): string {
  return `${id.slice(0, 12)} ${state} ${transaction?.slice(0, 10) ?? ''}`;
}
