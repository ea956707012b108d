import type { SendResult } from '../../../platform/chain/rpc/rpc-classes.js';
import type { PoolRefusal } from '../state/tracked-attempt.js';

/** Same bytes again after this many blocks: nodes do not announce a transaction twice. */
const REBROADCAST_BLOCKS = 4n;
/** A higher fee after this many blocks without inclusion: about 3.6 s on BNB Chain. */
const OUTBID_BLOCKS = 8n;

/** An attempt that no node ever said to have, after so many transactions, is too much for them. */
const UNTAKEN_TRANSACTIONS = 3;

export interface WaitingAttempt {
  readonly refusal: PoolRefusal | undefined;
  /** Whether a node ever said that it has one of its transactions. */
  readonly isTaken: boolean;
  /** Transactions stored for its nonce. */
  readonly transactions: number;
  readonly blocksSinceSent: bigint;
  readonly blocksSincePriced: bigint;
  /** Whether the chain takes nothing of this signer before it. */
  readonly isFirst: boolean;
}

/**
 * What helps an attempt that no block has taken.
 *
 * - `cancel`: no node has its bytes, or will have them: a no-op takes its place, and what it carried is
 *   sent again, each alone.
 * - `outbid`: the same for a higher fee. Only for the first: those behind it cannot be mined before it.
 * - `same`: the same bytes again.
 */
type Push = 'wait' | 'same' | 'outbid' | 'cancel';

export function pushFor(attempt: WaitingAttempt): Push {
  if (attempt.refusal === 'bytes') return 'cancel';
  const isStuck = attempt.blocksSincePriced >= OUTBID_BLOCKS;
  if (attempt.isFirst && (isStuck || attempt.refusal === 'price')) {
    // Nodes have words of their own for what they do not take.
    const isTooMuch = !attempt.isTaken && attempt.transactions >= UNTAKEN_TRANSACTIONS;
    return isTooMuch && attempt.refusal === undefined ? 'cancel' : 'outbid';
  }
  return attempt.blocksSinceSent >= REBROADCAST_BLOCKS ? 'same' : 'wait';
}

/**
 * Why no node is known to have the bytes; `undefined` where one has them, or none said why not. Another
 * transaction in their place is stored at the same nonce, so nothing is lost if one has them after all.
 */
export function refusalOf(results: readonly SendResult[]): PoolRefusal | undefined {
  if (isTakenBy(results)) return undefined;
  if (results.some(({ kind }) => kind === 'underpriced')) return 'price';
  return results.some(({ kind }) => kind === 'rejected') ? 'bytes' : undefined;
}

/** Whether a node said that it has them. */
export function isTakenBy(results: readonly SendResult[]): boolean {
  return results.some(({ kind }) => kind === 'accepted' || kind === 'already_known');
}
