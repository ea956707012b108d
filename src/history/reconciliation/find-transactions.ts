import type { Address, Hex } from 'viem';
import type { ChainView } from '../../platform/chain/chain-view.js';
import type { FoundLog } from '../../platform/chain/receipt.js';
import { searchLogs } from '../../platform/chain/search-logs.js';
import type { BlockRange } from '../../platform/chain/use-search/scan.js';
import { ChainUnavailableError } from '../../protocol/errors.js';
import { addressWord } from '../../protocol/evm/abi-words.js';
import { AUTHORIZATION_USED_TOPIC, TRANSFER_TOPIC } from '../../protocol/evm/logs.js';

/** An account nonce without a known transaction, and the blocks that contain it. */
export interface NonceGap extends BlockRange {
  readonly nonce: number;
}

export interface Lost {
  readonly lane: Address;
  readonly gaps: readonly NonceGap[];
  /** Tokens with authorizations that the lane presented. */
  readonly assets: readonly Address[];
}

/** Maximum transactions of foreign senders that are read one by one. */
const CANDIDATES_MOST = 500;
/** Maximum blocks that are read one by one, if neither old states nor logs are available. */
const SCAN_MOST = 512n;

/**
 * Searches transactions of a lane that the history lacks, at one endpoint: by transaction counts at past blocks, by
 * logs if the node has no past counts, and by reading blocks if there are few. A result is a hint, to be read like
 * other transactions.
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

/** Finds transactions by transfers from the lane, and by used authorizations. */
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

function spanOf(gaps: readonly NonceGap[]): BlockRange {
  const [first, ...others] = gaps;
  let { from, to } = first ?? { from: 1n, to: 0n };
  for (const gap of others) {
    if (gap.from < from) from = gap.from;
    if (gap.to > to) to = gap.to;
  }
  return { from, to };
}
