import { Inject, Injectable, Optional } from '@nestjs/common';
import type { Hex } from 'viem';
import { isDone } from '../../platform/chain/authorization-use.js';
import type { BlockPoint } from '../../platform/chain/chain-queries.js';
import { ChainRegistry } from '../../platform/chain/chain-registry.js';
import type { ChainView } from '../../platform/chain/chain-view.js';
import type { NeededHead } from '../../platform/chain/near-head.js';
import { confirmedPayer } from '../../platform/chain/payer-account.js';
import type { Claim as QuorumClaim } from '../../platform/chain/quorum.js';
import { delay } from '../../platform/concurrency/timing.js';
import { AppConfig } from '../../platform/config/app-config.js';
import { approvalLimitsOf } from '../../platform/config/network-settings.js';
import { ChainUnavailableError } from '../../protocol/errors.js';
import type { ApprovalLimits, ConfirmPayer } from '../../protocol/evm/approval-chain.js';
import type { Sender } from '../../protocol/evm/chain-reader.js';
import { assetNameOf } from '../../protocol/payment/accepted-payment.js';
import { dataSuffixOf } from '../../protocol/payment/builder-code.js';
import { identityOf, type PaymentIdentity } from '../../protocol/payment/identity.js';
import type { Payment } from '../../protocol/payment/payment.js';
import type { Reason } from '../../protocol/reasons.js';
import { judgeOf } from '../../protocol/schemes/registry.js';
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
  Look,
  PayerMeans,
  PayerRecord,
  PayerRef,
} from '../../settlement/ledger/settlement-store.js';
import { isReopened, type SettlementView } from '../../settlement/model/settlement.js';
import { countInFlight, type InFlightCount } from './in-flight-count.js';
import { LaneSenders } from './lane-senders.js';
import { SignerRecovery } from './signer-recovery.js';

/** How a payment relates to the settlement that has its authorization key. */
export type Match =
  /** The payer signed exactly this payment, over exactly these requirements. */
  | { readonly kind: 'same' }
  /** The payer signed other terms with the same nonce. */
  | { readonly kind: 'other_terms' }
  | { readonly kind: 'refused'; readonly reason: Reason };

/** A verdict that also counts what the payer has in flight. */
export type ValidVerification = GoodVerdict & {
  readonly means: PayerMeans;
  /** What the call ended with that was found good. */
  readonly dataSuffix?: Hex;
};
export type Verification = ValidVerification | Refusal;

/** What a payment is beside what the ledger knows of its authorization. */
type Assessment =
  /** Nothing is under way or paid, and it may be claimed. */
  | { readonly kind: 'good'; readonly verification: ValidVerification }
  /** It is the payment of this settlement, which is under way or over. */
  | { readonly kind: 'same'; readonly known: SettlementView }
  /** It has the nonce of another payment that is under way, or that was sold. */
  | { readonly kind: 'taken' }
  /** It is not the payer's, or not for these requirements: so it was from the beginning. */
  | { readonly kind: 'not_signed'; readonly reason: Reason }
  /** It may not be claimed, as things stand. */
  | { readonly kind: 'refused'; readonly refusal: Refusal };

type VerifierConfig = Pick<
  AppConfig,
  'maxGasPerSettle' | 'walletFactories' | 'admission' | 'builderCode'
> &
  Parameters<typeof approvalLimitsOf>[0];

/** Refused for what is in flight, which may be counted twice; see {@link InFlightCount}. */
type Unsure = Refusal & { readonly verdict: GoodVerdict };
type Counted = Verification | Unsure;

/** Atomic units, where no setting names another: payments of nothing by accounts that own nothing cost gas. */
const LEAST_AMOUNT = 1n;

/** Settlements of one payer that may revert after a clean simulation before it has to wait. */
const REVERTS_MAX = 3;

/**
 * Pauses before a payer is refused for funds that its payments in flight need. The ledger learns of a block some
 * moments after the chain's nodes show it: until then a mined payment counts twice.
 */
const COUNTED_TWICE_MS = [100, 200, 400, 800] as const;

/** Pauses until endpoints that are a block apart say the same. */
const BLOCK_APART_MS = [100, 200, 400, 800] as const;

/**
 * Waits before a payment is called too early that the clock says is in time: many clients sign with the time of now as
 * `validAfter`, and a block of that time or a later one comes within a second or two.
 */
const NOT_YET_MS = [300, 300, 400, 500, 700, 900] as const;

/**
 * Judges payments against the chain and the operator's lists. Knows of the ledger only what it is
 * given.
 */
@Injectable()
export class PaymentVerifier {
  /** By chain, where the operator pays for the approvals of payers. */
  readonly #approvalLimits: ReadonlyMap<number, ApprovalLimits>;

  /** @param pause - waits so many milliseconds. */
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

  /** What the operator's lists say, before anything is read or computed. */
  refusalByLists({ requirements, claim }: Payment): Reason | undefined {
    const { admission } = this.config;
    const { assetsAllow, assetsDeny, payeesAllow, payeesDeny, minAmounts } = admission;
    const judge = judgeOf(claim);
    const parties = judge.partiesOf?.(claim);
    for (const { asset, payTo } of parties ?? [requirements]) {
      const name = assetNameOf({ chainId: requirements.chainId, asset });
      if (assetsDeny.has(name) || assetsAllow?.has(name) === false) return 'asset_not_allowed';
      if (payeesDeny.has(payTo) || payeesAllow?.has(payTo) === false) return 'payee_not_allowed';
    }
    // What needs no transaction costs nothing, however little it brings; what is no payment is judged by what it brings.
    const { payTo, amount } = requirements;
    if (parties !== undefined || judge.needsNoTransaction?.(amount) === true) return undefined;
    if (payTo === claim.from && !admission.allowsPaymentsToOneself) return 'payment_to_oneself';
    const asset = assetNameOf(requirements);
    return amount < (minAmounts.get(asset) ?? LEAST_AMOUNT) ? 'amount_too_small' : undefined;
  }

  /**
   * All that a settle asks of its payment. What the ledger knows of the authorization decides what is judged: a payment
   * that is under way is compared with what was signed, and no chain state counts; any other is judged whole.
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
      // The other payment is under way, or was sold: its state must not show to the presenter of this one. Else
      // the chain shows whether the nonce is used.
      if (isUnderWay(known) || known.sale.state === 'sold') return { kind: 'taken' };
    }
    const verification = await this.verify(payment, look, lookAgain);
    return verification.isValid
      ? { kind: 'good', verification: verification }
      : { kind: 'refused', refusal: verification };
  }

  /**
   * The whole verification: signature, terms, time, chain state, and what the payer has in flight.
   *
   * @param record - may still be on its way: the chain is asked meanwhile.
   * @param lookAgain - reads the record again. Called a few times before a payer is refused for what it
   *   has in flight alone.
   * @throws ChainUnavailableError when the chain cannot be asked, or only by a node that lags.
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
   * @throws ChainUnavailableError where they do not both say so.
   */
  async #confirmDone(payment: Payment, verdict: GoodVerdict): Promise<void> {
    const { chainId } = payment.requirements;
    if (!(await this.#isDoneAt(payment, verdict, 'latest'))) {
      throw new ChainUnavailableError(chainId, 'eth_call (confirmation)');
    }
  }

  /**
   * Whether what a verification has found done is so in a final block too: no reorganization undoes it.
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
      what: 'the state of an action',
      read: async (view) => {
        const value = await isDone(view, done, at);
        return { value, key: String(value) };
      },
    });
    return confirmed === true;
  }

  /**
   * Whether a transaction would bring less of a token than the least amount of as many payments: a good row does not pay
   * for the gas of many small ones.
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
   * The payment with what the chain alone can say of it: see `Judge.completed`. Two endpoints say so, where two are there:
   * what one of them made up would never come true. They may be a block apart, and are asked again.
   *
   * @throws ChainUnavailableError
   */
  async completed(payment: Payment): Promise<Payment | Reason> {
    const { claim, requirements } = payment;
    const judge = judgeOf(claim);
    if (judge.completed === undefined) return payment;
    const chain = this.chains.get(requirements.chainId);
    if (chain === undefined) {
      throw new ChainUnavailableError(requirements.chainId, 'the claimed total');
    }
    const read = async (view: ChainView): Promise<QuorumClaim<Payment | Reason>> => {
      const completed = (await judge.completed?.(claim, view)) ?? claim;
      const value = typeof completed === 'string' ? completed : { ...payment, claim: completed };
      const key = typeof value === 'string' ? value : (identityOf(value)?.authorizationId ?? '');
      return { value, key, subject: key };
    };
    const question = { what: 'the claimed total', read };
    for (const ms of BLOCK_APART_MS) {
      const agreed = await unlessUnavailable(chain.quorumRead(question));
      if (agreed !== undefined) return agreed;
      await this.pause(ms);
    }
    return chain.quorumRead(question);
  }

  /** Judges again until the newest block is late enough, or as long as that is worth waiting for. */
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
   * Whether a payment is the one a settlement was made for. A signature that is byte for byte the
   * accepted one needs no chain; any other is checked afresh.
   *
   * @throws ChainUnavailableError when the chain has to be asked and cannot be.
   */
  async match(payment: Payment, identity: PaymentIdentity, known: SettlementView): Promise<Match> {
    const chain = this.chains.get(payment.requirements.chainId);
    if (identity.signedTag === known.signedTag && chain !== undefined) {
      const { claim } = payment;
      const reason = judgeOf(claim).termsMismatch(payment, claim, chain);
      return reason === undefined ? { kind: 'same' } : { kind: 'refused', reason };
    }
    const verdict = await this.verifyTerms(payment);
    if (!verdict.isValid) return { kind: 'refused', reason: verdict.reason };
    return { kind: identity.termsTag === known.termsTag ? 'same' : 'other_terms' };
  }

  /**
   * Whether the payer signed this payment over these requirements, whatever became of it since.
   *
   * @throws ChainUnavailableError when the chain cannot be asked.
   */
  verifyTerms(payment: Payment): Promise<Verdict> {
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
    verify: (view: ChainView) => Promise<T>,
  ): Promise<T> {
    const chain = this.chains.get(chainId);
    if (chain === undefined) throw new ChainUnavailableError(chainId, 'verification');
    const { value } = await chain.verifyNearHead(verify, neededHead);
    return value;
  }

  /** The account that would send this settlement. Where any lane may, it is not known which takes it. */
  async #senderOf({ requirements, claim }: Payment): Promise<Sender | undefined> {
    const { senders } = this;
    const { chainId } = requirements;
    const sole = judgeOf(claim).soleSenderOf?.(claim);
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

/** Whose record bears on a payment; `undefined` where it names no payer. */
export function payerRefOf({
  requirements: { chainId, asset },
  claim,
}: Payment): PayerRef | undefined {
  const { from: payer } = claim;
  return payer && { chainId, asset, payer, blamed: judgeOf(claim).blamedFor?.(claim) ?? payer };
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
  return judgeOf(claim).verify(payment, claim, context, scope);
}

function neededHead(verdict: Verdict): NeededHead {
  if (verdict.isValid) return 'newest';
  return verdict.isFromChainState ? 'near' : 'any';
}
