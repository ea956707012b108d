import { ApiProperty, ApiPropertyOptional, ApiSchema, OmitType } from '@nestjs/swagger';
import { count, flag, moment, text } from '../../../platform/http/openapi.js';
import { WebhookDelivery, WebhookView } from '../../webhooks/dto/webhook.response.js';

/** Dates become ISO 8601 in these answers, and fields that are `undefined` are left out. */

/** One action of an operator. */
export class OperatorAction {
  @ApiProperty(text)
  readonly id!: string;

  @ApiProperty(moment)
  readonly at!: Date;

  @ApiProperty(text)
  readonly action!: string;

  @ApiProperty(text)
  readonly subject!: string;

  @ApiProperty({ ...text, description: 'Id of an API key.' })
  readonly by!: string;

  @ApiPropertyOptional({
    ...text,
    description: 'Absent for an action that is not about one network.',
  })
  readonly network?: string;

  @ApiPropertyOptional({ ...text, description: 'The reason that the operator gave.' })
  readonly reason?: string | undefined;
}

export class OperatorActions {
  @ApiProperty({ type: [OperatorAction] })
  readonly actions!: readonly OperatorAction[];

  @ApiPropertyOptional(text)
  readonly next?: string;
}

/** One difference between books and chain that a run found. */
export class DifferenceView {
  @ApiProperty(text)
  readonly runId!: string;

  @ApiProperty(count)
  readonly number!: number;

  @ApiProperty(text)
  readonly name!: string;

  @ApiProperty({
    ...flag,
    description: 'True for a transfer that explains a balance and is not a difference.',
  })
  readonly isNote!: boolean;

  @ApiPropertyOptional({
    ...text,
    description: 'Absent if this version does not know the name of the difference.',
  })
  readonly meaning?: string | undefined;

  @ApiPropertyOptional(text)
  readonly settlementId?: string | undefined;

  @ApiPropertyOptional(text)
  readonly transaction?: string | undefined;

  @ApiPropertyOptional(count)
  readonly logIndex?: number | undefined;

  @ApiPropertyOptional(text)
  readonly block?: string | undefined;

  @ApiPropertyOptional(text)
  readonly lane?: string | undefined;

  @ApiPropertyOptional({ ...text, description: 'The value in the ledger.' })
  readonly expected?: string | undefined;

  @ApiPropertyOptional({ ...text, description: 'The value on the chain.' })
  readonly found?: string | undefined;
}

class BlockSpan {
  @ApiProperty(text)
  readonly first!: string;

  @ApiProperty(text)
  readonly last!: string;
}

@ApiSchema({ name: 'ReconciliationRun' })
export class RunView {
  @ApiProperty(text)
  readonly id!: string;

  @ApiProperty(text)
  readonly network!: string;

  @ApiProperty(text)
  readonly startedBy!: string;

  @ApiProperty(moment)
  readonly from!: Date;

  @ApiProperty(moment)
  readonly to!: Date;

  @ApiPropertyOptional({ type: BlockSpan })
  readonly blocks?: BlockSpan | undefined;

  @ApiProperty(count)
  readonly settlements!: number;

  @ApiProperty(count)
  readonly transactions!: number;

  @ApiProperty({
    type: 'object',
    additionalProperties: count,
    description: 'Number of differences and notes, by name.',
  })
  readonly counts!: Readonly<Record<string, number>>;

  @ApiProperty(count)
  readonly differences!: number;

  @ApiProperty(moment)
  readonly startedAt!: Date;

  @ApiProperty(moment)
  readonly finishedAt!: Date;
}

export class Reconciliations {
  @ApiProperty({ type: [RunView] })
  readonly runs!: readonly RunView[];

  @ApiPropertyOptional(text)
  readonly next?: string;
}

class LaneRecordView {
  @ApiProperty(text)
  readonly lane!: string;

  @ApiProperty(count)
  readonly transactions!: number;

  @ApiProperty(text)
  readonly feesWei!: string;

  @ApiPropertyOptional(text)
  readonly nonceBefore?: string | undefined;

  @ApiPropertyOptional(text)
  readonly nonceAfter?: string | undefined;

  @ApiPropertyOptional(text)
  readonly balanceBeforeWei?: string | undefined;

  @ApiPropertyOptional(text)
  readonly balanceAfterWei?: string | undefined;
}

export class Reconciliation extends RunView {
  @ApiProperty({ type: [DifferenceView] })
  readonly found!: readonly DifferenceView[];

  @ApiProperty({ type: [LaneRecordView] })
  readonly lanes!: readonly LaneRecordView[];

  @ApiPropertyOptional(text)
  readonly next?: string;
}

export class OperatorDeliveries {
  @ApiProperty({ type: [WebhookDelivery] })
  readonly deliveries!: readonly WebhookDelivery[];

  @ApiPropertyOptional(text)
  readonly next?: string;
}

/** The pending deliveries of one webhook. */
class Backlog {
  @ApiProperty(count)
  readonly waiting!: number;

  @ApiProperty({ ...flag, description: 'True if more deliveries wait than `waiting` counts.' })
  readonly isMore!: boolean;

  @ApiPropertyOptional(moment)
  readonly firstDueAt?: Date | undefined;
}

class LastAnswer {
  @ApiProperty(moment)
  readonly at!: Date;

  @ApiProperty(text)
  readonly state!: string;

  @ApiPropertyOptional(count)
  readonly status?: number;

  @ApiPropertyOptional(text)
  readonly problem?: string;

  @ApiPropertyOptional(text)
  readonly answer?: string;
}

export class OperatorWebhook extends WebhookView {
  @ApiProperty(text)
  readonly owner!: string;

  @ApiPropertyOptional({ type: LastAnswer })
  readonly last?: LastAnswer | undefined;

  @ApiProperty()
  readonly backlog!: Backlog;
}

export class OperatorWebhooks {
  @ApiProperty({ type: [OperatorWebhook] })
  readonly webhooks!: readonly OperatorWebhook[];

  @ApiPropertyOptional(text)
  readonly next?: string;
}

class ReportedDeliveryView extends OmitType(WebhookDelivery, [
  'eventId',
  'type',
  'settlementId',
  'happenedAt',
  'triedAt',
  'dueAt',
]) {
  @ApiProperty(text)
  readonly webhookId!: string;

  @ApiProperty(text)
  readonly owner!: string;

  @ApiProperty(text)
  readonly url!: string;

  @ApiPropertyOptional(moment)
  readonly triedAt?: Date;

  @ApiPropertyOptional(moment)
  readonly dueAt?: Date;
}

/** An event of a settlement, with its deliveries. */
class ReportedEventView {
  @ApiProperty(text)
  readonly eventId!: string;

  @ApiProperty(text)
  readonly type!: string;

  @ApiProperty(moment)
  readonly happenedAt!: Date;

  @ApiProperty({ type: [ReportedDeliveryView] })
  readonly deliveries!: readonly ReportedDeliveryView[];
}

class ArchivedNoteView {
  @ApiProperty(moment)
  readonly archivedAt!: Date;

  @ApiProperty({
    ...flag,
    description: 'A requester received success, or received 202 and the payment was included.',
  })
  readonly isTold!: boolean;

  @ApiProperty({
    ...flag,
    description:
      'Two requesters with one idempotency key received the answer, so the sale cannot be rolled back.',
  })
  readonly isKept!: boolean;
}

/** The past of one settlement in the history. Only `known` has rows; a failure has `code` and `error`. */
@ApiSchema({ name: 'SettlementPast' })
export class SettlementPastView {
  @ApiProperty({ ...text, enum: ['known', 'off', 'unavailable'] })
  readonly status!: 'known' | 'off' | 'unavailable';

  @ApiPropertyOptional(text)
  readonly code?: string;

  @ApiPropertyOptional(text)
  readonly error?: string;

  @ApiPropertyOptional({
    type: ArchivedNoteView,
    description: 'Absent while the settlement is not archived.',
  })
  readonly row?: ArchivedNoteView | undefined;

  @ApiPropertyOptional({ type: [ReportedEventView] })
  readonly events?: readonly ReportedEventView[];

  @ApiPropertyOptional({ type: [DifferenceView] })
  readonly differences?: readonly DifferenceView[];

  @ApiPropertyOptional({
    type: [OperatorAction],
    description:
      'Actions of operators on it, and on its network from one hour before its claim to its end.',
  })
  readonly actions?: readonly OperatorAction[];
}
