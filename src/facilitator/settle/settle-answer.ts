import type { Hex } from 'viem';
import type { ResponseEcho } from '../../protocol/payment/parse-payment.js';
import { type Reason, REASONS } from '../../protocol/reasons.js';
import type { ReasonFacts } from '../../protocol/reasons/reason-facts.js';
import type { Finality, SettlementView } from '../../settlement/model/settlement.js';
import type { SettleBody } from '../dto/settle.response.js';
import type { PaidBy } from '../status/used-authorization-finder.js';

export interface SettleAnswer {
  readonly status: number;
  readonly body: SettleBody;
  readonly settlementId: string | undefined;
  /** The finality that this answer asserts. */
  readonly finality: Finality;
  readonly retryAfterSeconds?: number;
  /** Refused as used, because this transaction of another sender paid the payee exactly this amount. */
  readonly paidBy?: PaidBy;
  /** One sentence of detail beyond the reason of a refusal. */
  readonly cause?: string;
  /** Results of the extensions that the request carried beside the payment. */
  readonly extensionResponses?: string;
  /** Present when the answer sells: to be called when the response closes before it is finished. */
  readonly rollBack?: () => Promise<void>;
}

/** Builds the answers to one requester. */
export class SettleAnswers {
  constructor(
    private readonly correspondent: ResponseEcho,
    private readonly finality: Finality,
    private readonly settlementId: string | undefined,
  ) {}

  /** The same answers for a claim that is now known. */
  of(settlementId: string): SettleAnswers {
    return new SettleAnswers(this.correspondent, this.finality, settlementId);
  }

  failure(reason: Reason, transaction?: Hex, retryAfterSeconds?: number): SettleAnswer {
    const facts: { status?: number; meaning: string } = REASONS[reason];
    return this.#answer(
      {
        success: false,
        errorReason: reason,
        errorMessage: facts.meaning,
        transaction: transaction ?? '',
      },
      facts.status ?? 200,
      retryAfterSeconds,
    );
  }

  /**
   * The answer for a failed settlement.
   *
   * @param unknown - the reason if the cause is unknown.
   */
  failed({ state, reason, transaction, logIndex }: SettlementView, unknown: Reason): SettleAnswer {
    const answer = this.failure(reason ?? unknown, transaction);
    const isPaidElsewhere = state === 'foreign' && logIndex !== undefined;
    return isPaidElsewhere && transaction !== undefined
      ? { ...answer, paidBy: transaction }
      : answer;
  }

  /** Not final: a transaction was sent, and its outcome is unknown. */
  pending(transaction: Hex): SettleAnswer {
    return this.failure('settlement_pending', transaction);
  }

  /** The ledger has just lost its newest writes, and other processes may still replay a sale of this payment. */
  notYet(): SettleAnswer {
    const cause =
      'Redis lost its newest writes in a failover or a restart. ' +
      'For 3 to 20 seconds after that no payment is sold, because one whose answer was lost could be sold twice.';
    return { ...this.failure('network_unavailable'), cause };
  }

  success(view: SettlementView, rollBack: (() => Promise<void>) | undefined): SettleAnswer {
    const answer = this.#answer({ success: true, transaction: view.transaction ?? '' }, 200);
    return {
      ...answer,
      finality: view.state === 'included' ? 'included' : 'finalized',
      body: {
        ...answer.body,
        ...(view.settledAmount !== undefined && { amount: view.settledAmount.toString() }),
        extra: {
          settlementId: view.id,
          ...(view.logIndex !== undefined && { logIndex: view.logIndex }),
          ...(view.batchSize !== undefined && { batchSize: view.batchSize }),
        },
      },
      ...(rollBack !== undefined && { rollBack }),
    };
  }

  /** The answer for an action that an unknown transaction did before, at the requested finality. */
  doneBefore(): SettleAnswer {
    return this.#answer({ success: true, transaction: '' }, 200);
  }

  /** 202: the requester can look the settlement up; its outcome is unknown. */
  accepted(
    view: { id: string; transaction?: Hex | undefined },
    rollBack: () => Promise<void>,
  ): SettleAnswer {
    const answer = this.#answer({ success: false, transaction: view.transaction ?? '' }, 202);
    return {
      ...answer,
      body: { ...answer.body, extra: { settlementId: view.id } },
      rollBack,
    };
  }

  #answer(
    body: Omit<SettleBody, 'network' | 'payer'>,
    status: number,
    retryAfterSeconds?: number,
  ): SettleAnswer {
    const { payerAsSent, networkAsSent } = this.correspondent;
    const facts: ReasonFacts | undefined = body.errorReason && REASONS[body.errorReason];
    const isNamed = payerAsSent !== undefined && facts?.isWithoutPayer !== 'always';
    return {
      status,
      body: {
        ...body,
        ...(isNamed && { payer: payerAsSent }),
        network: networkAsSent,
      },
      settlementId: this.settlementId,
      finality: this.finality,
      ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    };
  }
}
