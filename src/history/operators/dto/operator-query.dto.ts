import {
  type FieldOptions,
  IsAtomicAmount,
  IsCaip2,
  IsDayOrTime,
  IsEvmAddress,
  IsOneOf,
  IsQueryInteger,
  IsText,
} from '../../../platform/http/validators.js';
import { allSchemes } from '../../../protocol/schemes/registry.js';
import { CHANNEL_ACTIONS, type ChannelAction } from '../../../protocol/schemes/scheme.js';
import {
  AreGroups,
  SettlementFilterDto,
  TotalsQueryDto,
} from '../../sellers/dto/settlement-filter.dto.js';
import { EVENT_ID } from '../../webhooks/dto/webhook.dto.js';
import { WEBHOOK_STATUSES, type WebhookStatus } from '../operator-archive.js';

const optional = true;
const PAGE = 50;
const SCHEMES = allSchemes().map(({ name }) => name);

/** A bigint of PostgreSQL. Numbers that the column cannot hold are refused. */
export const RUN_ID = /^[1-9][0-9]{0,17}$/;
export const WEBHOOK_ID = /^we_[A-Za-z0-9_-]{1,64}$/;

const IsLimit = (): PropertyDecorator =>
  IsQueryInteger({ minimum: 1, maximum: 100, default: PAGE });

const IsName = (options: FieldOptions = {}): PropertyDecorator =>
  IsText(
    {
      pattern: /^[A-Za-z0-9_.:-]{1,128}$/,
      message: 'must be 1 to 128 letters, digits or . : _ -',
    },
    { optional, ...options },
  );

const IsNext = (pattern: RegExp, what: string): PropertyDecorator =>
  IsText(
    { pattern, message: `must be the ${what}` },
    { optional, description: '`next` of the previous page.' },
  );

/** `GET /admin/api/history/settlements` */
export class HistorySearchDto extends SettlementFilterDto {
  @IsEvmAddress({ optional })
  readonly payer?: string;

  @IsAtomicAmount({
    optional,
    description: 'Atomic units. Settlements with a lower amount are not listed.',
  })
  readonly leastAmount?: string;

  @IsOneOf(SCHEMES, { optional })
  readonly scheme?: string;

  @IsOneOf(CHANNEL_ACTIONS, { optional, description: 'The action of a channel.' })
  readonly action?: ChannelAction;

  @IsLimit()
  readonly limit: number = PAGE;

  @IsText({}, { optional, description: '`nextCursor` of the previous page.' })
  readonly cursor?: string;
}

/** `GET /admin/api/history/totals` */
export class HistoryTotalsDto extends TotalsQueryDto {
  @IsEvmAddress({ optional })
  readonly payer?: string;

  @AreGroups('day,asset')
  override readonly groupBy: string = 'day,asset';
}

/** `GET /admin/api/webhooks` */
export class WebhooksQueryDto {
  @IsName()
  readonly owner?: string;

  @IsOneOf(WEBHOOK_STATUSES, { optional })
  readonly status?: WebhookStatus;

  @IsLimit()
  readonly limit: number = PAGE;

  @IsNext(WEBHOOK_ID, 'id of a webhook')
  readonly after?: string;
}

/** `GET /admin/api/webhooks/:id/deliveries` */
export class AnyDeliveriesDto {
  @IsLimit()
  readonly limit: number = PAGE;

  @IsNext(EVENT_ID, 'id of an event')
  readonly before?: string;
}

/** `GET /admin/api/reconciliations` */
export class RunsQueryDto {
  @IsCaip2({ optional })
  readonly network?: string;

  @IsLimit()
  readonly limit: number = PAGE;

  @IsNext(RUN_ID, 'id of a run')
  readonly before?: string;
}

/** `GET /admin/api/reconciliations/:id` */
export class RunQueryDto {
  @IsLimit()
  readonly limit: number = PAGE;

  @IsNext(/^(0|[1-9][0-9]{0,8})$/, 'number of a difference')
  readonly after: string = '0';
}

/** `GET /admin/api/audit` */
export class AuditQueryDto {
  @IsName()
  readonly by?: string;

  @IsText(
    {
      pattern: /^[A-Za-z0-9_.:[\]-]{1,300}$/,
      message: 'must be 1 to 300 letters, digits or . : _ - [ ]',
    },
    { optional, description: 'A lane, or a payee or host that the catalogue denies.' },
  )
  readonly subject?: string;

  @IsCaip2({ optional })
  readonly network?: string;

  @IsDayOrTime({
    optional,
    description: 'Only actions at or after this day (UTC) or time with its zone.',
  })
  readonly from?: string;

  @IsDayOrTime({ optional, description: 'Only actions before this day or time.' })
  readonly to?: string;

  @IsLimit()
  readonly limit: number = PAGE;

  @IsNext(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, 'id of an action')
  readonly before?: string;
}
