import type { Address } from 'viem';
import { ChainUnavailableError } from '../../protocol/errors.js';
import type { BlockHeader } from './block.js';
import { eachAnswer, type QuorumContext, quorumRead } from './quorum.js';

/** Transactions of an account, as its account nonces show them. */
export interface TransactionCounts {
  /** Account nonces below this are used in {@link TransactionCounts.block}. */
  readonly latest: number;
  /**
   * Account nonces below this are used there, or by transactions in the pools; never below `latest`. If two endpoints
   * are asked, both have to have a pooled transaction.
   */
  readonly pending: number;
  /** Account nonces below this are used in final blocks; `undefined` while the final block is unknown. */
  readonly finalized: number | undefined;
  readonly block: BlockHeader;
}

/**
 * Counts the transactions of an account at one block, on which two endpoints have to agree, if there are two. All
 * endpoints are asked at once.
 *
 * @throws ChainUnavailableError, EndpointsDisagreeError
 */
export async function countTransactions(
  quorum: QuorumContext,
  address: Address,
  blocks: { readonly latest: BlockHeader; readonly finalized: BlockHeader | undefined },
): Promise<TransactionCounts> {
  const { latest: block, finalized } = blocks;
  const [latest, final, pending] = await Promise.all([
    countAt(quorum, address, block),
    finalized && countAt(quorum, address, finalized),
    countPending(quorum, address),
  ]);
  return { latest, pending: Math.max(latest, pending), finalized: final, block };
}

/** @throws ChainUnavailableError, EndpointsDisagreeError */
export function countAt(
  panel: QuorumContext,
  address: Address,
  block: BlockHeader,
): Promise<number> {
  return quorumRead(panel, {
    what: 'transaction count',
    ability: 'state',
    read: async (view) => {
      const value = await view.transactionCount(address, { blockHash: block.hash });
      return { value, key: String(value), subject: block.hash };
    },
  });
}

/** Pools differ, so a transaction counts if two of them have it. */
export async function countPending(
  { chainId, views }: Pick<QuorumContext, 'chainId' | 'views'>,
  address: Address,
): Promise<number> {
  const answers = await eachAnswer(views, (view) => view.transactionCount(address, 'pending'));
  const [most, second = most] = [...answers].sort((a, b) => b - a);
  if (second === undefined) throw new ChainUnavailableError(chainId, 'transaction count');
  return second;
}
