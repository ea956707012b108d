import type { Hex } from 'viem';
import type { ResponseEcho } from '../../protocol/payment/parse-payment.js';
import { type Reason, REASONS } from '../../protocol/reasons.js';
import type { ReasonFacts } from '../../protocol/reasons/reason-facts.js';
import type { Finality, SettlementView } from '../../settlement/model/settlement.js';
import type { Refused } from '../refusal.js';
import type { PaidBy } from '../status/used-authorization-finder.js';

/** The body of a settle answer (x402 V2 specification §5.3.2, V1 §5.3); strings are never missing. */
interface SettleBody {
  readonly success: boolean;
  readonly errorReason?: Reason;
  readonly errorMessage?: string;
  readonly payer?: string;
  /** The hash once one is known, else empty. */
  readonly transaction: string;
  /** In the requester's own form. */
  readonly network: string;
  /** The settled amount, atomic units, where it may be less than the signed one. */
  readonly amount?: string;
  readonly extra?: Readonly<Record<string, unknown>>;
  readonly extensions?: Refused['extensions'];
}

export interface SettleAnswer {
  readonly status: number;
  readonly body: SettleBody;
  readonly settlementId: string | undefined;
  /** The certainty at which this answer speaks. */
  readonly finality: Finality;
  readonly retryAfterSeconds?: number;
  /** Refused as used, and this transaction of another sender paid the payee exactly this. */
  readonly paidBy?: PaidBy;
  /** A sentence on what was found out beyond the reason of a refusal. */
  readonly cause?: string;
  /** What becomes of what the request carried beside the payment. */
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

  /** The same answers about a claim that is known by now. */
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
   * Of a settlement that has failed.
   *
   * @param unknown - where it is not known why.
   */
  failed({ state, reason, transaction, logIndex }: SettlementView, unknown: Reason): SettleAnswer {
    const answer = this.failure(reason ?? unknown, transaction);
    const isPaidElsewhere = state === 'foreign' && logIndex !== undefined;
    return isPaidElsewhere && transaction !== undefined
      ? { ...answer, paidBy: transaction }
      : answer;
  }

  /** Non-terminal: a transaction was sent, its outcome is not known yet. */
  pending(transaction: Hex): SettleAnswer {
    return this.failure('settlement_pending', transaction);
  }

  /** The ledger went back a moment ago, and other processes may still replay a sale of this payment. */
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

  /** Of what was done before, by a transaction that is not known. It is so at the finality that was asked for. */
  doneBefore(): SettleAnswer {
    return this.#answer({ success: true, transaction: '' }, 200);
  }

  /** 202: the settlement is this requester's to look up; nothing is known of its outcome yet. */
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
