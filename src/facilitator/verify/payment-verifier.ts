import type { Address, Hex } from 'viem';
import type { ChainRegistry } from '../../platform/chain/chain-registry.js';
import type { ChainView } from '../../platform/chain/chain-view.js';
import type { NeededHead } from '../../platform/chain/judgement.js';
import { confirmedPayer } from '../../platform/chain/payer-account.js';
import type { AdmissionLists } from '../../platform/config/admission-settings.js';
import { ChainUnavailableError } from '../../protocol/errors.js';
import type { ApprovalLimits, ConfirmPayer } from '../../protocol/evm/approval-chain.js';
import { decodeUint } from '../../protocol/evm/call-results.js';
import { balanceOfCall, type Call } from '../../protocol/evm/calls.js';
import type { Sender } from '../../protocol/evm/chain-reader.js';
import { assetNameOf } from '../../protocol/payment/accepted-payment.js';
import { dataSuffixOf } from '../../protocol/payment/builder-code.js';
import type { PaymentIdentity } from '../../protocol/payment/identity.js';
import type { Payment } from '../../protocol/payment/payment.js';
import type { Reason } from '../../protocol/reasons.js';
import { actionOf } from '../../protocol/schemes/registry.js';
import {
  type GoodVerdict,
  type RecoverSignerAsync,
  type Refusal,
  refuse,
  refuseByState,
  type Verdict,
  type VerifyContext,
  type VerifyScope,
} from '../../protocol/schemes/verdict.js';
import type { InFlight } from '../../settlement/ledger/queries/in-flight.js';
import type { PayerMeans, PayerRecord } from '../../settlement/ledger/settlement-store.js';
import type { SettlementView } from '../../settlement/model/settlement.js';
import type { LaneSenders } from './lane-senders.js';

/** How a payment relates to the settlement that has its authorization key. */
export type Match =
  /** The payer signed exactly this payment, over exactly these requirements. */
  | { readonly kind: 'same' }
  /** The payer signed other terms with the same nonce. */
  | { readonly kind: 'other_terms' }
  | { readonly kind: 'refused'; readonly reason: Reason };

/** A verdict that also counts what the payer has in flight. */
export type GoodJudgement = GoodVerdict & {
  readonly means: PayerMeans;
  /** What the call ended with that was found good. */
  readonly dataSuffix?: Hex;
};
export type Judgement = GoodJudgement | Refusal;

export interface VerifierOptions {
  readonly recoverSigner: RecoverSignerAsync;
  readonly maxGas: bigint;
  /** Contracts that may be called to make a payer's wallet. Lower case. */
  readonly walletFactories: ReadonlySet<Address>;
  readonly admission: AdmissionLists;
  readonly senders: LaneSenders;
  /** By chain, where the operator pays for the approvals of payers. */
  readonly approvalLimits?: ReadonlyMap<number, ApprovalLimits>;
  /** By which transactions are credited to this service. */
  readonly builderCode?: string | undefined;
}

const NOTHING_NEEDED: PayerMeans = { balance: undefined, allowance: undefined };

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
  refusalByLists({ requirements, claim }: Payment): Reason | undefined {
    const { assetsAllow, assetsDeny, payeesAllow, payeesDeny, minAmounts } = this.options.admission;
    const asset = assetNameOf(requirements);
    if (assetsDeny.has(asset) || assetsAllow?.has(asset) === false) return 'asset_not_allowed';
    const { payTo, amount } = requirements;
    if (payeesDeny.has(payTo) || payeesAllow?.has(payTo) === false) return 'payee_not_allowed';
    // What needs no transaction costs nothing, however little it brings.
    if (actionOf(claim).needsNoTransaction(amount)) return undefined;
    return amount < (minAmounts.get(asset) ?? 0n) ? 'amount_too_small' : undefined;
  }

  /**
   * The whole judgement: signature, terms, time, chain state, and what the payer has in flight.
   *
   * @param record - may still be on its way: the chain is asked meanwhile.
   * @throws ChainUnavailableError when the chain cannot be asked, or only by a node that lags.
   */
  async judge(payment: Payment, record: PayerRecord | Promise<PayerRecord>): Promise<Judgement> {
    const sender = await this.#senderOf(payment);
    if (this.options.senders.isSuspended(assetNameOf(payment.requirements))) {
      return refuse('asset_suspended');
    }
    const judgement = await this.#throughViews<Judgement>(payment, async (view) => {
      const dataSuffix = dataSuffixOf(this.options.builderCode, payment.builderCodes);
      const context = { ...this.#context(view, sender), dataSuffix };
      const verdict = await verify(payment, context, 'full');
      if (!verdict.isValid) return verdict;
      const good = await this.#countInFlight(view, payment, (await record).inFlight, verdict);
      return good.isValid && dataSuffix !== undefined ? { ...good, dataSuffix } : good;
    });
    return judgement.isValid && (await record).recentReverts >= REVERTS_MAX
      ? refuse('payer_suspended')
      : judgement;
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
      const { claim } = payment;
      const reason = actionOf(claim).termsMismatch(payment, claim, chain);
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
      verify(payment, this.#context(view, undefined), 'terms'),
    );
  }

  /**
   * A refusal is believed only from a node that is not behind the others, and a yes only from one that
   * is at the newest block any of them has shown.
   */
  async #throughViews<T extends Verdict>(
    { requirements: { chainId } }: Payment,
    judge: (view: ChainView) => Promise<T>,
  ): Promise<T> {
    const chain = this.chains.get(chainId);
    if (chain === undefined)
      throw new ChainUnavailableError(chainId, 'what a payment is judged by');
    const { value } = await chain.judge(judge, neededHead);
    return value;
  }

  /** The account that would send this settlement. Where any lane may, it is not known which takes it. */
  async #senderOf({ requirements, claim }: Payment): Promise<Sender | undefined> {
    const { senders } = this.options;
    const { chainId } = requirements;
    const sole = actionOf(claim).soleSenderOf(claim);
    const sender = await senders.senderFor(chainId, BigInt(claim.nonce ?? 0), sole);
    if (sole !== undefined && sender === undefined && !senders.areKnown(chainId)) {
      throw new ChainUnavailableError(chainId, 'which accounts are ours');
    }
    return sender;
  }

  #context(view: ChainView, sender: Sender | undefined): VerifyContext {
    const approvals = this.#approvalsOn(view);
    return {
      sender,
      ...(approvals && { approvals }),
      chain: view,
      recoverSigner: this.options.recoverSigner,
      now: Math.floor(Date.now() / 1000),
      maxGas: this.options.maxGas,
      walletFactories: this.options.walletFactories,
    };
  }

  /** `undefined` where nobody's approvals are paid for. */
  #approvalsOn(view: ChainView): VerifyContext['approvals'] {
    const { chainId } = view;
    const chain = this.chains.get(chainId);
    const limits = this.options.approvalLimits?.get(chainId);
    if (chain === undefined || limits === undefined) return undefined;
    const confirm: ConfirmPayer = (payer, hash) => confirmedPayer(chain, payer, hash);
    return { chain: view, limits, confirm };
  }

  /** What the payer has on its way counts against its balance and against what it approved. */
  async #countInFlight(
    view: ChainView,
    { requirements: { asset, amount } }: Payment,
    { balanceNeeded, allowanceNeeded, hasSponsoredPermit }: InFlight,
    verdict: GoodVerdict,
  ): Promise<Judgement> {
    const { authorization } = verdict;
    const action = actionOf(authorization);
    const { reasons } = action;
    if (action.needsNoTransaction(amount)) return { ...verdict, means: NOTHING_NEEDED };
    // Its nonce is that of the permit in flight, or counts on it: one after the other.
    if (hasSponsoredPermit && action.inFlightKindOf(authorization) === 's') {
      return refuseByState(reasons.insufficientAllowance);
    }
    const needed = allowanceNeeded > 0n ? action.allowanceCall(authorization, asset) : undefined;
    const [balance, allowance] = await Promise.all([
      balanceNeeded > 0n ? readUint(view, balanceOfCall(asset, authorization.from)) : undefined,
      needed && readUint(view, needed),
    ]);
    if (balance !== undefined && balance < amount + balanceNeeded) {
      return refuseByState(reasons.insufficientBalance);
    }
    if (allowance !== undefined && allowance < amount + allowanceNeeded) {
      return refuseByState(reasons.insufficientAllowance);
    }
    return { ...verdict, means: { balance, allowance } };
  }
}

function verify(payment: Payment, context: VerifyContext, scope: VerifyScope): Promise<Verdict> {
  const { claim } = payment;
  return actionOf(claim).verify(payment, claim, context, scope);
}

function neededHead(verdict: Verdict): NeededHead {
  if (verdict.isValid) return 'newest';
  return verdict.isFromChainState ? 'near' : 'any';
}

async function readUint(view: ChainView, call: Call): Promise<bigint | undefined> {
  return decodeUint(await view.call(call));
}
