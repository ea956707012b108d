import type { Hex } from 'viem';
import { ChainUnavailableError } from '../../../protocol/errors.js';
import { uintWord } from '../../../protocol/evm/abi-words.js';
import type { AuthorizationRef } from '../../../protocol/schemes/authorization-method.js';
import { presentedAuthorizations } from '../../../protocol/schemes/presented.js';
import { methodNamed } from '../../../protocol/schemes/registry.js';
import type { ChainView } from '../chain-view.js';
import type { FoundLog } from '../receipt.js';
import type { BlockIndex } from './block-index.js';
import { BudgetSpentError, type SearchBudget } from './budget.js';
import { firstUsedBlock } from './first-used.js';
import { isPaidWhole, isSameAuthorization, onlyOf, paidLogsOf } from './moved.js';

/** About three hours of BNB Chain. The transaction of an earlier use or action is not searched. */
export const LOOK_BACK_BLOCKS = 25_000n;

/** Blocks to look through; both ends count. */
export interface BlockRange {
  readonly from: bigint;
  readonly to: bigint;
}

/** The result of a scan by one endpoint. */
export type Scanned =
  | { readonly kind: 'found'; readonly transaction: Hex }
  /** The first block of the range without a readable use up to the end. `undefined` when no block could be read. */
  | { readonly kind: 'not_found'; readonly readFrom: bigint | undefined };

interface Scan {
  readonly view: ChainView;
  readonly ref: AuthorizationRef;
  readonly range: BlockRange;
  readonly index: BlockIndex;
  readonly budget: SearchBudget;
  /** Whether the state of past blocks has to confirm what logs do not show. */
  readonly isThorough: boolean;
}

/** Providers limit the range of one query; most allow at least this many blocks. */
const RANGE_BLOCKS = 5000n;
/** Other providers are asked for fewer, down to this many. */
const RANGE_LEAST_BLOCKS = 50n;
/** How often one step is tried at one endpoint. */
const TRIES = 3;
/** An endpoint that took this long is not asked again. */
const QUICK_MS = 300;
/** With more transfers than this, the state decides which block it was. */
const CANDIDATES_MAX = 8;
/** Blocks that are read at once. */
const BLOCKS_AT_ONCE = 4n;

/**
 * Searches one endpoint for the transaction that used an authorization, newest blocks first. By logs if the node has
 * them: an event names the authorization, or for methods without one the payer's transfers are checked. Otherwise by
 * the state of past blocks, and by the blocks.
 *
 * @throws ChainUnavailableError when the endpoint lags or does not answer.
 */
export async function scan(task: Scan): Promise<Scanned> {
  const { view, range, budget } = task;
  // A failed search proves absence only where the node has these blocks.
  budget.spend();
  if ((await retryUntil(() => view.blockNumber())) < range.to) {
    throw new ChainUnavailableError(view.chainId, 'blocks of a search');
  }
  const progress: Progress = { readFrom: undefined };
  try {
    const transaction = await searchWith(task, progress);
    if (transaction !== undefined) return { kind: 'found', transaction };
  } catch (error) {
    if (!(error instanceof BudgetSpentError)) throw error;
  }
  return { kind: 'not_found', readFrom: progress.readFrom };
}

interface Progress {
  readFrom: bigint | undefined;
}

async function searchWith(task: Scan, progress: Progress): Promise<Hex | undefined> {
  if (task.view.health.hasLogs !== false) {
    try {
      const found = await searchLogs(task, progress);
      if (found !== undefined || !task.isThorough) return found;
      return await searchUsedBlock(task, progress);
    } catch (error) {
      if (!(error instanceof ChainUnavailableError)) throw error;
    }
  }
  return searchBlocks(task, progress);
}

// ------------------------------------------------------------------ logs

async function searchLogs(task: Scan, progress: Progress): Promise<Hex | undefined> {
  const { range, ref } = task;
  let most = RANGE_BLOCKS;
  let to = range.to;
  while (to >= range.from) {
    const from = to - most + 1n > range.from ? to - most + 1n : range.from;
    let logs: readonly FoundLog[];
    try {
      logs = await retryUntil(() => readLogs(task, from, to));
    } catch (error) {
      if (!(error instanceof ChainUnavailableError) || to - from < RANGE_LEAST_BLOCKS) throw error;
      // The range may be too large for this provider.
      most /= 10n;
      continue;
    }
    const newestFirst = [...logs].reverse();
    const found =
      methodNamed(ref.method).useEvents.length > 0
        ? newestFirst[0]?.transactionHash
        : await presenterAmong(task, newestFirst, { from, to });
    if (found !== undefined) return found;
    progress.readFrom = from;
    if (from === 0n) break;
    to = from - 1n;
  }
  return undefined;
}

function readLogs(
  { view, ref, budget }: Scan,
  from: bigint,
  to: bigint,
): Promise<readonly FoundLog[]> {
  const topics = methodNamed(ref.method).searchTopics(ref);
  budget.spend();
  return view.logs({ address: ref.asset, topics, from, to });
}

/** Finds, among the transactions of transfers, the one whose calldata presents the authorization. */
async function presenterAmong(
  task: Scan,
  transfers: readonly FoundLog[],
  range: BlockRange,
): Promise<Hex | undefined> {
  const { view, ref, budget } = task;
  const amountData = ref.amount === undefined ? undefined : `0x${uintWord(ref.amount)}`;
  const fitting = transfers.filter(({ data }) => amountData === undefined || data === amountData);
  let candidates = new Set(fitting.map(({ transactionHash }) => transactionHash));
  if (candidates.size > CANDIDATES_MAX) {
    const first = await firstUsedBlock(view, ref, range, budget);
    if (first.kind === 'outside') return undefined;
    const isPossible = ({ blockNumber }: FoundLog): boolean =>
      first.kind === 'in' ? blockNumber === first.block : blockNumber <= first.block;
    candidates = new Set(fitting.filter(isPossible).map(({ transactionHash }) => transactionHash));
  }
  const blocks = new Map(fitting.map((log) => [log.transactionHash, log.blockNumber]));
  const presenters: Presenter[] = [];
  for (const hash of candidates) {
    budget.spend();
    const transaction = await retryUntil(() => view.transaction(hash));
    if (transaction === undefined) throw new ChainUnavailableError(view.chainId, 'transaction');
    const { to, input } = transaction;
    const presented = presentedAuthorizations(to, input, view.schemeContracts);
    if (!presented.some((one) => isSameAuthorization(one, ref))) continue;
    presenters.push({ hash, block: blocks.get(hash) ?? 0n, presented });
  }
  // Another account may present it again and fail, besides an equal payment.
  return ref.shownBy === undefined
    ? userAmong(task, presenters, range)
    : payerAmong(task, presenters);
}

interface Presenter {
  readonly hash: Hex;
  readonly block: bigint;
  readonly presented: ReturnType<typeof presentedAuthorizations>;
}

/**
 * Of several transactions in a block, the one whose block state shows the use, or, without that state, of all up to
 * then. Of several, the one that paid everything it presented of that payer, payee and amount: another one may have
 * presented the authorization in vain besides an equal payment. `undefined` if several remain.
 */
async function userAmong(
  { view, ref, budget }: Scan,
  presenters: readonly Presenter[],
  range: BlockRange,
): Promise<Hex | undefined> {
  if (presenters.length < 2) return presenters[0]?.hash;
  const first = await firstUsedBlock(view, ref, range, budget);
  if (first.kind === 'outside') return undefined;
  const possible = presenters.filter(({ block }) =>
    first.kind === 'in' ? block === first.block : block <= first.block,
  );
  if (possible.length < 2) return possible[0]?.hash;
  const whole: Hex[] = [];
  for (const { hash, presented } of possible) {
    budget.spend();
    const receipt = await retryUntil(() => view.receipt(hash));
    if (receipt === undefined) throw new ChainUnavailableError(view.chainId, 'receipt');
    if (isPaidWhole(ref, receipt, presented)) whole.push(hash);
  }
  return onlyOf(whole);
}

/** The one of several that shows the payment; the newest if none does. */
async function payerAmong(
  { view, ref, budget }: Scan,
  presenters: readonly Presenter[],
): Promise<Hex | undefined> {
  const [newest, ...others] = presenters;
  if (newest === undefined || others.length === 0) return newest?.hash;
  for (const { hash, presented } of presenters) {
    budget.spend();
    const receipt = await retryUntil(() => view.receipt(hash));
    if (receipt === undefined) throw new ChainUnavailableError(view.chainId, 'receipt');
    if (paidLogsOf(ref, receipt, presented).length > 0) return hash;
  }
  return newest.hash;
}

// ------------------------------------------------------------------ blocks

/** A node with incomplete logs may still know the block. */
async function searchUsedBlock(task: Scan, progress: Progress): Promise<Hex | undefined> {
  const { view, ref, range, index, budget } = task;
  const first = await firstUsedBlock(view, ref, range, budget);
  if (first.kind !== 'in') return undefined;
  progress.readFrom = first.block < range.to ? first.block + 1n : undefined;
  const found = await retryUntil(() => index.find(view, ref, first.block, budget));
  progress.readFrom = range.from;
  return found;
}

/** Without logs: the state shows which block it was, or was not, and the block is read. */
async function searchBlocks(task: Scan, progress: Progress): Promise<Hex | undefined> {
  const { view, ref, range, index, budget } = task;
  const first = await firstUsedBlock(view, ref, range, budget);
  if (first.kind === 'outside') {
    progress.readFrom = range.from;
    return undefined;
  }
  if (first.kind === 'in') {
    const found = await retryUntil(() => index.find(view, ref, first.block, budget));
    progress.readFrom = range.from;
    return found;
  }
  if (first.block < range.to) progress.readFrom = first.block + 1n;
  for (let to = first.block; to >= range.from; to -= BLOCKS_AT_ONCE) {
    const from = to - BLOCKS_AT_ONCE + 1n > range.from ? to - BLOCKS_AT_ONCE + 1n : range.from;
    const numbers = Array.from({ length: Number(to - from) + 1 }, (_, step) => to - BigInt(step));
    const found = await Promise.all(
      numbers.map((number) => retryUntil(() => index.find(view, ref, number, budget))),
    );
    const use = found.find((hash) => hash !== undefined);
    if (use !== undefined) return use;
    progress.readFrom = from;
  }
  return undefined;
}

/**
 * A search has several reads that depend on each other. Starting over after each failure of an endpoint, it would
 * hardly ever end.
 */
async function retryUntil<T>(read: () => Promise<T>): Promise<T> {
  for (let count = 1; ; count += 1) {
    const askedAt = performance.now();
    try {
      return await read();
    } catch (error) {
      const isQuick = performance.now() - askedAt < QUICK_MS;
      if (!(error instanceof ChainUnavailableError) || !isQuick || count === TRIES) throw error;
    }
  }
}
