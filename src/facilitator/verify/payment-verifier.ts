import { Inject, Injectable, Optional } from '@nestjs/common';
import type { Hex } from 'viem';
import { isDone } from '../../platform/chain/authorization-use.js';
import type { BlockPoint } from '../../platform/chain/chain-queries.js';
import { ChainRegistry } from '../../platform/chain/chain-registry.js';
import type { ChainView } from '../../platform/chain/chain-view.js';
import type { NeededHead } from '../../platform/chain/near-head.js';
import { confirmedPayer } from '../../platform/chain/payer-account.js';
import { type Claim as QuorumClaim, subjectAt } from '../../platform/chain/quorum.js';
import { delay } from '../../platform/concurrency/timing.js';
import { AppConfig } from '../../platform/config/app-config.js';
import { approvalLimitsOf } from '../../platform/config/network-settings.js';
import { ChainUnavailableError } from '../../protocol/errors.js';
import type { ApprovalLimits, ConfirmPayer } from '../../protocol/evm/approval-chain.js';
import { decodeUint } from '../../protocol/evm/call-results.js';
import { balanceOfCall, type Call } from '../../protocol/evm/calls.js';
import type { Sender } from '../../protocol/evm/chain-reader.js';
import { assetNameOf } from '../../protocol/payment/accepted-payment.js';
import { dataSuffixOf } from '../../protocol/payment/builder-code.js';
import { identityOf, type PaymentIdentity } from '../../protocol/payment/identity.js';
import type { Payment } from '../../protocol/payment/payment.js';
import type { Reason } from '../../protocol/reasons.js';
import { actionOf, rulesOf } from '../../protocol/schemes/registry.js';
import {
  type GoodVerdict,
  type Refusal,
  refuse,
  refuseByState,
  type Verdict,
  type VerifyContext,
  type VerifyScope,
} from '../../protocol/schemes/verdict.js';
import type {
  InFlight,
  Look,
  PayerMeans,
  PayerRecord,
  PayerRef,
} from '../../settlement/ledger/settlement-store.js';
import { isReopened, type SettlementView } from '../../settlement/model/settlement.js';
import { LaneSenders } from './lane-senders.js';
import { SignerRecovery } from './signer-recovery.js';

/** The relation of a payment to the settlement that has its authorization. */
export type Match =
  /** The payer signed exactly this payment, over exactly these requirements. */
  | { readonly kind: 'same' }
  /** The payer signed other terms with the same nonce. */
  | { readonly kind: 'other_terms' }
  | { readonly kind: 'refused'; readonly reason: Reason };

/** A verdict that also counts the payer's payments in flight. */
export type ValidVerification = GoodVerdict & {
  readonly means: PayerMeans;
  /** The end of the verified calldata. */
  readonly dataSuffix?: Hex;
};
export type Verification = ValidVerification | Refusal;

/** The result of a check of a payment, including the ledger's facts about its authorization. */
type Assessment =
  /** No settlement is in progress or paid, and the payment may be claimed. */
  | { readonly kind: 'good'; readonly verification: ValidVerification }
  /** It is the payment of this settlement, which is in progress or over. */
  | { readonly kind: 'same'; readonly known: SettlementView }
  /** It has the nonce of another payment that is in progress or was sold. */
  | { readonly kind: 'taken' }
  /** The payer never signed it, or never for these requirements. */
  | { readonly kind: 'not_signed'; readonly reason: Reason }
  /** It may not be claimed now. */
  | { readonly kind: 'refused'; readonly refusal: Refusal };

type VerifierConfig = Pick<
  AppConfig,
  'maxGasPerSettle' | 'walletFactories' | 'admission' | 'builderCode'
> &
  Parameters<typeof approvalLimitsOf>[0];

/** Refused because of payments in flight, which may be counted twice; see {@link InFlightCount}. */
type Unsure = Refusal & { readonly verdict: GoodVerdict };
type Counted = Verification | Unsure;

/** Atomic units, if no setting names another minimum: payments of zero by accounts that own nothing cost gas. */
const LEAST_AMOUNT = 1n;

/** Settlements of one payer that may revert after a clean simulation before it has to wait. */
const REVERTS_MAX = 3;

/**
 * Pauses before a payer is refused for funds that its payments in flight need. The ledger learns of a block some
 * moments after the chain's nodes show it: until then a mined payment counts twice.
 */
const COUNTED_TWICE_MS = [100, 200, 400, 800] as const;

/** Pauses until endpoints that are a block apart give the same answer. */
const BLOCK_APART_MS = [100, 200, 400, 800] as const;

/**
 * Pauses before a payment counts as too early although the clock says it is in time. Many clients sign with the present
 * time as `validAfter`, and a block of that time follows within a second or two.
 */
const NOT_YET_MS = [300, 300, 400, 500, 700, 900] as const;

/**
 * Checks payments against the chain and the operator's lists. It reads no ledger and gets the ledger's facts as
 * arguments.
 */
@Injectable()
export class PaymentVerifier {
  /** By chain, where the operator sponsors approvals. */
  readonly #approvalLimits: ReadonlyMap<number, ApprovalLimits>;

  /** @param pause - waits this many milliseconds. */
  constructor(
    @Inject(ChainRegistry) private readonly chains: Pick<ChainRegistry, 'get'>,
    @Inject(SignerRecovery) private readonly recovery: Pick<SignerRecovery, 'recoverSigner'>,
    @Inject(LaneSenders)
    private readonly senders: Pick<LaneSenders, 'isSuspended' | 'senderFor' | 'areKnown'>,
    @Inject(AppConfig) private readonly config: VerifierConfig,
    @Optional() private readonly pause: (ms: number) => Promise<void> = delay,
  ) {
    this.#approvalLimits = approvalLimitsOf(config);
  }

  /** The refusal by the operator's lists, before anything is read or computed. */
  refusalByLists({ requirements, claim }: Payment): Reason | undefined {
    const { admission } = this.config;
    const { assetsAllow, assetsDeny, payeesAllow, payeesDeny, minAmounts } = admission;
    const rules = rulesOf(claim);
    const parties = rules.partiesOf?.(claim);
    for (const { asset, payTo } of parties ?? [requirements]) {
      const name = assetNameOf({ chainId: requirements.chainId, asset });
      if (assetsDeny.has(name) || assetsAllow?.has(name) === false) return 'asset_not_allowed';
      if (payeesDeny.has(payTo) || payeesAllow?.has(payTo) === false) return 'payee_not_allowed';
    }
    // A payment without a transaction costs no gas, so it has no minimum; nor has a request that is not a payment.
    const { payTo, amount } = requirements;
    if (parties !== undefined || rules.needsNoTransaction?.(amount) === true) return undefined;
    if (payTo === claim.from && !admission.allowsPaymentsToOneself) return 'payment_to_oneself';
    const asset = assetNameOf(requirements);
    return amount < (minAmounts.get(asset) ?? LEAST_AMOUNT) ? 'amount_too_small' : undefined;
  }

  /**
   * All checks of a settle. The ledger's facts about the authorization decide the scope: a payment in progress is
   * compared with what was signed, without chain state; any other is verified completely.
   *
   * @param lookAgain - see {@link verify}.
   * @throws ChainUnavailableError
   */
  async assess(
    payment: Payment,
    identity: PaymentIdentity,
    look: Look,
    lookAgain: () => Promise<PayerRecord>,
  ): Promise<Assessment> {
    const { known } = look;
    if (known !== undefined && !isReopened(known)) {
      const match = await this.match(payment, identity, known);
      if (match.kind === 'same') return { kind: 'same', known };
      if (match.kind === 'refused') return { kind: 'not_signed', reason: match.reason };
      // The other payment is in progress or was sold, and its state must not show to the presenter of this one.
      // Otherwise the chain shows whether the nonce is used, as it does where an action without a sale is done.
      const isDone = known.isPaid && rulesOf(payment.claim).isRepeatable === true;
      const isTaken = isUnderWay(known) || known.sale.state === 'sold';
      if (isTaken && !isDone) return { kind: 'taken' };
    }
    const verification = await this.verify(payment, look, lookAgain);
    return verification.isValid
      ? { kind: 'good', verification: verification }
      : { kind: 'refused', refusal: verification };
  }

  /**
   * The whole verification: signature, terms, time, chain state and the payer's payments in flight.
   *
   * @param record - may still be loading: the chain is asked meanwhile.
   * @param lookAgain - reads the record again. Called a few times before a payer is refused only because of payments in
   *   flight.
   * @throws ChainUnavailableError when no node answers, or only a node that lags.
   */
  async verify(
    payment: Payment,
    record: PayerRecord | Promise<PayerRecord>,
    lookAgain: () => Promise<PayerRecord> = () => Promise.resolve(record),
  ): Promise<Verification> {
    const sender = await this.#senderOf(payment);
    if (this.senders.isSuspended(assetNameOf(payment.requirements))) {
      return refuse('asset_suspended');
    }
    const dataSuffix = dataSuffixOf(this.config.builderCode, payment.builderCodes);
    const look = (): Promise<Counted> =>
      this.#throughViews<Counted>(payment, async (view) => {
        const context = { ...this.#context(view, sender), dataSuffix };
        const verdict = await verify(payment, context, 'full');
        if (!verdict.isValid) return verdict;
        const { inFlight } = await record;
        return counted(verdict, await countInFlight(view, payment, inFlight, verdict));
      });
    const first = await this.#onceInTime(look);
    const verification = isUnsure(first)
      ? await this.#countAgain(payment, first, lookAgain)
      : first;
    if (!verification.isValid) return verification;
    if ((await record).recentReverts >= REVERTS_MAX) return refuse('payer_suspended');
    if (verification.isDone === true) await this.#confirmDone(payment, verification);
    else if (this.#bringsTooLittle(payment, verification)) return refuse('amount_too_small');
    return { ...verification, ...(dataSuffix !== undefined && { dataSuffix }) };
  }

  /**
   * Two endpoints must agree, if there are two, that nothing is left to do.
   *
   * @throws ChainUnavailableError where the two endpoints do not agree.
   */
  async #confirmDone(payment: Payment, verdict: GoodVerdict): Promise<void> {
    const { chainId } = payment.requirements;
    if (!(await this.#isDoneAt(payment, verdict, 'latest'))) {
      throw new ChainUnavailableError(chainId, 'eth_call (confirmation)');
    }
  }

  /**
   * Whether an action that verification found done is done in a final block too, so that no reorganization undoes it.
   *
   * @throws ChainUnavailableError
   */
  async isFinallyDone(payment: Payment, verdict: GoodVerdict): Promise<boolean> {
    const chain = this.chains.get(payment.requirements.chainId);
    const final = await chain?.currentFinalizedBlock();
    if (final === undefined) return false;
    return this.#isDoneAt(payment, verdict, { blockHash: final.hash });
  }

  /** Two endpoints must agree, if there are two. */
  async #isDoneAt(
    { requirements }: Payment,
    { authorization }: GoodVerdict,
    at: BlockPoint,
  ): Promise<boolean> {
    const { chainId, asset, payTo, amount } = requirements;
    const unnamed = { tokenName: undefined, tokenVersion: undefined };
    const done = { chainId, asset, payTo, amount, authorization, payerHasCode: false, ...unnamed };
    const confirmed = await this.chains.get(chainId)?.quorumRead({
      what: 'state of an action',
      read: async (view) => {
        const value = await isDone(view, done, at);
        const key = String(value);
        return { value, key, subject: subjectAt(at, key) };
      },
    });
    return confirmed === true;
  }

  /**
   * Whether a transaction would bring less of a token than the minimum amount times its number of payments: a large row
   * must not pay for the gas of many small ones.
   */
  #bringsTooLittle({ requirements: { chainId } }: Payment, { brings }: GoodVerdict): boolean {
    if (brings === undefined) return false;
    const { minAmounts } = this.config.admission;
    return [...brings].some(([asset, amounts]) => {
      const least = minAmounts.get(assetNameOf({ chainId, asset })) ?? LEAST_AMOUNT;
      const sum = amounts.reduce((all, amount) => all + amount, 0n);
      return sum < least * BigInt(amounts.length);
    });
  }

  /**
   * The payment with the part that only the chain knows: see `ClaimRules.completed`. Two endpoints must agree, if there
   * are two, because a made-up value would never come true. They may be a block apart, so they are asked again.
   *
   * @throws ChainUnavailableError
   */
  async completed(payment: Payment): Promise<Payment | Reason> {
    const { claim, requirements } = payment;
    const rules = rulesOf(claim);
    if (rules.completed === undefined) return payment;
    const chain = this.chains.get(requirements.chainId);
    if (chain === undefined) {
      throw new ChainUnavailableError(requirements.chainId, 'claimed total');
    }
    const read = async (view: ChainView): Promise<QuorumClaim<Payment | Reason>> => {
      const completed = (await rules.completed?.(claim, view)) ?? claim;
      const value = typeof completed === 'string' ? completed : { ...payment, claim: completed };
      const key = typeof value === 'string' ? value : (identityOf(value)?.authorizationId ?? '');
      return { value, key, subject: key };
    };
    const question = { what: 'claimed total', read };
    for (const ms of BLOCK_APART_MS) {
      const agreed = await unlessUnavailable(chain.quorumRead(question));
      if (agreed !== undefined) return agreed;
      await this.pause(ms);
    }
    return chain.quorumRead(question);
  }

  /** Verifies again until the newest block is late enough, or the wait is no longer worthwhile. */
  async #onceInTime(look: () => Promise<Counted>): Promise<Counted> {
    let verified = await look();
    for (const ms of NOT_YET_MS) {
      if (verified.isValid || verified.validFrom === undefined) return verified;
      await this.pause(ms);
      verified = await look();
    }
    return verified;
  }

  async #countAgain(
    payment: Payment,
    { reason, verdict }: Unsure,
    lookAgain: () => Promise<PayerRecord>,
  ): Promise<Verification> {
    for (const ms of COUNTED_TWICE_MS) {
      await this.pause(ms);
      const { inFlight } = await lookAgain();
      const again = await this.#throughViews<Counted>(payment, async (view) =>
        counted(verdict, await countInFlight(view, payment, inFlight, verdict)),
      );
      if (!isUnsure(again)) return again;
    }
    return refuseByState(reason);
  }

  /**
   * Whether a settlement was made for this payment. A signature identical to the accepted one needs no chain; any other
   * is verified.
   *
   * @throws ChainUnavailableError when the chain must be asked and does not answer.
   */
  async match(payment: Payment, identity: PaymentIdentity, known: SettlementView): Promise<Match> {
    const chain = this.chains.get(payment.requirements.chainId);
    if (identity.signedTag === known.signedTag && chain !== undefined) {
      const { claim } = payment;
      const reason = rulesOf(claim).termsMismatch(payment, claim, chain);
      return reason === undefined ? { kind: 'same' } : { kind: 'refused', reason };
    }
    const verdict = await this.verifyTerms(payment);
    if (!verdict.isValid) return { kind: 'refused', reason: verdict.reason };
    return { kind: identity.termsTag === known.termsTag ? 'same' : 'other_terms' };
  }

  /**
   * Whether the payer signed this payment for these requirements, whatever its outcome.
   *
   * @throws ChainUnavailableError when the chain does not answer.
   */
  verifyTerms(payment: Payment): Promise<Verdict> {
    return this.#throughViews(payment, (view) =>
      verify(payment, this.#context(view, undefined), 'terms'),
    );
  }

  /**
   * A refusal counts only from a node that does not lag, and an approval only from a node at the newest known block.
   */
  async #throughViews<T extends Verdict>(
    { requirements: { chainId } }: Payment,
    verify: (view: ChainView) => Promise<T>,
  ): Promise<T> {
    const chain = this.chains.get(chainId);
    if (chain === undefined) throw new ChainUnavailableError(chainId, 'verification');
    const { value } = await chain.verifyNearHead(verify, neededHead);
    return value;
  }

  /** The account that would send this settlement. If any lane may send it, the account is unknown. */
  async #senderOf({ requirements, claim }: Payment): Promise<Sender | undefined> {
    const { senders } = this;
    const { chainId } = requirements;
    const sole = rulesOf(claim).soleSenderOf?.(claim);
    const sender = await senders.senderFor({
      chainId,
      spread: BigInt(claim.nonce ?? 0),
      sole,
    });
    if (sole !== undefined && sender === undefined && !senders.areKnown(chainId)) {
      throw new ChainUnavailableError(chainId, 'settlement lanes');
    }
    return sender;
  }

  #context(view: ChainView, sender: Sender | undefined): VerifyContext {
    const approvals = this.#approvalsOn(view);
    return {
      sender,
      ...(approvals && { approvals }),
      chain: view,
      recoverSigner: this.recovery.recoverSigner,
      now: Math.floor(Date.now() / 1000),
      maxGas: this.config.maxGasPerSettle,
      walletFactories: this.config.walletFactories,
    };
  }

  /** `undefined` where this facilitator sponsors no approvals. */
  #approvalsOn(view: ChainView): VerifyContext['approvals'] {
    const { chainId } = view;
    const chain = this.chains.get(chainId);
    const limits = this.#approvalLimits.get(chainId);
    if (chain === undefined || limits === undefined) return undefined;
    const confirm: ConfirmPayer = (payer, hash) => confirmedPayer(chain, payer, hash);
    return { chain: view, limits, confirm };
  }
}

/** The account whose record affects a payment; `undefined` where the payment names no payer. */
export function payerRefOf({
  requirements: { chainId, asset },
  claim,
}: Payment): PayerRef | undefined {
  const { from: payer } = claim;
  return payer && { chainId, asset, payer, blamed: rulesOf(claim).blamedFor?.(claim) ?? [payer] };
}

async function unlessUnavailable<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof ChainUnavailableError) return undefined;
    throw error;
  }
}

function isUnderWay({ state }: SettlementView): boolean {
  return state === 'queued' || state === 'broadcast' || state === 'included';
}

function counted(verdict: GoodVerdict, count: InFlightCount): Counted {
  if (count.kind === 'enough') return { ...verdict, means: count.means };
  return count.kind === 'short' ? count.refusal : { ...count.refusal, verdict };
}

function isUnsure(verification: Counted): verification is Unsure {
  return 'verdict' in verification;
}

function verify(payment: Payment, context: VerifyContext, scope: VerifyScope): Promise<Verdict> {
  const { claim } = payment;
  return rulesOf(claim).verify(payment, claim, context, scope);
}

function neededHead(verdict: Verdict): NeededHead {
  if (verdict.isValid) return 'newest';
  return verdict.isFromChainState ? 'near' : 'any';
}

// ---------------------------------------------------------------- payments in flight

type InFlightCount =
  | { readonly kind: 'enough'; readonly means: PayerMeans }
  /**
   * - `unsure`: the funds would suffice without the payments in flight. A payment that a block has taken from the
   *   balance, and that the ledger has not released yet, is counted twice.
   */
  | { readonly kind: 'short' | 'unsure'; readonly refusal: Refusal };

const NOTHING_NEEDED: PayerMeans = { balance: undefined, allowance: undefined };

/** Amounts of the payer's payments in flight count against its balance and its allowance. */
async function countInFlight(
  view: ChainView,
  { requirements: { asset, amount } }: Payment,
  { balanceNeeded, allowanceNeeded, hasSponsoredPermit }: InFlight,
  { authorization }: GoodVerdict,
): Promise<InFlightCount> {
  const takesNothing = rulesOf(authorization).needsNoTransaction?.(amount) === true;
  if (takesNothing) return { kind: 'enough', means: NOTHING_NEEDED };
  const action = actionOf(authorization);
  const { reasons } = action;
  const kind = action.inFlightKindOf(authorization);
  if (kind === 'n' || kind === 'c') return { kind: 'enough', means: NOTHING_NEEDED };
  // Its permit has the nonce of the permit in flight, or the next one, so they must run one after the other.
  if (hasSponsoredPermit && kind === 's') {
    return { kind: 'short', refusal: refuseByState(reasons.insufficientAllowance) };
  }
  const needed = allowanceNeeded > 0n ? action.allowanceCall?.(authorization, asset) : undefined;
  const [balance, allowance] = await Promise.all([
    balanceNeeded > 0n ? readUint(view, balanceOfCall(asset, authorization.from)) : undefined,
    needed && readUint(view, needed),
  ]);
  const limits = [
    { has: balance, inFlight: balanceNeeded, reason: reasons.insufficientBalance },
    { has: allowance, inFlight: allowanceNeeded, reason: reasons.insufficientAllowance },
  ];
  for (const { has, inFlight, reason } of limits) {
    if (has !== undefined && has < amount + inFlight) {
      return { kind: has < amount ? 'short' : 'unsure', refusal: refuseByState(reason) };
    }
  }
  return { kind: 'enough', means: { balance, allowance } };
}

async function readUint(view: ChainView, call: Call): Promise<bigint | undefined> {
  return decodeUint(await view.call(call));
}
