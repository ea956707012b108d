import type { ChainRegistry } from '../chain/chain-registry.js';
import type { EvmChain } from '../chain/evm-chain.js';
import { ChainUnavailableError, LedgerUnavailableError } from '../core/errors.js';
import type { GoodVerdict } from '../core/exact/verdict.js';
import type { Payment } from '../core/payment/payment.js';
import type { AcceptedPayment } from '../core/settlement/accepted-payment.js';
import { identityOf, type PaymentIdentity, tagOf } from '../core/settlement/identity.js';
import { type Finality, isFailure, type SettlementView } from '../core/settlement/settlement.js';
import type { Asker } from '../ledger/asker.js';
import { BLANK_RECORD, type Look, type SettlementLedger } from '../ledger/settlement-ledger.js';
import type { GoodJudgement, Match, PaymentVerifier } from '../verification/payment-verifier.js';
import type { Admission } from './admission.js';
import { AskerWait, type Connection } from './asker-wait.js';
import type { LaneBoard } from '../ledger/lane-board.js';
import { type SettleAnswer, SettleAnswers } from './settle-answer.js';
import type { SettlementNews } from './settlement-news.js';
import type { SettlementQueue } from './settlement.queue.js';
import type { UsedAuthorizationFinder } from './used-authorization-finder.js';

export interface SettleRequest {
  readonly payment: Payment;
  /** Tag of the idempotency key within its scope, or empty; see {@link keyTagOf}. */
  readonly keyTag: string;
  /** `Prefer: respond-async`. */
  readonly isAsync: boolean;
  readonly finality: Finality;
  /** Milliseconds since the epoch of the request's first byte. */
  readonly arrivedAt: number;
  readonly connection: Connection;
}

export interface SettleServiceOptions {
  readonly process: string;
  readonly waitMs: number;
  readonly isReplayed: boolean;
}

/** The key's scope is the API key if there is one, else the payee; never the caller's address. */
export function keyTagOf(key: string | undefined, scope: string): string {
  return key === undefined || key === '' ? '' : tagOf(['idempotency', scope, key]);
}

/**
 * How often a request is judged again when the ledger changed under it. Each round means that another
 * asker moved the same settlement.
 */
const ROUNDS_MAX = 5;

type Round = { readonly answer: SettleAnswer | undefined } | 'again';

/** Settles a payment once, whoever asks how often, and tells each asker the truth. */
export class SettleService {
  #askers = 0;
  #owed: (() => Promise<void>)[] = [];
  #owedTimer: NodeJS.Timeout | undefined;

  constructor(
    private readonly chains: ChainRegistry,
    private readonly verifier: PaymentVerifier,
    private readonly ledger: SettlementLedger,
    private readonly queues: ReadonlyMap<number, SettlementQueue>,
    private readonly news: SettlementNews,
    private readonly admission: Admission,
    private readonly board: LaneBoard,
    private readonly finder: UsedAuthorizationFinder,
    private readonly options: SettleServiceOptions,
  ) {}

  /** @returns `undefined` when the client hung up: there is nobody to answer. */
  async settle(request: SettleRequest): Promise<SettleAnswer | undefined> {
    const { payment } = request;
    const identity = identityOf(payment);
    const answers = new SettleAnswers(payment, request.finality, identity?.settlementId);
    const refusal = this.verifier.refusalByLists(payment);
    if (refusal !== undefined) return answers.failure(refusal);
    const chain = this.chains.served(payment.requirements.chainId);
    if (chain === undefined) return answers.failure('network_unavailable');
    this.#askers += 1;
    const asker: Asker = {
      id: `${this.options.process}.${this.#askers.toString(36)}`,
      keyTag: request.keyTag,
      arrivedAt: request.arrivedAt,
    };
    const attempt = new SettleAttempt(request, identity, answers, asker, chain);
    try {
      for (let round = 0; round < ROUNDS_MAX; round += 1) {
        const result = await this.#round(attempt);
        if (result !== 'again') return await this.#nameUser(attempt, result.answer);
      }
      return answers.failure('network_unavailable');
    } catch (error) {
      if (error instanceof ChainUnavailableError || error instanceof LedgerUnavailableError) {
        return answers.failure('network_unavailable');
      }
      throw error;
    }
  }

  async #round(attempt: SettleAttempt): Promise<Round> {
    const { identity, answers } = attempt;
    if (identity === undefined) return this.#judgeNameless(attempt);
    const look = await this.#look(attempt, identity);
    const known = look.snapshot;
    if (look.boundTo !== undefined && look.boundTo !== identity.settlementId) {
      return { answer: await this.#refuseKey(attempt) };
    }
    if (known !== undefined && !isReopened(known)) {
      const joined = await this.#joinKnown(attempt, identity, known);
      if (joined !== 'judge') return joined;
    }
    const verdict = await this.verifier.judge(attempt.request.payment, look);
    if (verdict.isValid) return this.#claim(attempt, identity, verdict);
    if (verdict.isFromChainState) {
      // Another asker may have settled it between the two looks: then the chain's no is our yes.
      const again = (await this.#look(attempt, identity)).snapshot;
      if (again !== undefined && again.state !== known?.state && !isReopened(again)) return 'again';
    }
    return { answer: answers.failure(verdict.reason) };
  }

  /** A refusal because the authorization is used names the transaction that used it. */
  async #nameUser(
    { request, answers, chain }: SettleAttempt,
    answer: SettleAnswer | undefined,
  ): Promise<SettleAnswer | undefined> {
    const reason = answer?.body.errorReason;
    if (reason === undefined || answer?.body.transaction !== '') return answer;
    const usedBy = await this.finder.find(request.payment, reason, chain);
    return usedBy === undefined ? answer : answers.failure(usedBy.reason, usedBy.transaction);
  }

  /** A claim no wallet can have signed is refused somewhere along the checks. */
  async #judgeNameless({ request, answers }: SettleAttempt): Promise<Round> {
    const verdict = await this.verifier.judge(request.payment, BLANK_RECORD);
    return {
      answer: answers.failure(verdict.isValid ? 'unexpected_settle_error' : verdict.reason),
    };
  }

  #look({ request, asker }: SettleAttempt, identity: PaymentIdentity): Promise<Look> {
    const { requirements, claim } = request.payment;
    if (claim.from === undefined) throw new TypeError('an identity without a payer');
    return this.ledger.look(identity, asker.keyTag, { ...requirements, payer: claim.from });
  }

  /** Nothing is told to a caller who cannot show a payment of its own, not even about a key. */
  async #refuseKey({ request, identity, answers }: SettleAttempt): Promise<SettleAnswer> {
    const verdict = await this.verifier.judgeTerms(request.payment);
    return answers.failure(
      verdict.isValid || identity === undefined ? 'idempotency_key_conflict' : verdict.reason,
    );
  }

  async #joinKnown(
    attempt: SettleAttempt,
    identity: PaymentIdentity,
    known: SettlementView,
  ): Promise<Round | 'judge'> {
    const { request, answers } = attempt;
    const match: Match = await this.verifier.match(request.payment, identity, known);
    if (match.kind === 'refused') return { answer: answers.failure(match.reason) };
    if (match.kind === 'other_terms') {
      // Another payment with the nonce of this one: while that is under way nothing is said of it,
      // afterwards the chain knows whether the nonce is used.
      return isUnderWay(known) ? { answer: answers.failure('duplicate_settlement') } : 'judge';
    }
    if (isFailure(known)) {
      const reason = known.reason ?? 'invalid_exact_evm_transaction_failed';
      return { answer: answers.failure(reason, known.transaction) };
    }
    return request.isAsync
      ? this.#handOut(attempt, identity.settlementId)
      : this.#wait(attempt, identity.settlementId, undefined);
  }

  async #claim(
    attempt: SettleAttempt,
    identity: PaymentIdentity,
    verdict: GoodJudgement,
  ): Promise<Round> {
    const { request, answers, asker, chain } = attempt;
    const payment = acceptedPayment(request.payment, verdict);
    const refusal = await this.admission.refusal(payment, chain);
    if (refusal !== undefined) return { answer: answers.failure(refusal) };
    const { settlementId } = identity;
    const claimed = await this.ledger.claim(
      identity,
      payment,
      asker,
      verdict.means,
      request.isAsync,
    );
    switch (claimed.kind) {
      case 'known':
      case 'in_flight_changed':
        return 'again';
      case 'key_conflict':
        return { answer: answers.failure('idempotency_key_conflict') };
      case 'permit_in_flight':
        return { answer: answers.failure('permit2_allowance_required') };
      case 'queue_full': {
        this.admission.noteQueued(payment.chainId, claimed.queued);
        const lanes = await this.board.live(payment.chainId);
        const seconds = this.admission.retryAfterSeconds(claimed.queued, lanes);
        return { answer: answers.failure('queue_full', undefined, seconds) };
      }
      case 'claimed':
        this.admission.noteQueued(payment.chainId, claimed.queued);
    }
    // The record is the truth: should the job not be added, a sweep finds the record.
    this.queues
      .get(payment.chainId)
      ?.add(settlementId, asker.id)
      .catch(() => undefined);
    if (request.isAsync) {
      return {
        answer: answers.handedOut({ id: settlementId }, this.#leaving(attempt, settlementId)),
      };
    }
    return this.#wait(attempt, settlementId, asker.id);
  }

  async #handOut(attempt: SettleAttempt, settlementId: string): Promise<Round> {
    const { answers, asker } = attempt;
    const asked = await this.ledger.ask(settlementId, asker, '');
    if (asked.kind === 'gone') return 'again';
    if (asked.kind === 'key_conflict') {
      return { answer: answers.failure('idempotency_key_conflict') };
    }
    const isOwn = asked.role === 'holder' || asked.role === 'owner';
    const sold = isOwn ? await this.ledger.sell(settlementId, asker, true) : undefined;
    if (sold?.kind === 'sold') {
      return { answer: answers.handedOut(sold.snapshot, this.#leaving(attempt, settlementId)) };
    }
    await this.ledger.leave(settlementId, asker, 'closed');
    return { answer: answers.failure('duplicate_settlement', asked.snapshot.transaction) };
  }

  async #wait(
    { request, answers, asker }: SettleAttempt,
    settlementId: string,
    claimed: string | undefined,
  ): Promise<Round> {
    const wait = new AskerWait(
      settlementId,
      {
        ledger: this.ledger,
        news: this.news,
        answers,
        asker,
        connection: request.connection,
        finality: request.finality,
        deadlineAt: request.arrivedAt + this.options.waitMs,
        isReplayed: this.options.isReplayed,
        whenBack: (task) => {
          this.#owe(task);
        },
      },
      claimed,
    );
    const answer = await wait.run();
    return answer === 'unknown' ? 'again' : { answer };
  }

  #leaving({ asker }: SettleAttempt, settlementId: string): () => Promise<void> {
    const leave = async (): Promise<void> => {
      await this.ledger.leave(settlementId, asker, 'closed');
    };
    return () =>
      leave().catch(() => {
        this.#owe(leave);
      });
  }

  /** Keeps what could not be told to the ledger, and tells it when the ledger is back. */
  #owe(task: () => Promise<void>): void {
    this.#owed.push(task);
    this.#owedTimer ??= setInterval(() => void this.#payOwed(), 1000).unref();
  }

  async #payOwed(): Promise<void> {
    const tasks = this.#owed;
    this.#owed = [];
    for (const task of tasks) {
      try {
        await task();
      } catch {
        this.#owed.push(task);
      }
    }
    if (this.#owed.length > 0) return;
    clearInterval(this.#owedTimer);
    this.#owedTimer = undefined;
  }
}

/** One request on its way through the service. */
class SettleAttempt {
  constructor(
    readonly request: SettleRequest,
    readonly identity: PaymentIdentity | undefined,
    readonly answers: SettleAnswers,
    readonly asker: Asker,
    readonly chain: EvmChain,
  ) {}
}

/** Nothing of it is under way or paid: the payment may be tried again on the same record. */
function isReopened({ state }: SettlementView): boolean {
  return state === 'withdrawn' || state === 'reverted';
}

function isUnderWay({ state }: SettlementView): boolean {
  return state === 'queued' || state === 'broadcast' || state === 'included';
}

function acceptedPayment(
  { requirements }: Payment,
  { authorization, payerHasCode }: GoodVerdict,
): AcceptedPayment {
  const { chainId, asset, payTo, amount, tokenName, tokenVersion } = requirements;
  return {
    chainId,
    asset,
    payTo,
    amount,
    authorization,
    payerHasCode,
    tokenName: typeof tokenName === 'string' ? tokenName : undefined,
    tokenVersion: typeof tokenVersion === 'string' ? tokenVersion : undefined,
  };
}
