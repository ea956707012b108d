import { Inject, Injectable } from '@nestjs/common';
import { ChainRegistry } from '../../platform/chain/chain-registry.js';
import type { EvmChain } from '../../platform/chain/evm-chain.js';
import { delay, withTimeout } from '../../platform/concurrency/timing.js';
import { AppConfig } from '../../platform/config/app-config.js';
import { ChainUnavailableError, RedisUnavailableError } from '../../protocol/errors.js';
import { identityOf, type PaymentIdentity } from '../../protocol/payment/identity.js';
import type { Payment } from '../../protocol/payment/payment.js';
import type { Reason } from '../../protocol/reasons.js';
import { actionOf } from '../../protocol/schemes/registry.js';
import type { Binding } from '../../settlement/ledger/binding.js';
import { SETTLEMENT_STORE } from '../../settlement/ledger/ledger.module.js';
import { ProcessRegistry } from '../../settlement/ledger/process-registry.js';
import {
  BLANK_RECORD,
  type ClaimRef,
  type Look,
  type SettlementStore,
} from '../../settlement/ledger/settlement-store.js';
import {
  type Finality,
  isFailure,
  isReopened,
  isSoldToKey,
  type SettlementView,
} from '../../settlement/model/settlement.js';
import { ArchivedPayments } from '../status/archived-payments.js';
import { payerRefOf, PaymentVerifier } from '../verify/payment-verifier.js';
import { ActionDetailsReader } from './action-details.js';
import { Claiming } from './claiming.js';
import { DeferredSteps } from './deferred-steps.js';
import { boundPaymentOf, KEY_REFUSALS, KeyBinding } from './key-binding.js';
import { PastAnswers } from './past-answers.js';
import { type SettleAnswer, SettleAnswers } from './settle-answer.js';
import type {
  LostClaimRef,
  NamedContext,
  Round,
  SettleContext,
  SettleRequest,
} from './settle-context.js';

/** The ledger's facts about a payment and about its idempotency key. */
interface Known {
  readonly look: Look;
  readonly binding: Binding | undefined;
}

/** How often a request is processed again when another requester moved the same settlement. */
const ROUNDS_MAX = 5;

/** Interval of looks at claims that a payout waits for: less than a block takes. */
const CLAIMS_AGAIN_MS = 200;
/** How long a payout waits for claims of its receiver. The next payout pays a claim that this one misses. */
const CLAIMS_WAIT_MS = 2000;

/** Interval of looks whether the block of another sender is final. */
const FINAL_AGAIN_MS = 400;
const NOT_FINAL_YET =
  'Another sender has done this, in a block that is not final yet. Send the same request again.';

/** Settles a payment once for any number of requests, and gives each of them the true answer. */
@Injectable()
export class SettleService {
  #requesters = 0;

  constructor(
    @Inject(SETTLEMENT_STORE) private readonly store: SettlementStore,
    @Inject(ChainRegistry) private readonly chains: Pick<ChainRegistry, 'served'>,
    private readonly verifier: PaymentVerifier,
    private readonly claiming: Claiming,
    private readonly past: PastAnswers,
    private readonly archived: ArchivedPayments,
    private readonly deferred: DeferredSteps,
    @Inject(ProcessRegistry) private readonly processes: Pick<ProcessRegistry, 'processId'>,
    private readonly actionDetails: ActionDetailsReader,
    @Inject(AppConfig) private readonly config: Pick<AppConfig, 'settleWaitMs'>,
  ) {}

  /** @returns `undefined` when the client closed the connection. */
  async settle(request: SettleRequest): Promise<SettleAnswer | undefined> {
    const { payment } = request;
    const answers = new SettleAnswers(payment, request.finality, undefined);
    const refusal = this.verifier.refusalByLists(payment);
    if (refusal !== undefined) return answers.failure(refusal);
    const chain = this.chains.served(payment.requirements.chainId);
    if (chain === undefined) return answers.failure('network_unavailable');
    try {
      const completed = await this.#completed(request);
      if (typeof completed === 'string') return answers.failure(completed);
      const whole = { ...request, payment: completed };
      const answer = await this.#settle(whole, answers, chain);
      return answer && (await this.#withDetails(answer, whole, answers, chain));
    } catch (error) {
      if (isAway(error)) return answers.failure('network_unavailable');
      throw error;
    }
  }

  /** If the details fail, no requester gets the success, so its sale is undone. */
  async #withDetails(
    answer: SettleAnswer,
    request: SettleRequest,
    answers: SettleAnswers,
    chain: EvmChain,
  ): Promise<SettleAnswer> {
    const deadline = this.claiming.deadlineOf(request);
    const asked = { payment: request.payment, chain };
    try {
      return await this.actionDetails.added(answer, asked, answers, deadline);
    } catch (error) {
      await answer.rollBack?.();
      throw error;
    }
  }

  async #settle(
    request: SettleRequest,
    answers: SettleAnswers,
    chain: EvmChain,
  ): Promise<SettleAnswer | undefined> {
    const identity = identityOf(request.payment);
    const context = this.#contextOf(request, answers, chain, identity);
    return identity === undefined
      ? this.#refuseNameless(context)
      : this.#settleNamed(this.#named(context, identity));
  }

  /**
   * The payment with the part that only the chain knows. Claims of the same receiver in progress change that part, so
   * they are awaited, though not for long: anybody can make a claim that names this receiver.
   */
  async #completed({ payment, arrivedAt }: SettleRequest): Promise<Payment | Reason> {
    const until = arrivedAt + Math.min(CLAIMS_WAIT_MS, this.config.settleWaitMs / 2);
    for (;;) {
      const completed = await this.verifier.completed(payment);
      if (typeof completed === 'string' || completed === payment) return completed;
      if (Date.now() >= until || !(await this.#isBeingClaimed(completed))) return completed;
      await delay(CLAIMS_AGAIN_MS);
    }
  }

  async #isBeingClaimed(payment: Payment): Promise<boolean> {
    const identity = identityOf(payment);
    const payer = payerRefOf(payment);
    if (identity === undefined || payer === undefined) return false;
    const { inFlight } = await this.store.look(identity, payer);
    return inFlight.claims > 0;
  }

  /** Look, verify, claim or join, wait; repeated where another requester moved the settlement meanwhile. */
  async #settleNamed(context: NamedContext): Promise<SettleAnswer | undefined> {
    let lost: LostClaimRef | undefined;
    try {
      for (let round = 0; round < ROUNDS_MAX; round += 1) {
        // The verifier is asked only what the ledger does not know yet.
        const known = await this.#look(context);
        const result = await this.#round(context, known, lost);
        if (result === 'again') continue;
        if ('answer' in result) {
          const isKeyKnown = known.binding !== undefined;
          const answer =
            lost === undefined
              ? result.answer
              : await this.#knowingLost(context, result.answer, lost, isKeyKnown);
          return await this.past.insteadOf(answer, context, { isKeyKnown, lost: lost?.ref });
        }
        lost = result.lost;
      }
    } catch (error) {
      if (lost?.hash === undefined || !isAway(error)) throw error;
      return context.answers.of(lost.ref.id).pending(lost.hash);
    }
    return lost?.hash === undefined
      ? context.answers.failure('network_unavailable')
      : context.answers.of(lost.ref.id).pending(lost.hash);
  }

  /**
   * An action that is refused after the ledger lost its claim may be done already: its transaction was sent before the
   * loss. The state of its contract shows that.
   */
  async #knowingLost(
    context: NamedContext,
    answer: SettleAnswer | undefined,
    { ref, hash }: LostClaimRef,
    isKeyKnown: boolean,
  ): Promise<SettleAnswer | undefined> {
    if (answer?.body.success !== false || answer.body.transaction !== '') return answer;
    const { answers } = context;
    const pending = hash === undefined ? undefined : answers.of(ref.id).pending(hash);
    return this.#doneOr(pending ?? answer, context, isKeyKnown);
  }

  /**
   * The success of an action that the chain shows done, by any sender.
   *
   * @param otherwise - the answer where it is not done, or another one was done in its place. A refusal is not given
   *   where the chain does not say so.
   */
  async #doneOr(
    otherwise: SettleAnswer,
    context: NamedContext,
    isKeyKnown: boolean,
  ): Promise<SettleAnswer> {
    const { request, answers, chain, deadlineAt } = context;
    const { payment } = request;
    const isDoneAt = (finality: Finality) =>
      this.actionDetails.isDone({ payment, chain }, finality, deadlineAt());
    const isRefusal = otherwise.body.transaction === '';
    const unknown = isRefusal ? answers.failure('network_unavailable') : otherwise;
    const isDone = await isDoneAt('included');
    if (isDone !== true) return isDone === undefined ? unknown : otherwise;
    const isFinal = async () => (await isDoneAt('finalized')) === true;
    const notFinal = await this.#untilFinal(context, isFinal);
    if (notFinal !== undefined) return notFinal;
    const done = await this.actionDetails.whichIsDone({ payment, chain }, deadlineAt());
    if (done === undefined) return unknown;
    if (done === 'another') return otherwise;
    return this.past.ofDone(context, isKeyKnown, done === 'this' ? undefined : otherwise);
  }

  /** @param lost - a claim that the request had in an earlier round. */
  async #round(
    context: NamedContext,
    { look, binding }: Known,
    lost: LostClaimRef | undefined,
  ): Promise<Round> {
    const { request, identity, answers, key } = context;
    if (key.isOfAnother(binding)) return this.#takeKeyOver(context);
    const assessed = await this.verifier.assess(request.payment, identity, look, async () => {
      // Payments in flight of this payer may have ended meanwhile.
      const again = await this.#look(context);
      return again.look;
    });
    switch (assessed.kind) {
      case 'good': {
        const { verification } = assessed;
        if (verification.isDone !== true) {
          // The transaction of the lost claim may still be mined. Another one would have no effect and cost gas.
          return lost?.hash === undefined
            ? this.claiming.claim(context, verification)
            : { answer: answers.of(lost.ref.id).pending(lost.hash) };
        }
        const isFinal = () => this.verifier.isFinallyDone(request.payment, verification);
        const notFinal = await this.#untilFinal(context, isFinal);
        return { answer: notFinal ?? (await this.past.ofDone(context, binding !== undefined)) };
      }
      case 'same':
        return this.#join(context, assessed.known, binding);
      case 'taken':
        return { answer: answers.failure('duplicate_settlement') };
      case 'not_signed':
        return { answer: answers.failure(assessed.reason) };
      case 'refused': {
        // Another requester may have settled the payment since the first look. Then the chain's refusal means success
        // here, and a signature that was valid at that time stays valid.
        const { look: now } = await this.#look(context);
        if (hasMoved(look.known, now.known)) return 'again';
        const { reason, cause, isDone = false } = assessed.refusal;
        const answer = { ...answers.failure(reason), ...(cause !== undefined && { cause }) };
        // It may be a repeat of an action whose record the ledger lost when it went back.
        const isMissing = now.known === undefined || isReopened(now.known);
        if (!isDone || !now.hasGoneBack || !isMissing) return { answer };
        return { answer: await this.#doneOr(answer, context, binding !== undefined) };
      }
    }
  }

  /**
   * Another sender did the action, or an earlier settlement that has left the ledger. If finality is required, its
   * block must become final first, because nothing would repeat the action after a reorganization.
   *
   * @returns the answer where it does not become final in time.
   */
  async #untilFinal(
    { request, answers, deadlineAt }: NamedContext,
    isFinal: () => Promise<boolean>,
  ): Promise<SettleAnswer | undefined> {
    const isFinalInTime = async (): Promise<boolean> => {
      const leftMs = Math.max(deadlineAt() - Date.now(), FINAL_AGAIN_MS);
      const answer = await withTimeout(leftMs, isFinal());
      return answer.inTime && answer.value;
    };
    while (request.finality === 'finalized' && !(await isFinalInTime())) {
      if (Date.now() + FINAL_AGAIN_MS > deadlineAt()) {
        return { ...answers.failure('network_unavailable'), cause: NOT_FINAL_YET };
      }
      await delay(FINAL_AGAIN_MS);
    }
    return undefined;
  }

  /** Joins the claim of the payment, unless the claim is over or belongs to another payment. */
  async #join(
    context: NamedContext,
    known: SettlementView,
    binding: Binding | undefined,
  ): Promise<Round> {
    const { request, answers: blank, requester, identity, key } = context;
    const answers = blank.of(known.id);
    const { isRepeatable, reasons } = actionOf(request.payment.claim);
    const isSold = known.sale.state === 'sold';
    if (isSold && !isRepeatable && !isSoldToKey(known, requester.keyTag)) {
      return { answer: answers.failure('duplicate_settlement', known.transaction) };
    }
    if (isFailure(known)) {
      return { answer: answers.failed(known, reasons.transactionFailed) };
    }
    const { chainId, amount } = request.payment.requirements;
    if (known.settledAmount !== undefined && known.settledAmount !== amount) {
      // The first settle has bound the amount. This request would pay for other goods.
      return { answer: answers.failure('duplicate_settlement', known.transaction) };
    }
    if (binding === undefined) {
      // Others have requested this payment before, so a key that is new to the ledger may belong to another payment.
      const { payment, keyTag } = request;
      const isOfAnother = await this.archived.isKeyOfAnother(keyTag, payment, identity);
      const bound = isOfAnother ? 'conflict' : await key.bind();
      if (bound !== 'bound') return { answer: blank.failure(KEY_REFUSALS[bound]) };
    }
    const ref: ClaimRef = { chainId, id: known.id };
    return request.isAsync ? this.claiming.handOut(context, ref) : this.claiming.wait(context, ref);
  }

  /**
   * A key that was bound to a failed payment is free. A caller without a valid payment of its own gets no answer about
   * a key.
   */
  async #takeKeyOver({ request, answers, key }: NamedContext): Promise<Round> {
    const verdict = await this.verifier.verifyTerms(request.payment);
    if (!verdict.isValid) return { answer: answers.failure(verdict.reason) };
    const bound = await key.bind();
    return bound === 'bound' ? 'again' : { answer: answers.failure(KEY_REFUSALS[bound]) };
  }

  /** One of the checks refuses a claim that no wallet can have signed. */
  async #refuseNameless(context: SettleContext): Promise<SettleAnswer | undefined> {
    const { answers, request } = context;
    const verdict = await this.verifier.verify(request.payment, BLANK_RECORD);
    const answer = answers.failure(verdict.isValid ? 'unexpected_settle_error' : verdict.reason);
    return this.past.insteadOf(answer, context, { isKeyKnown: false, lost: undefined });
  }

  async #look({ request, requester, identity }: NamedContext): Promise<Known> {
    const payer = payerRefOf(request.payment);
    if (payer === undefined) throw new TypeError('the payment has no payer');
    const [look, binding] = await Promise.all([
      this.store.look(identity, payer),
      requester.keyTag === '' ? undefined : this.store.bindingOf(requester.keyTag),
    ]);
    return { look, binding };
  }

  #contextOf(
    request: SettleRequest,
    answers: SettleAnswers,
    chain: EvmChain,
    identity: PaymentIdentity | undefined,
  ): SettleContext {
    this.#requesters += 1;
    const requester = {
      id: `${this.processes.processId}.${this.#requesters.toString(36)}`,
      keyTag: request.keyTag,
      credentials: request.credentials,
      arrivedAt: request.arrivedAt,
    };
    const deadlineAt = () => this.claiming.deadlineOf(request);
    return { request, answers, chain, identity, requester, deadlineAt };
  }

  #named(context: SettleContext, identity: PaymentIdentity): NamedContext {
    const { request, requester } = context;
    const payment = boundPaymentOf(request.payment.requirements.chainId, identity);
    const key = new KeyBinding(this.store, this.archived, this.deferred, requester, payment);
    return { ...context, identity, key };
  }
}

function isAway(error: unknown): boolean {
  return error instanceof ChainUnavailableError || error instanceof RedisUnavailableError;
}

/** Whether another requester has advanced the settlement since. A settlement that can be claimed again is no answer. */
function hasMoved(before: SettlementView | undefined, now: SettlementView | undefined): boolean {
  if (now === undefined || isReopened(now)) return false;
  return before?.id !== now.id || before.state !== now.state;
}
