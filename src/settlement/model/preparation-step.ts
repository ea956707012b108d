import {
  mostCostOfTransaction,
  type PayerTransaction,
} from '../../protocol/evm/payer-transaction.js';
import type { KnownFunding } from './attempt.js';

/** A payer's own transaction and account, as read at one moment. */
export interface PreparationFacts {
  /** The effect of the transaction is there. */
  readonly isDone: boolean;
  /** Account nonces of the payer below this are used. */
  readonly usedNonces: number;
  readonly balanceWei: bigint;
  /** The last funding of the payer, read before all of this. */
  readonly funding: KnownFunding | undefined;
}

/**
 * - `done`: the payment can be sent. `wait`: for a block.
 * - `fund`: the payer is short of native coins. `send`: it has enough, its transaction can be sent.
 * - `lost`: something else used its account nonce. `spent`: it was funded, and is short again.
 */
export type PreparationStep = 'done' | 'wait' | 'fund' | 'send' | 'lost' | 'spent';

/** The next step: each only where the chain shows that the one before has happened. */
export function nextPreparationStep(
  { isDone, usedNonces, balanceWei, funding }: PreparationFacts,
  transaction: PayerTransaction,
): PreparationStep {
  const { accountNonce } = transaction;
  if (isDone) return 'done';
  if (usedNonces > accountNonce) return 'lost';
  // A block was replaced: what was mined before comes again.
  if (usedNonces < accountNonce) return 'wait';
  if (balanceWei >= mostCostOfTransaction(transaction)) return 'send';
  if (funding === undefined || funding.payerNonce < accountNonce) return 'fund';
  return funding.isDone ? 'spent' : 'wait';
}

/** Only as much as the transaction needs and the payer is short of. */
export function topUpFor(balanceWei: bigint, transaction: PayerTransaction): bigint {
  return mostCostOfTransaction(transaction) - balanceWei;
}
