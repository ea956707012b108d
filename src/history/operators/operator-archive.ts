import type { Address, Hex } from 'viem';
import type { Narrowing } from '../sellers/settlement-filter.js';
import type {
  Grouping,
  ListedSettlement,
  Position,
  TotalRow,
} from '../sellers/settlement-reader.js';
import type { Answered, DeliveryReport, Webhook } from '../webhooks/webhook.js';

/** Which settlements an operator asks for: of every payee where none is named. */
export interface SearchFilter extends Narrowing {
  readonly payer: Address | undefined;
}

/** A settlement as its row says beyond what is shown of it anywhere. */
export interface ArchivedNote {
  readonly archivedAt: Date;
  /** A requester got its success, or its 202 and the payment was included. */
  readonly isTold: boolean;
  /** Two requesters of one key got the answer: the sale cannot be rolled back. */
  readonly isKept: boolean;
}

export interface WebhookFilter {
  readonly owner: string | undefined;
  readonly status: WebhookStatus | undefined;
  /** The last one of the page before. */
  readonly after: string | undefined;
}

/** `failing`: enabled, and nothing reaches it. */
export const WEBHOOK_STATUSES = ['enabled', 'failing', 'disabled'] as const;
export type WebhookStatus = (typeof WEBHOOK_STATUSES)[number];

/** An endpoint, how it answered last, and what waits for it. */
export interface WebhookState {
  readonly webhook: Webhook;
  readonly last: (Answered & { readonly at: Date; readonly state: string }) | undefined;
  readonly backlog: WebhookLine;
}

/** The pending deliveries of one endpoint. */
interface WebhookLine {
  readonly waiting: number;
  /** That there are more than were counted. */
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
  /** By name, notes too. */
  readonly counts: Readonly<Record<string, number>>;
  readonly differences: number;
  readonly startedAt: Date;
  readonly finishedAt: Date;
}

/** One line of what a run found. */
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

/** One thing an operator did. */
export interface AuditRow {
  readonly id: string;
  /** `undefined` for what is of no one chain. */
  readonly chainId: number | undefined;
  readonly at: Date;
  /** Id of an API key. */
  readonly by: string;
  readonly action: string;
  readonly subject: string;
  /** As the operator gave it, where one was asked for. */
  readonly reason?: string | undefined;
}

export interface AuditFilter {
  readonly chainId: number | undefined;
  readonly by: string | undefined;
  readonly subject: string | undefined;
  readonly from: Date | undefined;
  readonly to: Date | undefined;
}

/** {@link OperatorArchive}; `undefined` without a history. */
export const OPERATOR_ARCHIVE = Symbol('OPERATOR_ARCHIVE');

/**
 * What operators read of the history. Every list is bounded and in an order that an index has.
 *
 * @throws ArchiveError from every method, also when the archive does not answer in time.
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

  /** In the order of their ids. */
  webhooks(filter: WebhookFilter, most: number): Promise<readonly WebhookState[]>;
  /** Newest first. @returns `undefined` for an event that is not known. */
  deliveries(
    webhookId: string,
    before: string | undefined,
    most: number,
  ): Promise<readonly DeliveryReport[] | undefined>;
  /** In the order in which they happened. */
  eventsOf(settlementId: string, most: number): Promise<readonly ReportedEvent[]>;

  /** Newest first. @param before - the id of a run. */
  runs(
    chainId: number | undefined,
    before: string | undefined,
    most: number,
  ): Promise<readonly ReconciliationRun[]>;
  run(id: string): Promise<ReconciliationRun | undefined>;
  lanesOf(runId: string, most: number): Promise<readonly LaneAccount[]>;
  /** In the order in which they were found. @param after - the number of one. */
  differencesIn(runId: string, after: number, most: number): Promise<readonly KeptDifference[]>;
  /** Newest run first. */
  differencesOf(settlementId: string, most: number): Promise<readonly KeptDifference[]>;

  /** Newest first. @returns `undefined` where `before` is the id of no action. */
  actions(
    filter: AuditFilter,
    before: string | undefined,
    most: number,
  ): Promise<readonly AuditRow[] | undefined>;
}
