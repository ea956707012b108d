import { Inject, Injectable } from '@nestjs/common';
import { ChainRegistry } from '../../platform/chain/chain-registry.js';
import type { EvmChain } from '../../platform/chain/evm-chain.js';
import { delay } from '../../platform/concurrency/timing.js';
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
  isFailure,
  isReopened,
  isSoldToKey,
  type SettlementView,
} from '../../settlement/model/settlement.js';
import { ArchivedPayments } from '../status/archived-payments.js';
import { payerRefOf, PaymentVerifier, type ValidVerification } from '../verify/payment-verifier.js';
import { Claiming } from './claiming.js';
import { DeferredSteps } from './deferred-steps.js';
import { DoneFacts } from './done-facts.js';
import { boundPaymentOf, KEY_REFUSALS, KeyBinding } from './key-binding.js';
import { PastAnswers } from './past-answers.js';
import { type SettleAnswer, SettleAnswers } from './settle-answer.js';
import type { NamedContext, Round, SettleContext, SettleRequest } from './settle-context.js';

/** What the ledger knows of a payment, and of the idempotency key that it comes with. */
interface Known {
  readonly look: Look;
  readonly binding: Binding | undefined;
}

/**
 * How often a request is judged again when the ledger changed under it. Each round means that another
 * requester moved the same settlement.
 */
const ROUNDS_MAX = 5;

/** Between two looks at claims that a payout waits for: less than a block takes. */
const CLAIMS_AGAIN_MS = 200;
/** How long a payout waits for claims of its receiver. One that it misses is paid by the next payout. */
const CLAIMS_WAIT_MS = 2000;

/** Between two looks whether the block of another sender is final. */
const FINAL_AGAIN_MS = 400;
const NOT_FINAL_YET =
  'Another sender has done this, in a block that is not final yet. Send the same request again.';

/** Settles a payment once, for any number of requests, and gives each the one true answer. */
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
    private readonly doneFacts: DoneFacts,
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
      const answer = await this.#settle({ ...request, payment: completed }, answers, chain);
      if (answer === undefined) return undefined;
      const deadline = this.claiming.deadlineOf(request);
      return await this.doneFacts.added(answer, { payment: completed, chain }, answers, deadline);
    } catch (error) {
      if (error instanceof ChainUnavailableError || error instanceof RedisUnavailableError) {
        return answers.failure('network_unavailable');
      }
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
   * The payment with the part that only the chain knows. Claims of the same receiver that are under way change that part:
   * they are awaited, but not for long: anybody can make a claim that names this receiver.
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

  /** Look, verify, claim or join, wait; again where another requester moved the settlement meanwhile. */
  async #settleNamed(context: NamedContext): Promise<SettleAnswer | undefined> {
    let lost: ClaimRef | undefined;
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      // The verifier is asked only what the ledger does not know yet.
      const known = await this.#look(context);
      const result = await this.#round(context, known);
      if (result === 'again') continue;
      if ('answer' in result) {
        const isKeyKnown = known.binding !== undefined;
        return await this.past.insteadOf(result.answer, context, { isKeyKnown, lost });
      }
      lost = result.lost;
    }
    return context.answers.failure('network_unavailable');
  }

  async #round(context: NamedContext, { look, binding }: Known): Promise<Round> {
    const { request, identity, answers, key } = context;
    if (key.isOfAnother(binding)) return this.#takeKeyOver(context);
    const assessed = await this.verifier.assess(request.payment, identity, look, async () => {
      // What counted against the payer may have been released.
      const again = await this.#look(context);
      return again.look;
    });
    switch (assessed.kind) {
      case 'good':
        return assessed.verification.isDone === true
          ? this.#doneBefore(context, assessed.verification, binding !== undefined)
          : this.claiming.claim(context, assessed.verification);
      case 'same':
        return this.#join(context, assessed.known, binding);
      case 'taken':
        return { answer: answers.failure('duplicate_settlement') };
      case 'not_signed':
        return { answer: answers.failure(assessed.reason) };
      case 'refused': {
        // Another requester may have settled it since the first look: then the chain's no is our yes, and a
        // signature that its payer has changed the code for since was good when it counted.
        const { look: now } = await this.#look(context);
        if (hasMoved(look.known, now.known)) return 'again';
        const { reason, cause } = assessed.refusal;
        return { answer: { ...answers.failure(reason), ...(cause !== undefined && { cause }) } };
      }
    }
  }

  /**
   * Another sender has done it, or an earlier settlement that has left the ledger. Where it is to be final, its block is
   * waited for: nothing would do it again if that block were replaced.
   */
  async #doneBefore(
    context: NamedContext,
    verification: ValidVerification,
    isKeyKnown: boolean,
  ): Promise<Round> {
    const { request, answers } = context;
    const until = this.claiming.deadlineOf(request);
    const isFinal = () => this.verifier.isFinallyDone(request.payment, verification);
    while (request.finality === 'finalized' && !(await isFinal())) {
      if (Date.now() + FINAL_AGAIN_MS > until) {
        return { answer: { ...answers.failure('network_unavailable'), cause: NOT_FINAL_YET } };
      }
      await delay(FINAL_AGAIN_MS);
    }
    return { answer: await this.past.ofDone(context, isKeyKnown) };
  }

  /** Joins the claim that the payment was made for, unless that is over or another's. */
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
      // The first settle has bound the amount, and this one would pay for other goods.
      return { answer: answers.failure('duplicate_settlement', known.transaction) };
    }
    if (binding === undefined) {
      // Others have asked for the payment before: a key that is new to the ledger may be an old one of another payment.
      const { payment, keyTag } = request;
      const isOfAnother = await this.archived.isKeyOfAnother(keyTag, payment, identity);
      const bound = isOfAnother ? 'conflict' : await key.bind();
      if (bound !== 'bound') return { answer: blank.failure(KEY_REFUSALS[bound]) };
    }
    const ref: ClaimRef = { chainId, id: known.id };
    return request.isAsync ? this.claiming.handOut(context, ref) : this.claiming.wait(context, ref);
  }

  /**
   * A key that was bound to another payment is free where that payment failed. A caller without a valid payment of its
   * own learns nothing, not even about a key.
   */
  async #takeKeyOver({ request, answers, key }: NamedContext): Promise<Round> {
    const verdict = await this.verifier.verifyTerms(request.payment);
    if (!verdict.isValid) return { answer: answers.failure(verdict.reason) };
    const bound = await key.bind();
    return bound === 'bound' ? 'again' : { answer: answers.failure(KEY_REFUSALS[bound]) };
  }

  /** A claim no wallet can have signed is refused somewhere along the checks. */
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
    return { request, answers, chain, identity, requester };
  }

  #named(context: SettleContext, identity: PaymentIdentity): NamedContext {
    const { request, requester } = context;
    const payment = boundPaymentOf(request.payment.requirements.chainId, identity);
    const key = new KeyBinding(this.store, this.archived, this.deferred, requester, payment);
    return { ...context, identity, key };
  }
}

/** Whether another requester has brought about more since. What it left open to be claimed again is no answer. */
function hasMoved(before: SettlementView | undefined, now: SettlementView | undefined): boolean {
  if (now === undefined || isReopened(now)) return false;
  return before?.id !== now.id || before.state !== now.state;
}
