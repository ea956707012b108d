import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import type { Address } from 'viem';
import { count, moment, text } from '../../../platform/http/openapi.js';
import { ADDRESS_SCHEMA } from '../../../protocol/payment/wire-schemas.js';
import type { DeliveryState } from '../../postgres/tables.js';
import { type DisabledReason, EVENT_TYPES, type EventType } from '../webhook.js';
import { DESCRIPTION_SCHEMA, EVENT_ID, PAYEES_MAX, URL_SCHEMA } from './webhook.dto.js';

const eventId = { ...text, pattern: EVENT_ID.source };

class SecretName {
  @ApiProperty(text)
  readonly id!: string;
}

class WebhookDisabled {
  @ApiProperty(moment)
  readonly at!: string;

  @ApiProperty({ ...text, enum: ['owner', 'failing', 'gone'] })
  readonly reason!: DisabledReason;
}

/** A webhook as its owner sees it. Secrets are shown only when they are made. */
@ApiSchema({ name: 'Webhook' })
export class WebhookView {
  @ApiProperty(text)
  readonly id!: string;

  @ApiProperty(URL_SCHEMA)
  readonly url!: string;

  @ApiProperty(DESCRIPTION_SCHEMA)
  readonly description!: string;

  /** A webhook of an operator with only lane events has no payees. */
  @ApiProperty({ type: 'array', items: ADDRESS_SCHEMA, maxItems: PAYEES_MAX })
  readonly payees!: readonly Address[];

  @ApiProperty({ type: 'array', items: { ...text, enum: [...EVENT_TYPES] }, minItems: 1 })
  readonly events!: readonly EventType[];

  @ApiProperty({ type: [SecretName] })
  readonly secrets!: readonly SecretName[];

  @ApiProperty(moment)
  readonly createdAt!: string;

  @ApiPropertyOptional({
    ...moment,
    description:
      'Time at which the URL answered the challenge. Before it, no other event is sent to the URL.',
  })
  readonly confirmedAt?: string;

  @ApiProperty({ ...text, enum: ['enabled', 'disabled'] })
  readonly status!: 'enabled' | 'disabled';

  @ApiPropertyOptional(moment)
  readonly failingSince?: string;

  @ApiPropertyOptional()
  readonly disabled?: WebhookDisabled;
}

export class NewWebhook extends WebhookView {
  @ApiProperty(text)
  readonly secret!: string;
}

export class Webhooks {
  @ApiProperty({ type: [WebhookView] })
  readonly webhooks!: readonly WebhookView[];
}

export class WebhookSecret {
  @ApiProperty(text)
  readonly id!: string;

  @ApiProperty(text)
  readonly secret!: string;
}

export class WebhookTest {
  @ApiProperty(eventId)
  readonly eventId!: string;
}

export class WebhookReplayed {
  @ApiProperty(count)
  readonly events!: number;

  @ApiPropertyOptional({
    ...eventId,
    description: 'Present if there are more events: `after` of the next replay.',
  })
  readonly next?: string;
}

export class WebhookDelivery {
  @ApiProperty(eventId)
  readonly eventId!: string;

  @ApiProperty(text)
  readonly type!: string;

  @ApiPropertyOptional(text)
  readonly settlementId?: string;

  @ApiProperty({ ...text, enum: ['waiting', 'delivered', 'failed', 'withheld'] })
  readonly state!: DeliveryState;

  @ApiProperty(count)
  readonly attempts!: number;

  @ApiProperty(moment)
  readonly happenedAt!: string;

  @ApiPropertyOptional({ ...moment, description: 'Time of the last attempt.' })
  readonly triedAt?: string;

  @ApiPropertyOptional({ ...moment, description: 'Time of the next attempt.' })
  readonly dueAt?: string;

  @ApiPropertyOptional({ type: 'integer', description: 'HTTP status of the last answer.' })
  readonly status?: number;

  @ApiPropertyOptional({ ...text, description: 'Why the last attempt failed.' })
  readonly problem?: string;

  @ApiPropertyOptional({ ...text, description: 'The first 256 characters of the last answer.' })
  readonly answer?: string;
}

export class WebhookDeliveries {
  @ApiProperty({ type: [WebhookDelivery] })
  readonly deliveries!: readonly WebhookDelivery[];

  @ApiPropertyOptional({
    ...eventId,
    description: 'Present if there may be more deliveries: `before` of the next page.',
  })
  readonly next?: string;
}
