import type { ChainRegistry } from '../../platform/chain/chain-registry.js';
import type { EvmChain } from '../../platform/chain/evm-chain.js';
import { ChainUnavailableError, RedisUnavailableError } from '../../protocol/errors.js';
import { identityOf, type PaymentIdentity } from '../../protocol/payment/identity.js';
import { actionOf } from '../../protocol/schemes/registry.js';
import type { Binding } from '../../settlement/ledger/binding.js';
import type { Requester } from '../../settlement/ledger/requester.js';
import {
  BLANK_RECORD,
  type ClaimRef,
  type Look,
  type MadeSale,
  type SettlementStore,
  type ToldWithdrawal,
} from '../../settlement/ledger/settlement-store.js';
import { isFailure, isSoldToKey, type SettlementView } from '../../settlement/model/settlement.js';
import type { Match, PaymentVerifier } from '../verify/payment-verifier.js';
import { Claiming, type ClaimingParts } from './claiming.js';
import { boundPaymentOf, KEY_REFUSALS, KeyBinding, type KeyResult } from './key-binding.js';
import { OwedSteps } from './owed-steps.js';
import { PastAnswers, type PastAnswersParts } from './past-answers.js';
import { Presence } from './presence.js';
import { RecentAnswers } from './recent-answers.js';
import { type SettleAnswer, SettleAnswers } from './settle-answer.js';
import type { Round, SettleContext, SettleRequest } from './settle-context.js';

export interface SettleServiceParts extends ClaimingParts, PastAnswersParts {
  readonly store: SettlementStore;
  readonly chains: ChainRegistry;
  readonly verifier: PaymentVerifier;
}

interface SettleServiceOptions {
  readonly processId: string;
  readonly waitMs: number;
  readonly now?: () => number;
}

/**
 * How often a request is judged again when the ledger changed under it. Each round means that another
 * requester moved the same settlement.
 */
const ROUNDS_MAX = 5;
/** Settles a payment once, whoever asks how often, and tells each requester the truth. */
export class SettleService {
  #requesters = 0;
  readonly #owed: OwedSteps;
  readonly #sales: RecentAnswers<MadeSale>;
  readonly #withdrawals: RecentAnswers<ToldWithdrawal>;
  readonly #presence: Presence;
  readonly #claiming: Claiming;
  readonly #past: PastAnswers;

  constructor(
    private readonly parts: SettleServiceParts,
    private readonly options: SettleServiceOptions,
  ) {
    this.#owed = new OwedSteps((error) => {
      parts.onTrouble('what is owed to the ledger', error);
    });
    this.#sales = new RecentAnswers(
      (sale) => parts.store.restate(sale),
      (error) => {
        parts.onTrouble('a sale said again', error);
      },
    );
    const onTrouble = (error: unknown): void => {
      parts.onTrouble('a withdrawal said again', error);
    };
    this.#withdrawals = new RecentAnswers(async (told) => {
      const isNotSent = await parts.store.restateWithdrawal(told);
      if (!isNotSent) onTrouble(new Error(`${told.ref.id} is sent after all`));
      return true;
    }, onTrouble);
    const { waitMs, now = Date.now } = options;
    const own = {
      owed: this.#owed,
      sales: this.#sales,
      withdrawals: this.#withdrawals,
      waitMs,
      now,
    };
    this.#claiming = new Claiming(parts, own);
    this.#past = new PastAnswers(parts, own);
    this.#presence = new Presence({
      store: parts.store,
      processId: options.processId,
      answers: [this.#sales, this.#withdrawals],
      onTrouble: (error) => {
        parts.onTrouble('showing that this process lives', error);
      },
    });
  }

  /** Before the first request: a ledger of these chains that goes back waits for what this process has told. */
  start(chainIds: readonly number[]): Promise<void> {
    return this.#presence.start(chainIds);
  }

  /** For Nest. */
  onModuleDestroy(): void {
    this.#presence.stop();
  }

  /** @returns `undefined` when the client hung up: there is nobody to answer. */
  async settle(request: SettleRequest): Promise<SettleAnswer | undefined> {
    const { payment } = request;
    const answers = new SettleAnswers(payment, request.finality, undefined);
    const refusal = this.parts.verifier.refusalByLists(payment);
    if (refusal !== undefined) return answers.failure(refusal);
    const chain = this.parts.chains.served(payment.requirements.chainId);
    if (chain === undefined) return answers.failure('network_unavailable');
    const context = this.#contextOf(request, answers, chain);
    try {
      for (let round = 0; round < ROUNDS_MAX; round += 1) {
        const result = await this.#round(context);
        if (result === 'again') continue;
        if ('answer' in result) return await this.#past.insteadOf(result.answer, context);
        context.lost = result.lost;
      }
      return answers.failure('network_unavailable');
    } catch (error) {
      if (error instanceof ChainUnavailableError || error instanceof RedisUnavailableError) {
        return answers.failure('network_unavailable');
      }
      throw error;
    }
  }

  #contextOf(request: SettleRequest, answers: SettleAnswers, chain: EvmChain): SettleContext {
    this.#requesters += 1;
    const requester: Requester = {
      id: `${this.options.processId}.${this.#requesters.toString(36)}`,
      keyTag: request.keyTag,
      credentials: request.credentials,
      arrivedAt: request.arrivedAt,
    };
    const identity = identityOf(request.payment);
    const { chainId } = request.payment.requirements;
    const { store, archived } = this.parts;
    const key =
      identity &&
      new KeyBinding(store, archived, this.#owed, requester, boundPaymentOf(chainId, identity));
    return {
      request,
      identity,
      answers,
      requester,
      chain,
      key,
      lost: undefined,
      isKeyKnown: false,
    };
  }

  async #round(context: SettleContext): Promise<Round> {
    const { identity, answers, request, key } = context;
    if (identity === undefined || key === undefined) return this.#judgeNameless(context);
    const [look, binding] = await this.#look(context, identity);
    const { known } = look;
    context.isKeyKnown = binding !== undefined;
    if (key.isOfAnother(binding)) {
      const refusal = await this.#refuseKey(context, key);
      if (refusal !== undefined) return { answer: refusal };
    }
    if (known !== undefined && !isReopened(known)) {
      const joined = await this.#joinKnown(context, identity, known, key.isOfThis(binding));
      if (joined !== 'judge') return joined;
    }
    const verdict = await this.parts.verifier.judge(request.payment, look, async () => {
      const [again] = await this.#look(context, identity);
      return again;
    });
    if (verdict.isValid) return this.#claiming.claim(context, identity, key, verdict);
    // Another requester may have settled it between the two looks: then the chain's no is our yes, and a
    // signature that its payer has changed the code for since was good when it counted.
    const [{ known: again }] = await this.#look(context, identity);
    if (again !== undefined && hasMoved(known, again) && !isReopened(again)) return 'again';
    const { reason, cause } = verdict;
    return { answer: { ...answers.failure(reason), ...(cause !== undefined && { cause }) } };
  }

  /** A claim no wallet can have signed is refused somewhere along the checks. */
  async #judgeNameless({ request, answers }: SettleContext): Promise<Round> {
    const verdict = await this.parts.verifier.judge(request.payment, BLANK_RECORD);
    return {
      answer: answers.failure(verdict.isValid ? 'unexpected_settle_error' : verdict.reason),
    };
  }

  #look(
    { request, requester }: SettleContext,
    identity: PaymentIdentity,
  ): Promise<[Look, Binding | undefined]> {
    const { requirements, claim } = request.payment;
    if (claim.from === undefined) throw new TypeError('an identity without a payer');
    const { store } = this.parts;
    return Promise.all([
      store.look(identity, { ...requirements, payer: claim.from }),
      requester.keyTag === '' ? undefined : store.bindingOf(requester.keyTag),
    ]);
  }

  /**
   * Nothing is told to a caller who cannot show a payment of its own, not even about a key.
   *
   * @returns `undefined` where the key was free to be taken over.
   */
  async #refuseKey(
    { request, answers }: SettleContext,
    key: KeyBinding,
  ): Promise<SettleAnswer | undefined> {
    const verdict = await this.parts.verifier.judgeTerms(request.payment);
    if (!verdict.isValid) return answers.failure(verdict.reason);
    const bound = await key.bind();
    return bound === 'bound' ? undefined : answers.failure(KEY_REFUSALS[bound]);
  }

  async #joinKnown(
    context: SettleContext,
    identity: PaymentIdentity,
    known: SettlementView,
    isBound: boolean,
  ): Promise<Round | 'judge'> {
    const { request, answers: blank, requester } = context;
    const match: Match = await this.parts.verifier.match(request.payment, identity, known);
    if (match.kind === 'refused') return { answer: blank.failure(match.reason) };
    const isSold = known.sale.state === 'sold';
    if (match.kind === 'other_terms') {
      // Another payment with the nonce of this one: while that is under way, or once somebody was told of
      // it, nothing is said of it; else the chain knows whether the nonce is used.
      const isTaken = isUnderWay(known) || isSold;
      return isTaken ? { answer: blank.failure('duplicate_settlement') } : 'judge';
    }
    const answers = blank.of(known.id);
    const { isRepeatable, reasons } = actionOf(request.payment.claim);
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
    if (!isBound) {
      const bound = await this.#bind(context, identity);
      if (bound !== 'bound') return { answer: blank.failure(KEY_REFUSALS[bound]) };
    }
    const ref: ClaimRef = { chainId, id: known.id };
    return request.isAsync
      ? this.#claiming.handOut(context, ref)
      : this.#claiming.wait(context, ref);
  }

  /** Binds a key to a payment that others have asked for before: it may be an old key of another payment. */
  async #bind(context: SettleContext, identity: PaymentIdentity): Promise<KeyResult> {
    const { request, key, isKeyKnown } = context;
    if (key === undefined) return 'conflict';
    const isOfAnother =
      !isKeyKnown &&
      (await this.parts.archived.isKeyOfAnother(request.keyTag, request.payment, identity));
    return isOfAnother ? 'conflict' : key.bind();
  }
}

function hasMoved(before: SettlementView | undefined, now: SettlementView): boolean {
  return before?.id !== now.id || before.state !== now.state;
}

/** Nothing of it is under way or paid: the payment may be claimed again. */
function isReopened({ state }: SettlementView): boolean {
  return state === 'withdrawn' || state === 'reverted';
}

function isUnderWay({ state }: SettlementView): boolean {
  return state === 'queued' || state === 'broadcast' || state === 'included';
}
