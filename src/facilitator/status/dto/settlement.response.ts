import {
  ApiExtraModels,
  ApiProperty,
  ApiPropertyOptional,
  type ApiPropertyOptions,
  ApiSchema,
} from '@nestjs/swagger';
import { CLOSED, flag, moment, schemaRef, text } from '../../../platform/http/openapi.js';
import type { ActionMethod } from '../../../protocol/evm/transfer-method.js';
import {
  ADDRESS_SCHEMA,
  ATOMIC_UNITS_SCHEMA,
  CAIP2_SCHEMA,
  NONCE_SCHEMA,
  SETTLEMENT_ID_SCHEMA,
  UNIX_SECONDS_SCHEMA,
} from '../../../protocol/payment/wire-schemas.js';
import { allMethodNames } from '../../../protocol/schemes/registry.js';
import { CHANNEL_ACTIONS, type ChannelAction } from '../../../protocol/schemes/scheme.js';
import type { SettlementStatus } from '../../../settlement/ledger/queries/settlement-status.js';
import {
  type SaleState,
  SETTLEMENT_STATES,
  type SettlementState,
} from '../../../settlement/model/settlement.js';
import { HASH } from '../../openapi/values.js';
import type { ChainStatus } from '../status.service.js';

const METHOD = { ...text, enum: allMethodNames() };

class SettlementBlock {
  @ApiProperty(ATOMIC_UNITS_SCHEMA)
  readonly number!: string;

  @ApiPropertyOptional(HASH)
  readonly hash?: string;
}

class SettlementPayment {
  @ApiProperty({ ...CAIP2_SCHEMA, description: 'CAIP-2.' })
  readonly network!: string;

  @ApiProperty(text)
  readonly scheme!: string;

  @ApiProperty(METHOD)
  readonly method!: string;

  @ApiPropertyOptional({
    ...text,
    enum: [...CHANNEL_ACTIONS],
    description: 'The action on a channel; absent for a payment.',
  })
  readonly action?: ChannelAction;

  @ApiProperty(ADDRESS_SCHEMA)
  readonly asset!: string;

  @ApiProperty(ADDRESS_SCHEMA)
  readonly payer!: string;

  @ApiProperty(ADDRESS_SCHEMA)
  readonly payTo!: string;

  @ApiProperty({ ...ATOMIC_UNITS_SCHEMA, description: 'The amount that was signed.' })
  readonly amount!: string;

  @ApiPropertyOptional({
    ...ATOMIC_UNITS_SCHEMA,
    description: 'The paid amount, for a scheme that may settle less than the signed amount.',
  })
  readonly settledAmount?: string;

  @ApiProperty(NONCE_SCHEMA)
  readonly nonce!: string;

  @ApiProperty(UNIX_SECONDS_SCHEMA)
  readonly deadline!: string;
}

class SettlementTimes {
  @ApiPropertyOptional(moment)
  readonly arrived?: string;

  @ApiPropertyOptional(moment)
  readonly claimed?: string;

  @ApiPropertyOptional(moment)
  readonly allocated?: string;

  @ApiPropertyOptional(moment)
  readonly included?: string;

  @ApiPropertyOptional(moment)
  readonly finished?: string;
}

/** A settlement as the public sees it. */
@ApiSchema({ name: 'Settlement', ...CLOSED })
export class SettlementBody implements SettlementStatus {
  @ApiProperty(SETTLEMENT_ID_SCHEMA)
  readonly settlementId!: string;

  @ApiProperty({
    ...text,
    enum: ['ledger', 'archive', 'simulation'],
    description:
      '`archive`: the settlement has left the ledger; the answer shows its last archived state. `simulation`: the settlement is simulated by `X-Simulate`.',
  })
  readonly source!: SettlementStatus['source'];

  @ApiProperty({
    ...text,
    enum: [...SETTLEMENT_STATES],
  })
  readonly state!: SettlementState;

  @ApiProperty({ ...flag, description: 'Whether the settlement has paid the payee.' })
  readonly paid!: boolean;

  @ApiProperty({ ...text, enum: ['none', 'included', 'finalized'] })
  readonly finality!: SettlementStatus['finality'];

  @ApiProperty({
    ...text,
    enum: ['open', 'sold'],
    description: '`sold`: one request was answered with success or with 202.',
  })
  readonly sale!: SaleState;

  @ApiPropertyOptional(schemaRef('Reason'))
  readonly reason?: string;

  @ApiPropertyOptional(HASH)
  readonly transaction?: string;

  @ApiPropertyOptional({ type: 'array', items: HASH })
  readonly transactions?: readonly string[];

  @ApiPropertyOptional()
  readonly block?: SettlementBlock;

  @ApiPropertyOptional({ type: 'integer' })
  readonly logIndex?: number;

  @ApiPropertyOptional({ type: 'integer' })
  readonly batchSize?: number;

  @ApiPropertyOptional()
  readonly payment?: SettlementPayment;

  @ApiPropertyOptional()
  readonly times?: SettlementTimes;
}

class ChainUseBlock {
  @ApiProperty(ATOMIC_UNITS_SCHEMA)
  readonly number!: string;
}

@ApiSchema({
  name: 'ChainUse',
  description: 'The chain’s facts about an authorization that the ledger does not know.',
  ...CLOSED,
})
export class ChainUseBody implements ChainStatus {
  @ApiProperty({ ...text, const: 'chain' } as ApiPropertyOptions)
  readonly source!: 'chain';

  @ApiProperty(flag)
  readonly used!: boolean;

  @ApiProperty(flag)
  readonly paid!: boolean;

  @ApiPropertyOptional({ type: 'object', additionalProperties: text })
  readonly payment?: Readonly<Record<string, string>>;

  @ApiPropertyOptional(METHOD)
  readonly method?: ActionMethod;

  @ApiPropertyOptional(HASH)
  readonly transaction?: string;

  @ApiPropertyOptional()
  readonly block?: ChainUseBlock;
}

@ApiSchema({ name: 'Settlements' })
@ApiExtraModels(SettlementBody, ChainUseBody)
export class SettlementsBody {
  @ApiProperty({
    type: 'array',
    items: { anyOf: [schemaRef('Settlement'), schemaRef('ChainUse')] },
  })
  readonly settlements!: readonly (SettlementBody | ChainUseBody)[];

  @ApiPropertyOptional({ ...text, description: 'For lists: the cursor of the next page.' })
  readonly nextCursor?: string;
}
