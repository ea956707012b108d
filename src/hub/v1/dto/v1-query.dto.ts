import { IgnoresUnknown } from '../../../platform/http/request.pipe.js';
import { IsText } from '../../../platform/http/validators.js';
import type { Page, Row } from '../../index/listing-steps.js';
import { NAME_MAX_BYTES } from '../../names.js';

const LIMIT_DEFAULT = 32;
const LIMIT_MAX = 100;
const DAYS_DEFAULT = 7;
const DAYS_MAX = 366;
const MESSAGES_DEFAULT = 1024;
const MESSAGES_MAX = 10_000;

const IsGiven = (description: string, rule: Parameters<typeof IsText>[0] = {}): PropertyDecorator =>
  IsText(rule, { optional: true, description });

const IsOffset = (description: string): PropertyDecorator =>
  IsGiven(description, { pattern: /^([0-9]{1,9})?$/, message: 'must be a number of rows' });

const CURSOR = /^(([0-9]{1,16})-([A-Za-z0-9_.~:-]{1,90}))?$/;

/** The owner. Clients add parameters of other services, such as `chain`. */
@IgnoresUnknown()
export class V1OwnerDto {
  @IsGiven(
    'The owner: an address in upper or lower case, or any other text. By default the signer.',
    {
      maxLength: NAME_MAX_BYTES.owner,
    },
  )
  readonly owner: string = '';
}

/** A page of a list, newest first. */
@IgnoresUnknown()
export class V1ListDto extends V1OwnerDto {
  @IsGiven('Maximum number of rows, 1 to 100; 32 for any other value.')
  readonly limit: string = '';

  @IsGiven('`nextCursor` of the previous page.', { pattern: CURSOR, message: 'must be a cursor' })
  readonly cursor: string = '';

  @IsOffset('Number of rows to skip. Such a page has no `nextCursor`.')
  readonly offset: string = '';

  @IsGiven('`1`: the answer has the number of all rows.')
  readonly withTotal: string = '';
}

@IgnoresUnknown()
export class V1BucketsDto extends V1ListDto {
  @IsGiven('Lists only buckets of this kind.')
  readonly kind: string = '';
}

@IgnoresUnknown()
export class V1ConversationDto extends V1OwnerDto {
  @IsOffset('Number of rows to skip.')
  readonly offset: string = '';

  @IsGiven('Maximum number of rows, at most 10000; 1024 by default.')
  readonly limit: string = '';
}

@IgnoresUnknown()
export class V1StatsDto {
  @IsGiven('Number of days, at most 366; 7 by default.')
  readonly days: string = '';
}

export function pageOf({ limit, cursor, offset }: V1ListDto): Page {
  const length = countIn(limit);
  const [, , order, part] = CURSOR.exec(cursor) ?? [];
  const isBehind = offset === '' && order !== undefined && part !== undefined;
  return {
    length: length < 1 || length > LIMIT_MAX ? LIMIT_DEFAULT : length,
    offset: countIn(offset),
    behind: isBehind ? { order: Number(order), part } : undefined,
  };
}

/** Empty at the end of the list, and for a page that was asked for by its offset, as in the original. */
export function nextCursor({ offset }: V1ListDto, next: Row | undefined): string {
  return next === undefined || offset !== '' ? '' : `${next.order}-${next.part}`;
}

export function messagesPage({ offset, limit }: V1ConversationDto): Page {
  return {
    offset: countIn(offset),
    length: Math.min(countIn(limit) || MESSAGES_DEFAULT, MESSAGES_MAX),
  };
}

export function daysIn({ days }: V1StatsDto): number {
  return Math.min(countIn(days) || DAYS_DEFAULT, DAYS_MAX);
}

/** 0 for any other text. */
function countIn(text: string): number {
  return /^\d{1,9}$/.test(text) ? Number(text) : 0;
}
