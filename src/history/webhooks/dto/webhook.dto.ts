import { ApiSchema } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import type { Address } from 'viem';
import { z } from 'zod';
import { IgnoresUnknown, NeedsOneOf } from '../../../platform/http/request.pipe.js';
import {
  Field,
  type FieldOptions,
  IsEvmAddress,
  IsFlag,
  IsOneOf,
  IsQueryInteger,
  IsText,
} from '../../../platform/http/validators.js';
import { SETTLEMENT_EVENTS } from '../settlement-events.js';
import { EVENT_TYPES, type EventType } from '../webhook.js';

const URL_MAX = 2048;
const DESCRIPTION_MAX = 256;
export const PAYEES_MAX = 100;
export const EVENT_ID = /^evt_[A-Za-z0-9_-]{32}$/;
const EVENTS_MAX = 100;
const PAGE = 50;
const PAGE_MAX = 200;

export const URL_SCHEMA = { type: 'string', format: 'uri', maxLength: URL_MAX } as const;
/** A description is one line without control characters: PostgreSQL stores no text with a zero byte. */
export const DESCRIPTION_SCHEMA = {
  type: 'string',
  maxLength: DESCRIPTION_MAX,
  pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$',
} as const;

const optional = true;

const IsUrlText = (options?: FieldOptions): PropertyDecorator =>
  IsText(
    {
      minLength: 1,
      maxLength: URL_MAX,
      message: `must be a URL of at most ${URL_MAX} characters`,
    },
    options,
    URL_SCHEMA,
  );
const IsDescription = (): PropertyDecorator =>
  IsText(
    {
      pattern: /^\P{Cc}*$/u,
      maxLength: DESCRIPTION_MAX,
      message: `must be at most ${DESCRIPTION_MAX} characters of one line`,
    },
    { optional },
    DESCRIPTION_SCHEMA,
  );
const ArePayees = (): PropertyDecorator =>
  IsEvmAddress({ optional, each: { min: 1, max: PAYEES_MAX } });
const AreEvents = (): PropertyDecorator =>
  IsOneOf(EVENT_TYPES, { optional, each: { min: 1, max: EVENTS_MAX } });
const IsEventId = (): PropertyDecorator =>
  IsText({ pattern: EVENT_ID, message: 'must be the id of an event' }, { optional });

/** Removes duplicates, and turns addresses to lower case. */
const Unique = (): PropertyDecorator =>
  Transform(({ value }: { value: unknown }) =>
    Array.isArray(value)
      ? [
          ...new Set(
            value.map((one: unknown) => (typeof one === 'string' ? one.toLowerCase() : one)),
          ),
        ]
      : value,
  );

@ApiSchema({ name: 'WebhookCreation' })
export class WebhookCreationDto {
  @IsUrlText()
  readonly url!: string;

  @IsDescription()
  readonly description: string = '';

  @ArePayees()
  @Unique()
  readonly payees?: Address[];

  @AreEvents()
  @Unique()
  readonly events: EventType[] = [...SETTLEMENT_EVENTS];
}

@ApiSchema({ name: 'WebhookChange' })
export class WebhookChangeDto {
  @IsUrlText({ optional })
  readonly url?: string;

  @IsDescription()
  readonly description?: string;

  @ArePayees()
  @Unique()
  readonly payees?: Address[];

  @AreEvents()
  @Unique()
  readonly events?: EventType[];

  @IsFlag({ optional })
  readonly enabled?: boolean;
}

@ApiSchema({ name: 'WebhookReplay', description: 'Either `after` or `since`, or both.' })
@NeedsOneOf('after', 'since')
export class WebhookReplayDto {
  @IsEventId()
  readonly after?: string;

  @Field(
    {
      name: 'isMoment',
      isValid: (value) => z.iso.datetime().safeParse(value).success,
      message: 'must be a time such as 2026-11-22T10:00:00Z',
      schema: { type: 'string', format: 'date-time' },
    },
    { optional },
  )
  readonly since?: string;
}

@IgnoresUnknown()
export class DeliveriesQueryDto {
  @IsQueryInteger({
    minimum: 1,
    maximum: PAGE_MAX,
    default: PAGE,
    message: `must be a number, 1 to ${PAGE_MAX}`,
  })
  readonly limit: number = PAGE;

  @IsEventId()
  readonly before?: string;
}
