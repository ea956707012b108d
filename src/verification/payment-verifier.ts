import type { ChainRegistry } from '../chain/chain-registry.js';
import type { ChainView } from '../chain/chain-view.js';
import type { AdmissionLists } from '../config/app-config.js';
import { ChainUnavailableError } from '../core/errors.js';
import { balanceOfCall, permit2AllowanceCall } from '../core/exact/calls.js';
import { decodeUint } from '../core/exact/diagnose.js';
import { refuse, refuseByState, type RecoverSigner, type Verdict } from '../core/exact/verdict.js';
import { termsMismatch, verifyExact } from '../core/exact/verify-exact.js';
import type { Payment } from '../core/payment/payment.js';
import type { Reason } from '../core/reasons.js';
import { assetNameOf } from '../core/settlement/accepted-payment.js';
import type { PaymentIdentity } from '../core/settlement/identity.js';
import type { SettlementView } from '../core/settlement/settlement.js';
import type { InFlight } from '../ledger/in-flight.js';

/** How a payment relates to the settlement that has its authorization key. */
export type Match =
  /** The payer signed exactly this payment, over exactly these requirements. */
  | { readonly kind: 'same' }
  /** The payer signed other terms with the same nonce. */
  | { readonly kind: 'other_terms' }
  | { readonly kind: 'refused'; readonly reason: Reason };

export interface VerifierOptions {
  readonly recoverSigner: RecoverSigner;
  readonly maxGas: bigint;
  readonly admission: AdmissionLists;
}

/** Settlements of one payer that may revert after a clean simulation before it has to wait. */
const REVERTS_MAX = 3;

/**
 * Judges payments against the chain and the operator's lists. Knows of the ledger only what it is
 * given.
 */
export class PaymentVerifier {
  constructor(
    private readonly chains: ChainRegistry,
    private readonly options: VerifierOptions,
  ) {}

  /** What the operator's lists say, before anything is read or computed. */
  refusalByLists({ requirements }: Payment): Reason | undefined {
    const { assetsAllow, assetsDeny, payeesAllow, payeesDeny, minAmounts } = this.options.admission;
    const asset = assetNameOf(requirements);
    if (assetsDeny.has(asset) || assetsAllow?.has(asset) === false) return 'asset_not_allowed';
    const { payTo, amount } = requirements;
    if (payeesDeny.has(payTo) || payeesAllow?.has(payTo) === false) return 'payee_not_allowed';
    return amount < (minAmounts.get(asset) ?? 0n) ? 'amount_too_small' : undefined;
  }

  /**
   * The whole judgement: signature, terms, time, chain state, and what the payer has in flight.
   *
   * @param settlementId - whose own amount in flight does not count against it.
   * @throws ChainUnavailableError when the chain cannot be asked, or only by a node that lags.
   */
  async judge(
    payment: Payment,
    inFlight: InFlight,
    recentReverts: number,
    settlementId: string | undefined,
  ): Promise<Verdict> {
    const verdict = await this.#throughViews(payment, async (view) => {
      const alone = await verifyExact(payment, this.#context(view));
      if (!alone.isValid || settlementId === undefined) return alone;
      return (await this.#shortage(view, payment, inFlight, settlementId)) ?? alone;
    });
    return verdict.isValid && recentReverts >= REVERTS_MAX ? refuse('payer_suspended') : verdict;
  }

  /**
   * Whether a payment is the one a settlement was made for. A signature that is byte for byte the
   * accepted one needs no chain; any other is checked afresh.
   *
   * @throws ChainUnavailableError when the chain has to be asked and cannot be.
   */
  async match(payment: Payment, identity: PaymentIdentity, known: SettlementView): Promise<Match> {
    const chain = this.chains.get(payment.requirements.chainId);
    if (identity.signedTag === known.signedTag && chain !== undefined) {
      const reason = termsMismatch(payment, chain);
      return reason === undefined ? { kind: 'same' } : { kind: 'refused', reason };
    }
    const verdict = await this.judgeTerms(payment);
    if (!verdict.isValid) return { kind: 'refused', reason: verdict.reason };
    return { kind: identity.termsTag === known.termsTag ? 'same' : 'other_terms' };
  }

  /**
   * Whether the payer signed this payment over these requirements, whatever became of it since.
   *
   * @throws ChainUnavailableError when the chain cannot be asked.
   */
  judgeTerms(payment: Payment): Promise<Verdict> {
    return this.#throughViews(payment, (view) =>
      verifyExact(payment, this.#context(view), 'terms'),
    );
  }

  /** A refusal is believed only from a node that is not behind the others. */
  async #throughViews(
    { requirements: { chainId } }: Payment,
    judge: (view: ChainView) => Promise<Verdict>,
  ): Promise<Verdict> {
    const chain = this.chains.get(chainId);
    for (const view of chain?.views() ?? []) {
      try {
        const verdict = await judge(view);
        if (verdict.isValid || !verdict.isFromChainState) return verdict;
        if (!(await chain?.isBehind(view))) return verdict;
      } catch (error) {
        if (!(error instanceof ChainUnavailableError)) throw error;
      }
    }
    throw new ChainUnavailableError(chainId, 'what a payment is judged by');
  }

  #context(view: ChainView): Parameters<typeof verifyExact>[1] {
    return {
      chain: view,
      recoverSigner: this.options.recoverSigner,
      now: Math.floor(Date.now() / 1000),
      maxGas: this.options.maxGas,
    };
  }

  /** What the payer has on its way counts against its balance and its Permit2 allowance. */
  async #shortage(
    view: ChainView,
    { requirements: { asset, amount }, claim }: Payment,
    inFlight: InFlight,
    settlementId: string,
  ): Promise<Verdict | undefined> {
    const { from } = claim;
    if (from === undefined) return undefined;
    const isPermit2 = claim.method === 'permit2';
    if (isPermit2 && claim.sponsoredPermit !== undefined) {
      // Its nonce is that of the permit in flight, or counts on it: one after the other.
      if (inFlight.hasSponsoredPermitBeside(settlementId)) {
        return refuseByState('permit2_allowance_required');
      }
    }
    const leaving = inFlight.balanceNeededBeside(settlementId);
    if (leaving > 0n) {
      const balance = decodeUint(await view.call(balanceOfCall(asset, from)));
      if (balance !== undefined && balance < amount + leaving) {
        return refuseByState(
          isPermit2 ? 'permit2_insufficient_balance' : 'invalid_exact_evm_insufficient_balance',
        );
      }
    }
    const spending = inFlight.allowanceNeededBeside(settlementId);
    if (isPermit2 && claim.sponsoredPermit === undefined && spending > 0n) {
      const allowance = decodeUint(await view.call(permit2AllowanceCall(asset, from)));
      if (allowance !== undefined && allowance < amount + spending) {
        return refuseByState('permit2_allowance_required');
      }
    }
    return undefined;
  }
}
