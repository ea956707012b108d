import type { Address, Hex } from 'viem';
import type { Finding } from './difference.js';
import type { LaneState, SeenTransaction } from './records.js';

/** The fields of a transaction that change the account of its lane. */
export interface LaneTransaction {
  readonly hash: Hex;
  readonly nonce: number;
  readonly blockNumber: bigint;
  readonly feeWei: bigint;
  readonly to: Address | null;
  /** Native coins that left the lane. */
  readonly sentWei: bigint;
}

/** A lane in a window of blocks. */
export interface LaneComparison {
  readonly lane: Address;
  /** `undefined` if it could not be read. */
  readonly before: LaneState | undefined;
  readonly after: LaneState | undefined;
  /** The transactions of the lane in the window that were found. */
  readonly transactions: readonly LaneTransaction[];
  /** Maximum top-up of a payer for an approval; 0 without sponsored approvals. */
  readonly topUpMostWei: bigint;
  /** The lanes of the deployment, with treasuries. */
  readonly lanes: ReadonlySet<Address>;
}

/** The sums of a lane in the window. */
export interface LaneAccount {
  readonly lane: Address;
  readonly before: LaneState | undefined;
  readonly after: LaneState | undefined;
  readonly transactions: number;
  readonly feesWei: bigint;
  readonly sentWei: bigint;
  /** `undefined` if the received amount is not known. */
  readonly receivedWei: bigint | undefined;
}

interface LaneResult {
  readonly account: LaneAccount;
  readonly findings: readonly Finding[];
}

export function laneTransactionOf(seen: SeenTransaction): LaneTransaction {
  const { hash, nonce, blockNumber, feeWei, isSuccess, from, to, valueWei } = seen;
  const sentWei = isSuccess && to !== from ? valueWei : 0n;
  return { hash, nonce, blockNumber, feeWei, to, sentWei };
}

/** A higher count is not plausible. */
const MISSING_MOST = 100_000;

/** Account nonces of a lane without a known transaction. The result is cut if there are very many. */
export function missingNonces({
  before,
  after,
  transactions,
}: Pick<LaneComparison, 'before' | 'after' | 'transactions'>): readonly number[] {
  if (before === undefined || after === undefined) return [];
  const found = new Set(transactions.map(({ nonce }) => nonce));
  const missing: number[] = [];
  for (let { nonce } = before; nonce < after.nonce && missing.length < MISSING_MOST; nonce += 1) {
    if (!found.has(nonce)) missing.push(nonce);
  }
  return missing;
}

/**
 * Compares the balance of a lane with its transactions. The comparison is possible only if the transaction of every
 * used account nonce was read.
 */
export function compareLane(books: LaneComparison): LaneResult {
  const { lane, before, after } = books;
  const transactions = [...books.transactions].sort((a, b) => a.nonce - b.nonce);
  const feesWei = sumOf(transactions.map(({ feeWei }) => feeWei));
  const sentWei = sumOf(transactions.map((one) => one.sentWei));
  const account = { lane, before, after, transactions: transactions.length, feesWei, sentWei };
  const findings: Finding[] = transactions
    .filter((one) => one.sentWei > 0n)
    .map((one) => ({
      lane,
      transaction: one.hash,
      blockNumber: one.blockNumber,
      found: `${one.sentWei} wei`,
      name: nameOf(one, books),
    }));
  const withoutBalance = (more: readonly Finding[]): LaneResult => ({
    account: { ...account, receivedWei: undefined },
    findings: [...findings, ...more],
  });
  if (before === undefined || after === undefined) {
    const expected = 'the state of the lane at both ends';
    return withoutBalance([{ name: 'not_checked', lane, expected }]);
  }
  const strays = transactions.filter(({ nonce }) => nonce < before.nonce || nonce >= after.nonce);
  if (strays.length > 0 || after.nonce < before.nonce) {
    const expected = `${before.nonce} to ${after.nonce - 1}`;
    const found = strays[0] && String(strays[0].nonce);
    return withoutBalance([
      { name: 'lane_nonces_differ', lane, transaction: strays[0]?.hash, expected, found },
    ]);
  }
  const missing = rangesOf(missingNonces({ before, after, transactions }));
  if (missing.length > 0) {
    return withoutBalance(
      missing.map((range) => ({ name: 'not_checked', lane, expected: `account nonce ${range}` })),
    );
  }
  const leftWei = before.balanceWei - feesWei - sentWei;
  const receivedWei = after.balanceWei - leftWei;
  const both = { expected: `${leftWei} wei`, found: `${after.balanceWei} wei` };
  if (receivedWei < 0n) findings.push({ name: 'lane_gas_differs', lane, ...both });
  if (receivedWei > 0n) {
    findings.push({
      name: 'lane_funded',
      lane,
      expected: both.expected,
      found: `${receivedWei} wei`,
    });
  }
  return { account: { ...account, receivedWei }, findings };
}

/** Coins sent from lane to lane are not lost: the other lane shows them as received. */
function nameOf(
  { to, sentWei }: LaneTransaction,
  { lanes, topUpMostWei }: LaneComparison,
): Finding['name'] {
  if (to !== null && lanes.has(to)) return 'lane_refilled';
  return sentWei <= topUpMostWei ? 'lane_topped_up_payer' : 'lane_sent_native';
}

function sumOf(amounts: readonly bigint[]): bigint {
  return amounts.reduce((sum, one) => sum + one, 0n);
}

/** `3`, `5 to 9` */
function rangesOf(numbers: readonly number[]): readonly string[] {
  const ranges: { first: number; last: number }[] = [];
  for (const number of numbers) {
    const range = ranges.at(-1);
    if (range?.last === number - 1) range.last = number;
    else ranges.push({ first: number, last: number });
  }
  return ranges.map(({ first, last }) => (first === last ? `${first}` : `${first} to ${last}`));
}
