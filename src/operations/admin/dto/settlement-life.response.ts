import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { SettlementPastView } from '../../../history/operators/dto/operator.response.js';
import { flag, schemaRef, text } from '../../../platform/http/openapi.js';
import type { SettlementStatus } from '../../../settlement/ledger/queries/settlement-status.js';
import type { Sale } from '../../../settlement/model/settlement.js';
import { LaneAttemptView } from './admin.response.js';

/** The sale. Keys are known here by their hashes alone, and shown as there or not. */
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

/** Everything that is kept of one settlement. */
export class SettlementLife {
  @ApiProperty(text)
  readonly network!: string;

  @ApiProperty(schemaRef('Settlement'))
  readonly settlement!: SettlementStatus;

  @ApiProperty()
  readonly sale!: SaleView;

  @ApiProperty({ ...flag, description: 'Accepted by a 202 answer.' })
  readonly isAsync!: boolean;

  @ApiProperty({
    type: [LaneAttemptView],
    description: 'That carry it now; a final settlement has none.',
  })
  readonly attempts!: readonly LaneAttemptView[];

  @ApiProperty()
  readonly history!: SettlementPastView;
}
