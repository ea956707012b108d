import {
  type AuthorizationUse,
  findAuthorizationUse,
  isAuthorizationUsed,
  refOf,
  searchAuthorizationUse,
} from '../chain/authorization-use.js';
import type { BlockHeader } from '../chain/block.js';
import type { BlockPoint, ChainView } from '../chain/chain-view.js';
import type { EvmChain } from '../chain/evm-chain.js';
import { ChainUnavailableError } from '../core/errors.js';
import { deadlineOf } from '../core/exact/authorization.js';
import { reasonOfRevert } from '../core/exact/revert-reason.js';
import { usedReasonOf } from '../core/exact/used.js';
import type { Reason } from '../core/reasons.js';
import { type AcceptedPayment, callOf } from '../core/settlement/accepted-payment.js';
import type { Ending, LaneLedger, SentBefore } from '../ledger/lane-ledger.js';
import type { Inclusion, TrackedAttempt } from './tracked-attempt.js';

/** What becomes of a settlement that its attempt did not pay. */
export type FailureVerdict =
  | { readonly kind: 'ended'; readonly ending: Ending }
  /** It is unused and can still be paid: it goes back to the queue, to be sent alone. */
  | { readonly kind: 'requeue' }
  /** It may still be paid by the attempt. */
  | { readonly kind: 'waiting' };

/** An attempt may still be mined, was mined without paying, or can never be mined. */
type AttemptFate = 'in_flight' | 'mined' | 'dead';

/** Blocks before the attempt in which the authorization may have been used without our knowing. */
const LOOK_BACK_BLOCKS = 5000n;

/**
 * Judges settlements that were not paid by the attempt that carried them, by the state of one
 * finalized block: nothing read here can be taken back by the chain.
 */
export class FailureJudge {
  constructor(
    private readonly chain: EvmChain,
    private readonly ledger: LaneLedger,
    private readonly maxGas: bigint,
  ) {}

  /**
   * @param inclusion - where the attempt was finalized; absent while it may still land.
   * @throws ChainUnavailableError when no endpoint can be asked, or only one that lags.
   */
  judge(
    id: string,
    payment: AcceptedPayment,
    tracked: TrackedAttempt,
    inclusion: Inclusion | undefined,
    finalized: BlockHeader,
  ): Promise<FailureVerdict> {
    return this.chain.withView(async (view) => {
      const at: BlockPoint = { blockHash: finalized.hash };
      const isUsed = await isAuthorizationUsed(view, refOf(payment), at);
      if (isUsed === true) {
        const { attempt } = tracked;
        const sent = {
          sinceBlock: attempt.allocatedAtBlock,
          hashes: attempt.transactions.map(({ hash }) => hash),
        };
        const fate = inclusion === undefined ? 'in_flight' : 'mined';
        return this.#judgeUsed(id, payment, sent, fate, finalized);
      }
      if (isExpired(payment, finalized.timestamp)) {
        return ended({ id, state: 'expired', isPaid: false, reason: expiryReasonOf(payment) });
      }
      if (inclusion === undefined) return { kind: 'waiting' };
      if (tracked.attempt.kind === 'batch') return { kind: 'requeue' };
      const reason = await this.#revertReason(view, payment, inclusion, at);
      return ended({
        id,
        state: 'reverted',
        isPaid: false,
        transaction: inclusion.transaction,
        blockNumber: inclusion.blockNumber,
        blockHash: inclusion.blockHash,
        reason,
      });
    });
  }

  /**
   * What becomes of a settlement whose attempts are dead, and that cannot be sent again because the
   * newest block shows it used. It waits until a final block shows that too.
   *
   * @throws ChainUnavailableError
   */
  judgeAgain(
    id: string,
    payment: AcceptedPayment,
    sent: SentBefore,
    finalized: BlockHeader,
  ): Promise<FailureVerdict> {
    return this.chain.withView(async (view) => {
      const at: BlockPoint = { blockHash: finalized.hash };
      const isUsed = await isAuthorizationUsed(view, refOf(payment), at);
      return isUsed === true
        ? this.#judgeUsed(id, payment, sent, 'dead', finalized)
        : { kind: 'waiting' };
    });
  }

  /**
   * Used, but not as its attempt should have. When somebody copied our transaction after it was sent,
   * the payee has its money by our doing; in any other case the payment was presented elsewhere.
   */
  async #judgeUsed(
    id: string,
    payment: AcceptedPayment,
    { sinceBlock, hashes }: SentBefore,
    fate: AttemptFate,
    finalized: BlockHeader,
  ): Promise<FailureVerdict> {
    const ref = refOf(payment);
    const blocks = finalized.number - sinceBlock;
    // Only a use since the broadcast decides anything; an older one is named as a courtesy.
    const use =
      (await searchAuthorizationUse(this.chain, ref, finalized.number, blocks)) ??
      (await findAuthorizationUse(this.chain, ref, sinceBlock, LOOK_BACK_BLOCKS));
    const place = use && { transaction: use.transaction, blockNumber: use.blockNumber };
    const isOurs = use !== undefined && hashes.includes(use.transaction);
    // Its receipt is yet to be seen, or nobody can say who used it.
    if (fate === 'in_flight' && (isOurs || use === undefined)) return { kind: 'waiting' };
    if (isOurs) {
      const logIndex = use.transferLog?.logIndex;
      // It was taken for dead, and is not: the node that said so was wrong.
      if (fate === 'dead' && logIndex !== undefined) {
        return ended({ id, state: 'finalized', isPaid: true, ...place, logIndex });
      }
      const reason = 'invalid_exact_evm_transfer_event_mismatch';
      return ended({ id, state: 'reverted', isPaid: false, ...place, reason });
    }
    if (use !== undefined && (await this.#isCopy(id, use, sinceBlock))) {
      const logIndex = use.transferLog?.logIndex;
      const evidence = { ...place, ...(logIndex !== undefined && { logIndex }) };
      return ended({ id, state: 'foreign', isPaid: true, ...evidence, batchSize: 1 });
    }
    return ended({
      id,
      state: 'foreign',
      isPaid: false,
      ...place,
      reason: usedReasonOf(payment.authorization),
    });
  }

  async #isCopy(id: string, use: AuthorizationUse, sentAtBlock: bigint): Promise<boolean> {
    if (use.transferLog === undefined || use.blockNumber <= sentAtBlock) return false;
    const { transaction, transferLog } = use;
    return this.ledger.credit(this.chain.chainId, transaction, transferLog.logIndex, id);
  }

  /** What the contracts say to the same call on the state that is final now. */
  async #revertReason(
    view: ChainView,
    payment: AcceptedPayment,
    inclusion: Inclusion,
    at: BlockPoint,
  ): Promise<Reason> {
    if (inclusion.isSuccess) return 'invalid_exact_evm_transfer_event_mismatch';
    const call = callOf(payment, this.chain.permit2Proxy);
    try {
      const outcome = await view.call(call, this.maxGas, at);
      const data = outcome.status === 'reverted' ? outcome.data : undefined;
      const reason = reasonOfRevert(data, payment.authorization.method);
      return reason ?? 'invalid_exact_evm_transaction_failed';
    } catch (error) {
      if (!(error instanceof ChainUnavailableError)) throw error;
      return 'invalid_exact_evm_transaction_failed';
    }
  }
}

function ended(ending: Ending): FailureVerdict {
  return { kind: 'ended', ending };
}

/** EIP-3009 wants a block time below `validBefore`, Permit2 one not above `deadline`. */
function isExpired({ authorization }: AcceptedPayment, blockTime: number): boolean {
  const deadline = deadlineOf(authorization);
  const now = BigInt(blockTime);
  return authorization.method === 'eip3009' ? deadline <= now : deadline < now;
}

function expiryReasonOf({ authorization }: AcceptedPayment): Reason {
  return authorization.method === 'eip3009'
    ? 'invalid_exact_evm_payload_authorization_valid_before'
    : 'permit2_deadline_expired';
}
