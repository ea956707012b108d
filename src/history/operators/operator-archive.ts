import type { Address, Hex } from 'viem';
import type { Narrowing } from '../sellers/settlement-filter.js';
import type {
  Grouping,
  ListedSettlement,
  Position,
  TotalRow,
} from '../sellers/settlement-reader.js';
import type { Answered, DeliveryReport, Webhook } from '../webhooks/webhook.js';

/** A query of an operator; without a payee, over every payee. */
export interface SearchFilter extends Narrowing {
  readonly payer: Address | undefined;
  /** Atomic units, decimal. */
  readonly leastAmount?: string | undefined;
}

/** Archived facts of a settlement that are shown only to operators. */
export interface ArchivedNote {
  readonly archivedAt: Date;
  /** A requester received success, or received 202 and the payment was included. */
  readonly isTold: boolean;
  /** Two requesters with one idempotency key received the answer, so the sale cannot be rolled back. */
  readonly isKept: boolean;
}

export interface WebhookFilter {
  readonly owner: string | undefined;
  readonly status: WebhookStatus | undefined;
  /** Id of the last webhook of the previous page. */
  readonly after: string | undefined;
}

/** `failing`: enabled, and its deliveries fail. */
export const WEBHOOK_STATUSES = ['enabled', 'failing', 'disabled'] as const;
export type WebhookStatus = (typeof WEBHOOK_STATUSES)[number];

/** A webhook, its last answer, and its pending deliveries. */
export interface WebhookState {
  readonly webhook: Webhook;
  readonly last: (Answered & { readonly at: Date; readonly state: string }) | undefined;
  readonly backlog: WebhookLine;
}

/** The pending deliveries of one endpoint. */
interface WebhookLine {
  readonly waiting: number;
  /** Whether more deliveries wait than were counted. */
  readonly isMore: boolean;
  readonly firstDueAt: Date | undefined;
}

/** An event of a settlement, with its deliveries. */
export interface ReportedEvent {
  readonly eventId: string;
  readonly type: string;
  readonly happenedAt: Date;
  readonly deliveries: readonly ReportedDelivery[];
}

export type ReportedDelivery = Omit<DeliveryReport, 'eventId' | 'type' | 'happenedAt'> & {
  readonly webhookId: string;
  readonly owner: string;
  readonly url: string;
};

export interface ReconciliationRun {
  readonly id: string;
  readonly chainId: number;
  readonly startedBy: string;
  readonly from: Date;
  readonly to: Date;
  readonly blocks: { readonly first: string; readonly last: string } | undefined;
  readonly settlements: number;
  readonly transactions: number;
  /** Differences and notes, by name. */
  readonly counts: Readonly<Record<string, number>>;
  readonly differences: number;
  readonly startedAt: Date;
  readonly finishedAt: Date;
}

/** One difference that a reconciliation run found. */
export interface KeptDifference {
  readonly runId: string;
  readonly number: number;
  readonly name: string;
  readonly isNote: boolean;
  readonly settlementId: string | undefined;
  readonly transaction: Hex | undefined;
  readonly logIndex: number | undefined;
  readonly block: string | undefined;
  readonly lane: Address | undefined;
  readonly expected: string | undefined;
  readonly found: string | undefined;
}

export interface LaneAccount {
  readonly lane: Address;
  readonly nonceBefore: string | undefined;
  readonly nonceAfter: string | undefined;
  readonly balanceBeforeWei: string | undefined;
  readonly balanceAfterWei: string | undefined;
  readonly transactions: number;
  readonly feesWei: string;
}

/** One action of an operator. */
export interface AuditRow {
  readonly id: string;
  /** `undefined` for an action that is not about one chain. */
  readonly chainId: number | undefined;
  readonly at: Date;
  /** Id of an API key. */
  readonly by: string;
  readonly action: string;
  readonly subject: string;
  /** The reason given by the operator, for actions that require one. */
  readonly reason?: string | undefined;
}

export interface AuditFilter {
  readonly chainId: number | undefined;
  readonly by: string | undefined;
  readonly subject: string | undefined;
  readonly from: Date | undefined;
  readonly to: Date | undefined;
}

/** {@link OperatorArchive}; `undefined` without a database. */
export const OPERATOR_ARCHIVE = Symbol('OPERATOR_ARCHIVE');

/** An operator has delivered or refunded a payment by hand. */
export interface Closing {
  readonly id: string;
  /** Id of an API key. */
  readonly by: string;
  readonly at: Date;
}

/**
 * Queries of operators, and closings of payments. Every list is bounded, and sorted in the order of an index.
 *
 * @throws ArchiveError from every method, also on a time-out.
 */
export interface OperatorArchive {
  /** Newest first. */
  page(
    filter: SearchFilter,
    after: Position | undefined,
    most: number,
  ): Promise<readonly ListedSettlement[]>;
  totals(filter: SearchFilter, grouping: Grouping, most: number): Promise<readonly TotalRow[]>;
  note(id: string): Promise<ArchivedNote | undefined>;
  /**
   * Removes a payment from those that are paid and not delivered, and writes an audit entry.
   *
   * @returns whether the payment was among them, or was closed before.
   */
  closeUnclaimed(closing: Closing): Promise<boolean>;

  /** Webhooks, sorted by id. */
  webhooks(filter: WebhookFilter, most: number): Promise<readonly WebhookState[]>;
  /**
   * Newest first.
   *
   * @returns `undefined` for an unknown event.
   */
  deliveries(
    webhookId: string,
    before: string | undefined,
    most: number,
  ): Promise<readonly DeliveryReport[] | undefined>;
  /** Events of one settlement, oldest first. */
  eventsOf(settlementId: string, most: number): Promise<readonly ReportedEvent[]>;

  /** Newest first. @param before - the id of a run. */
  runs(
    chainId: number | undefined,
    before: string | undefined,
    most: number,
  ): Promise<readonly ReconciliationRun[]>;
  run(id: string): Promise<ReconciliationRun | undefined>;
  lanesOf(runId: string, most: number): Promise<readonly LaneAccount[]>;
  /**
   * Differences of a run, in the order of their numbers.
   *
   * @param after - the number of the last difference read.
   */
  differencesIn(runId: string, after: number, most: number): Promise<readonly KeptDifference[]>;
  /** Newest run first. */
  differencesOf(settlementId: string, most: number): Promise<readonly KeptDifference[]>;

  /**
   * Newest first.
   *
   * @returns `undefined` if `before` is not the id of an action.
   */
  actions(
    filter: AuditFilter,
    before: string | undefined,
    most: number,
  ): Promise<readonly AuditRow[] | undefined>;
}
