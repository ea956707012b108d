import type { SendResult } from '../../../platform/chain/rpc/rpc-classes.js';
import type { PoolRefusal } from '../state/tracked-attempt.js';

/** Same bytes again after this many blocks: nodes do not announce a transaction twice. */
const REBROADCAST_BLOCKS = 4n;
/** A higher fee after this many blocks without inclusion: about 3.6 s on BNB Chain. */
const OUTBID_BLOCKS = 8n;

/** An attempt with this many transactions, none of which a node accepted, is too large for the nodes. */
const UNTAKEN_TRANSACTIONS = 3;

export interface WaitingAttempt {
  readonly refusal: PoolRefusal | undefined;
  /** Whether a node ever said that it has one of its transactions. */
  readonly isTaken: boolean;
  /** Transactions stored for its nonce. */
  readonly transactions: number;
  readonly blocksSinceSent: bigint;
  readonly blocksSincePriced: bigint;
  /** Whether the chain can include no other transaction of this signer before it. */
  readonly isFirst: boolean;
}

/**
 * The next step for an attempt that no block has taken.
 *
 * - `cancel`: no node has or will accept its bytes: a no-op replaces it, and its settlements are sent again one by one.
 * - `bumpFees`: the same with a higher fee. Only for the first attempt: those after it cannot be mined before it.
 * - `same`: the same bytes again.
 */
type ResendAction = 'wait' | 'same' | 'bumpFees' | 'cancel';

export function resendActionFor(attempt: WaitingAttempt): ResendAction {
  if (attempt.refusal === 'bytes') return 'cancel';
  const isStuck = attempt.blocksSincePriced >= OUTBID_BLOCKS;
  if (attempt.isFirst && (isStuck || attempt.refusal === 'price')) {
    // Nodes have different texts for a refused transaction.
    const isTooMuch = !attempt.isTaken && attempt.transactions >= UNTAKEN_TRANSACTIONS;
    return isTooMuch && attempt.refusal === undefined ? 'cancel' : 'bumpFees';
  }
  return attempt.blocksSinceSent >= REBROADCAST_BLOCKS ? 'same' : 'wait';
}

/**
 * Why no node is known to have the bytes; `undefined` where one has them, or none gave a reason. A replacement is
 * stored at the same nonce, so nothing is lost if one has them after all.
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
