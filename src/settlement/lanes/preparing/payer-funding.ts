import type { PayerTransaction } from '../../../protocol/evm/payer-transaction.js';
import type { HeldLane, TakenSettlement } from '../../ledger/lane-store.js';
import { topUpFor } from '../../model/preparation-step.js';
import { ReopenLane } from '../lane-errors.js';
import type { LaneHeads } from '../ports.js';
import { type Broadcaster, FUND_GAS } from '../sending/broadcaster.js';
import type { LaneReadiness } from '../sending/lane-readiness.js';
import type { DailyBudgets } from '../sending/send-results.js';
import type { LaneState } from '../state/lane-state.js';

export interface PayerFundingOptions {
  readonly heads: LaneHeads;
  readonly state: LaneState;
  readonly broadcaster: Broadcaster;
  readonly readiness: LaneReadiness;
  readonly budgets: Pick<DailyBudgets, 'topUpWei'>;
}

/**
 * - `waits`: in flight; the next block shows whether the payer still lacks coins.
 * - `held`: the lane cannot send now, for a reason unrelated to the payer.
 * - `no_gas`: the lane lacks the money now. `budget`: the daily budget is spent.
 * - `gone`: no requester waits for the settlement any more. `too_much`: more than the limit for one payer.
 */
type FundingResult = 'waits' | 'held' | 'no_gas' | 'gone' | 'budget' | 'too_much';

/** Sends payers the native coins that their own transactions need. */
export class PayerFunding {
  constructor(private readonly options: PayerFundingOptions) {}

  /** Sends the payer's coins for gas in the turn of the lane. @throws ReopenLane, LeaseLostError, RedisUnavailableError. */
  async fund(
    held: HeldLane,
    { id, payment }: TakenSettlement,
    transaction: PayerTransaction,
    balanceWei: bigint,
  ): Promise<FundingResult> {
    const { state, heads, readiness, broadcaster, budgets } = this.options;
    const valueWei = topUpFor(balanceWei, transaction);
    // Checked before the claim; checked again because the ledger may be wrong, but the settings hold.
    if (valueWei > (budgets.topUpWei ?? 0n)) return 'too_much';
    const head = heads.current;
    if (head === undefined || !state.hasRoom) return 'held';
    if (!(await readiness.isReady())) return state.condition === 'no_gas' ? 'no_gas' : 'held';
    // The lane continues with payments it can afford; only this payer waits.
    if (!readiness.canSpend(readiness.costOf(FUND_GAS) + valueWei)) {
      state.fellShort();
      return 'no_gas';
    }
    const payer = payment.authorization.from;
    const funding = { payer, payerNonce: transaction.accountNonce, valueWei, settlementId: id };
    const funded = await broadcaster.fund(held, state.next, funding, head);
    switch (funded.kind) {
      case 'sent':
        state.allocated(funded.tracked);
        state.changed.notify();
        heads.look();
        return 'waits';
      case 'nonce':
        throw new ReopenLane('the ledger has another next nonce for the lane');
      case 'gone':
      case 'budget':
        return funded.kind;
      case 'price_cap':
        readiness.rest('gas_price_cap');
        return 'held';
      case 'no_signature':
        readiness.rest('signer_unavailable');
        return 'held';
      case 'paused':
        return 'held';
      case 'funded':
        return 'waits';
    }
  }
}
