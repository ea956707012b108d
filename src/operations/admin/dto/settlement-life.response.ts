import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { SettlementPastView } from '../../../history/operators/dto/operator.response.js';
import { flag, moment, schemaRef, text } from '../../../platform/http/openapi.js';
import type { ChannelEvent } from '../../../protocol/schemes/scheme.js';
import type { SettlementStatus } from '../../../settlement/ledger/queries/settlement-status.js';
import type { Sale } from '../../../settlement/model/settlement.js';
import { LaneAttemptView } from './admin.response.js';

/** The sale. Keys are stored as hashes, and shown only as present or absent. */
export class SaleView {
  @ApiProperty(text)
  readonly state!: Sale['state'];

  @ApiPropertyOptional({ ...text, description: 'Id of the request that has the sale.' })
  readonly requester?: string;

  @ApiProperty(flag)
  readonly isBoundToKey!: boolean;

  @ApiProperty(flag)
  readonly isSoldToKey!: boolean;
}

/** An operator has delivered or refunded the payment by hand. */
export class ClosingView {
  @ApiProperty(moment)
  readonly at!: string;

  @ApiPropertyOptional({
    ...text,
    description: 'Id of an API key; known where there is a history.',
  })
  readonly by?: string;
}

/** An event of the escrow of `batch-settlement`. */
class ChannelEventView {
  @ApiProperty({ ...text, enum: ['Deposited', 'Claimed', 'Settled', 'Refunded'] })
  readonly event!: ChannelEvent['event'];

  @ApiPropertyOptional({ ...text, description: '32 bytes; absent for a payout.' })
  readonly channelId?: string;

  @ApiProperty({ ...text, description: 'Atomic units.' })
  readonly amount!: string;
}

/** All stored facts of one settlement. */
export class SettlementLife {
  @ApiProperty(text)
  readonly network!: string;

  @ApiProperty(schemaRef('Settlement'))
  readonly settlement!: SettlementStatus;

  @ApiProperty()
  readonly sale!: SaleView;

  @ApiPropertyOptional({
    type: ClosingView,
    description: 'It was paid and not delivered, and an operator closed it.',
  })
  readonly closed?: ClosingView;

  @ApiProperty({ ...flag, description: 'True if the request was answered with 202.' })
  readonly isAsync!: boolean;

  @ApiProperty({
    type: [LaneAttemptView],
    description: 'Attempts that carry the settlement now; empty for a final settlement.',
  })
  readonly attempts!: readonly LaneAttemptView[];

  @ApiPropertyOptional({
    type: [ChannelEventView],
    description:
      'For an action on channels: the events of its transaction, as a node shows them now.',
  })
  readonly channels?: readonly ChannelEventView[];

  @ApiProperty()
  readonly history!: SettlementPastView;
}
