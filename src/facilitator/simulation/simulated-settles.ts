import { randomUUID } from 'node:crypto';
import { Inject, Injectable, Optional } from '@nestjs/common';
import { ChainRegistry } from '../../platform/chain/chain-registry.js';
import { withTimeout } from '../../platform/concurrency/timing.js';
import { AtShutdown } from '../../platform/lifecycle/at-shutdown.js';
import { identityOf } from '../../protocol/payment/identity.js';
import type { Payment } from '../../protocol/payment/payment.js';
import { actionOf } from '../../protocol/schemes/registry.js';
import type { SettlementStatus } from '../../settlement/ledger/queries/settlement-status.js';
import {
  type Finality,
  isFailure,
  isSoldToKey,
  isSuccessAt,
  type SettlementView,
} from '../../settlement/model/settlement.js';
import { type ReadRequest, refusalOf } from '../refusal.js';
import type { Connection } from '../settle/requester-wait.js';
import { type SettleAnswer, SettleAnswers } from '../settle/settle-answer.js';
import {
  mayBeSimulatedOn,
  SILENT_MS,
  simulatedIdOf,
  type SimulatedOutcome,
  SLOW_MS,
} from './outcomes.js';
import {
  type Simulated,
  simulatedDetailsOf,
  type SimulatedSettlement,
  simulatedStatusOf,
  successView,
  viewOf,
} from './simulated-settlement.js';
import { SimulationRefused } from './simulation-refused.js';
import { RedisSimulationStore, type SimulationStore } from './simulation-store.js';

/** Requests of one API key that may wait at a time, in one process. */
const WAITS_MOST = 64;

export interface SimulationTerms {
  readonly outcome: SimulatedOutcome;
  /** Id of the API key. */
  readonly caller: string;
  /** See `keyTagOf`; empty without a key. */
  readonly keyTag: string;
  readonly isAsync: boolean;
  readonly finality: Finality;
  readonly connection: Connection;
}

/** Rules for where payments may be simulated. */
interface SimulationRules {
  maySimulateOn(chainId: number): boolean;
  readonly silentMs: number;
}

const RULES: SimulationRules = { maySimulateOn: mayBeSimulatedOn, silentMs: SILENT_MS };

/**
 * Simulated settles. The builders of real answers make their answers; the payments never reach the ledger or a chain.
 */
@Injectable()
export class SimulatedSettles {
  readonly #waits = new Map<string, number>();
  readonly #stopped: Promise<void>;
  #stop: () => void = () => undefined;

  /** @param chains - the served chains, for explanations. */
  constructor(
    @Inject(RedisSimulationStore) private readonly store: SimulationStore,
    @Inject(ChainRegistry)
    private readonly chains: { readonly all: readonly { readonly chainId: number }[] },
    @Optional() private readonly rules: SimulationRules = RULES,
  ) {
    this.#stopped = new Promise((resolve) => {
      this.#stop = resolve;
    });
  }

  /** Ends every wait before this process ends. */
  @AtShutdown('waits', 'simulated settles')
  stop(): void {
    this.#stop();
  }

  /**
   * @returns `undefined` where the connection is to be closed without an answer.
   * @throws SimulationRefused, RedisUnavailableError
   */
  async settle(request: ReadRequest, terms: SimulationTerms): Promise<SettleAnswer | undefined> {
    const { parsed } = request;
    const answer = parsed.ok
      ? await this.#play(parsed.payment, terms)
      : new SettleAnswers(parsed.correspondent, terms.finality, undefined).failure(parsed.reason);
    const reason = answer?.body.errorReason;
    if (answer === undefined || reason === undefined) return answer;
    const { message, extensions } = refusalOf(
      reason,
      request,
      this.chains.all.map(({ chainId }) => chainId),
    );
    return { ...answer, body: { ...answer.body, errorMessage: message, extensions } };
  }

  /** @throws RedisUnavailableError */
  async byId(id: string): Promise<SettlementStatus | undefined> {
    const simulated = await this.store.find(id);
    return simulated && simulatedStatusOf(simulated, Date.now());
  }

  /** The first payment with one of these ids that this API key has simulated with this outcome. */
  async byAuthorization(
    caller: string,
    outcome: SimulatedOutcome,
    authorizationIds: readonly string[],
  ): Promise<SettlementStatus | undefined> {
    for (const authorizationId of authorizationIds) {
      const found = await this.byId(simulatedIdOf(caller, authorizationId, outcome));
      if (found !== undefined) return found;
    }
    return undefined;
  }

  async #play(payment: Payment, terms: SimulationTerms): Promise<SettleAnswer | undefined> {
    const { outcome, caller, finality, connection } = terms;
    const draft = this.#draft(payment, terms);
    const begun = await this.store.begin(caller, draft);
    if (begun === 'full') throw new SimulationRefused('full');
    const { settlement, isNew } = begun;
    const answers = new SettleAnswers(payment, finality, settlement.id);
    if (settlement.termsTag !== draft.termsTag) return answers.failure('duplicate_settlement');
    if (outcome === 'timeout' && isNew) {
      await this.#wait(caller, this.rules.silentMs, connection);
      return undefined;
    }
    if (outcome === 'slow') {
      const left = settlement.begunAt + SLOW_MS - Date.now();
      if (left > 0) await this.#wait(caller, left, connection);
    }
    if (!connection.isWritable) return undefined;
    // The state after the wait.
    const now = (await this.store.find(settlement.id)) ?? begun;
    return this.#answer(now, answers, payment, terms);
  }

  #draft(payment: Payment, terms: SimulationTerms): SimulatedSettlement {
    const { outcome, caller, isAsync, finality } = terms;
    const { chainId, amount } = payment.requirements;
    if (!this.rules.maySimulateOn(chainId)) {
      throw new SimulationRefused('network');
    }
    if (outcome === 'reorg' && finality === 'finalized') throw new SimulationRefused('finality');
    const action = actionOf(payment.claim);
    const { reasons, settlesLess } = action;
    const identity = identityOf(payment);
    // A simulated settlement pays a payee; a deposit does not.
    const details = action.paysInto === undefined ? simulatedDetailsOf(payment) : undefined;
    if (
      identity === undefined ||
      details === undefined ||
      action.needsNoTransaction?.(amount) === true
    ) {
      throw new SimulationRefused('payment');
    }
    const failure = outcome === 'reverted' ? reasons.transactionFailed : reasons.expired;
    return {
      id: simulatedIdOf(caller, identity.authorizationId, outcome),
      outcome,
      isAsync,
      details,
      failure,
      termsTag: identity.termsTag,
      begunAt: Date.now(),
      ...(settlesLess === true && { settledAmount: amount.toString() }),
    };
  }

  /** In the order of a real settle: sold to another, failed, paid, in progress. */
  async #answer(
    simulated: Simulated,
    answers: SettleAnswers,
    payment: Payment,
    { keyTag, isAsync, finality }: SimulationTerms,
  ): Promise<SettleAnswer> {
    const { id } = simulated.settlement;
    const view = viewOf(simulated, Date.now());
    const transaction = view.transaction;
    const duplicate = (): SettleAnswer => answers.failure('duplicate_settlement', transaction);
    const { isRepeatable, reasons } = actionOf(payment.claim);
    const isOwn = isSoldToKey(view, keyTag);
    if (view.sale.state === 'sold' && !isOwn && !isRepeatable) return duplicate();
    const requester = randomUUID();
    const sold = (): Promise<boolean> =>
      isOwn || isRepeatable
        ? Promise.resolve(true)
        : this.store.sell(id, { requester, keyTag, at: Date.now() });
    const rollBack = (): Promise<void> => this.store.rollBack(id, requester);
    if (isAsync) {
      return (await sold()) ? answers.accepted({ id, transaction }, rollBack) : duplicate();
    }
    if (isFailure(view)) {
      return answers.failure(view.reason ?? reasons.transactionFailed, transaction);
    }
    if (!isPaidAt(view))
      return transaction === undefined ? duplicate() : answers.pending(transaction);
    // A success is sold before it is answered, like a real one.
    return (await sold()) ? answers.success(successView(view, finality), rollBack) : duplicate();
  }

  async #wait(caller: string, ms: number, connection: Connection): Promise<void> {
    const waiting = this.#waits.get(caller) ?? 0;
    if (waiting >= WAITS_MOST) throw new SimulationRefused('full');
    this.#waits.set(caller, waiting + 1);
    try {
      await withTimeout(ms, Promise.race([connection.closed, this.#stopped]));
    } finally {
      const left = (this.#waits.get(caller) ?? 1) - 1;
      if (left === 0) this.#waits.delete(caller);
      else this.#waits.set(caller, left);
    }
  }
}

/** A wait for finality is not simulated: an included settlement counts as final for requests that ask for it. */
function isPaidAt(view: SettlementView): boolean {
  return isSuccessAt(view, 'included');
}
