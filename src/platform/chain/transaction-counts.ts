import type { Address } from 'viem';
import { ChainUnavailableError } from '../../protocol/errors.js';
import { agree, type Panel } from './agreement.js';
import type { BlockHeader } from './block.js';
import type { ChainView } from './chain-view.js';
import { isPresent } from './endpoint-health.js';

/** Transactions of an account, as its account nonces show them. */
export interface TransactionCounts {
  /** Account nonces below this are used in {@link TransactionCounts.block}. */
  readonly latest: number;
  /**
   * Account nonces below this are used there or by transactions in the pools. Two endpoints have to
   * know of a transaction in a pool where two are asked; never below `latest`.
   */
  readonly pending: number;
  /** Account nonces below this are used for good; `undefined` while nobody can say what is final. */
  readonly finalized: number | undefined;
  readonly block: BlockHeader;
}

const COUNT_TIMEOUT_MS = 1000;

/**
 * Counts the transactions of an account at one block, which two endpoints have to agree about where
 * there are two. All endpoints are asked at once.
 *
 * @throws ChainUnavailableError, EndpointsDisagreeError
 */
export async function countTransactions(
  panel: Panel,
  address: Address,
  blocks: { readonly latest: BlockHeader; readonly finalized: BlockHeader | undefined },
): Promise<TransactionCounts> {
  const { latest: block, finalized } = blocks;
  const [latest, final, pending] = await Promise.all([
    countAt(panel, address, block),
    finalized && countAt(panel, address, finalized),
    countPending(panel, address),
  ]);
  return { latest, pending: Math.max(latest, pending), finalized: final, block };
}

/** @throws ChainUnavailableError, EndpointsDisagreeError */
export function countAt(panel: Panel, address: Address, block: BlockHeader): Promise<number> {
  return agree(panel, {
    what: 'transaction count',
    read: async (view) => {
      const value = await view.transactionCount(address, { blockHash: block.hash });
      return { value, key: String(value), subject: block.hash };
    },
  });
}

/** Pools differ by nature: what counts is what two of them hold. */
async function countPending(panel: Panel, address: Address): Promise<number> {
  const present = panel.views.filter(({ health }) => isPresent(health));
  const asked = present.length === 0 ? panel.views : present;
  const answers = await Promise.all(asked.map((view) => pendingOf(view, address)));
  const counts = answers.filter((count) => count !== undefined).sort((a, b) => b - a);
  const count = counts[1] ?? counts[0];
  if (count === undefined) throw new ChainUnavailableError(panel.chainId, 'transaction count');
  return count;
}

async function pendingOf(view: ChainView, address: Address): Promise<number | undefined> {
  try {
    return await view.within(COUNT_TIMEOUT_MS).transactionCount(address, 'pending');
  } catch (error) {
    if (!(error instanceof ChainUnavailableError)) throw error;
    return undefined;
  }
}
