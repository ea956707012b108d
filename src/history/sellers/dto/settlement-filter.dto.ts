import { OmitType } from '@nestjs/swagger';
import {
  IsCaip2,
  IsDayOrTime,
  IsEvmAddress,
  IsOneOf,
  IsText,
} from '../../../platform/http/validators.js';
import { type SaleFilter, SALES } from '../../../settlement/ledger/queries/settlement-listing.js';
import { SETTLEMENT_STATES, type SettlementState } from '../../../settlement/model/settlement.js';

const optional = true;
const SALE = '`unclaimed`: paid and not delivered, because no settle request received success.';
const FROM = 'Only settlements claimed at or after this day (UTC) or time with its zone.';

const FORMATS = ['csv', 'ndjson'] as const;

const GROUPS = /^(day|asset|payee)(,(day|asset|payee))*$/;

export const AreGroups = (usual: string): PropertyDecorator =>
  IsText(
    { pattern: GROUPS, message: 'must be a list of day, asset, payee' },
    { optional, description: '`day`, `asset` and `payee`, comma-separated.' },
    { type: 'string', pattern: GROUPS.source, default: usual },
  );

/** Parameters of every list, export and total. */
export class SettlementFilterDto {
  @IsEvmAddress({ optional })
  readonly payTo?: string;

  @IsDayOrTime({ optional, description: FROM })
  readonly from?: string;

  @IsDayOrTime({ optional, description: 'Only settlements claimed before this day or time.' })
  readonly to?: string;

  @IsOneOf(SETTLEMENT_STATES, { optional })
  readonly state?: SettlementState;

  @IsOneOf(SALES, { optional, description: SALE })
  readonly sale?: SaleFilter;

  @IsEvmAddress({ optional })
  readonly asset?: string;

  @IsCaip2({ optional })
  readonly network?: string;
}

/** `GET /v2/settlements/totals` */
export class TotalsQueryDto extends OmitType(SettlementFilterDto, ['from']) {
  @IsDayOrTime({ description: FROM })
  readonly from!: string;

  @AreGroups('asset')
  readonly groupBy: string = 'asset';
}

/** `GET /v2/settlements/export` */
export class ExportQueryDto extends SettlementFilterDto {
  @IsOneOf(FORMATS)
  readonly format!: (typeof FORMATS)[number];
}
