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

  @ApiPropertyOptional({ ...text, description: 'Absent for an action on no one network.' })
  readonly network?: string;

  @ApiPropertyOptional({ ...text, description: 'As the operator gave it.' })
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

  @ApiProperty({ ...flag, description: 'It explains a balance and is no difference.' })
  readonly isNote!: boolean;

  @ApiPropertyOptional({
    ...text,
    description: 'Absent for names that only a newer version knows.',
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

  @ApiPropertyOptional({ ...text, description: 'As the books have it.' })
  readonly expected?: string | undefined;

  @ApiPropertyOptional({ ...text, description: 'As the chain has it.' })
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

  @ApiProperty({ type: 'object', additionalProperties: count, description: 'By name, notes too.' })
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

class LaneBookView {
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

  @ApiProperty({ type: [LaneBookView] })
  readonly lanes!: readonly LaneBookView[];

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

  @ApiProperty({ ...flag, description: 'There are more than were counted.' })
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
    description: 'A requester got its success, or its 202 and the payment was included.',
  })
  readonly isTold!: boolean;

  @ApiProperty({
    ...flag,
    description: 'Two requesters of one key got the answer: the sale cannot be rolled back.',
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
    description: 'Absent for one that is not archived yet.',
  })
  readonly row?: ArchivedNoteView | undefined;

  @ApiPropertyOptional({ type: [ReportedEventView] })
  readonly events?: readonly ReportedEventView[];

  @ApiPropertyOptional({ type: [DifferenceView] })
  readonly differences?: readonly DifferenceView[];

  @ApiPropertyOptional({
    type: [OperatorAction],
    description: 'On its network, from an hour before its claim to its end.',
  })
  readonly actions?: readonly OperatorAction[];
}
