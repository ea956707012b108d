import type { Address, Hex } from 'viem';
import type { ChainView } from '../../platform/chain/chain-view.js';
import type { FoundLog } from '../../platform/chain/receipt.js';
import { ChainUnavailableError } from '../../protocol/errors.js';
import { addressWord } from '../../protocol/evm/abi-words.js';
import { AUTHORIZATION_USED_TOPIC, TRANSFER_TOPIC } from '../../protocol/evm/logs.js';
import { type BlockSpan, searchLogs } from './search-logs.js';

/** An account nonce whose transaction is not known, and the blocks it lies in. */
export interface NonceGap extends BlockSpan {
  readonly nonce: number;
}

export interface Lost {
  readonly lane: Address;
  readonly gaps: readonly NonceGap[];
  /** Tokens whose authorizations a lane presents. */
  readonly assets: readonly Address[];
}

/** Transactions of strangers that are looked at one by one. */
const CANDIDATES_MOST = 500;
/** Blocks that are read one by one where neither state nor logs are to be had. */
const SCAN_MOST = 512n;

/**
 * Looks for transactions of a lane that the history does not have, at one endpoint: by its
 * transaction counts at past blocks, by logs where the node has no past counts, and by reading the
 * blocks where they are few. A found transaction is a hint, and is read like any other transaction.
 *
 * @returns hashes by account nonce.
 */
export async function findTransactions(
  view: ChainView,
  lost: Lost,
): Promise<ReadonlyMap<number, Hex>> {
  const found = new Map<number, Hex>();
  for (const way of [byState, byLogs, byBlocks]) {
    const gaps = lost.gaps.filter(({ nonce }) => !found.has(nonce));
    if (gaps.length === 0) break;
    try {
      await way(view, { ...lost, gaps }, found);
    } catch (error) {
      if (!(error instanceof ChainUnavailableError)) throw error;
    }
  }
  return found;
}

type Found = Map<number, Hex>;

async function byState(view: ChainView, { lane, gaps }: Lost, found: Found): Promise<void> {
  for (const { nonce, ...span } of gaps) {
    if (found.has(nonce)) continue;
    let { from, to } = span;
    while (from < to) {
      const middle = (from + to) / 2n;
      const used = await view.transactionCount(lane, { blockNumber: middle });
      if (used > nonce) to = middle;
      else from = middle + 1n;
    }
    await readBlock(view, lane, from, found);
  }
}

/** Tokens that left the lane, and used authorizations. */
async function byLogs(view: ChainView, { lane, gaps, assets }: Lost, found: Found): Promise<void> {
  const span = spanOf(gaps);
  const left: readonly FoundLog[] = await searchLogs(
    (part) => view.logs({ topics: [TRANSFER_TOPIC, `0x${addressWord(lane)}`], ...part }),
    span,
  );
  const used =
    assets.length === 0
      ? []
      : await searchLogs(
          (part) => view.logs({ address: assets, topics: [AUTHORIZATION_USED_TOPIC], ...part }),
          span,
        );
  const hashes = new Set([...left, ...used].map(({ transactionHash }) => transactionHash));
  for (const hash of [...hashes].slice(0, CANDIDATES_MOST)) {
    const transaction = await view.transaction(hash);
    if (transaction?.from !== lane || transaction.accountNonce === undefined) continue;
    found.set(transaction.accountNonce, hash);
  }
}

async function byBlocks(view: ChainView, { lane, gaps }: Lost, found: Found): Promise<void> {
  for (const { nonce, from, to } of gaps) {
    if (to - from >= SCAN_MOST) continue;
    for (let number = from; number <= to && !found.has(nonce); number += 1n) {
      await readBlock(view, lane, number, found);
    }
  }
}

async function readBlock(
  view: ChainView,
  lane: Address,
  number: bigint,
  found: Found,
): Promise<void> {
  const block = await view.fullBlock(number);
  for (const { hash, from, accountNonce } of block?.transactions ?? []) {
    if (from === lane && accountNonce !== undefined) found.set(accountNonce, hash);
  }
}

function spanOf(gaps: readonly NonceGap[]): BlockSpan {
  const [first, ...others] = gaps;
  let { from, to } = first ?? { from: 1n, to: 0n };
  for (const gap of others) {
    if (gap.from < from) from = gap.from;
    if (gap.to > to) to = gap.to;
  }
  return { from, to };
}
