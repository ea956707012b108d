import {
  Field,
  type FieldOptions,
  IsEvmAddress,
  IsOneOf,
  IsQueryInteger,
  IsText,
} from '../../../platform/http/validators.js';
import { isText, plainText } from '../../../protocol/listing/seller-words.js';
import { isEvmAddress } from '../../../protocol/payment/wire-values.js';
import { denialNameOf, readHost, REASON_MAX } from '../denial-name.js';
import type { DenialKind } from '../moderation-store.js';

const TEXT_MAX = 400;
const optional = true;
const text = { type: 'string' } as const;

const IsRows = (): PropertyDecorator => IsQueryInteger({ minimum: 1, maximum: 100, default: 50 });

const IsKind = (options?: FieldOptions): PropertyDecorator => IsOneOf(['payee', 'host'], options);

const HOST = 'must be a host, without scheme, port and path';

export class EntriesQueryDto {
  @Field(
    {
      name: 'isSearchText',
      isValid: (value) => typeof value === 'string' && value.length <= TEXT_MAX && isText(value),
      message: `must be text of at most ${TEXT_MAX} characters`,
      schema: { ...text, maxLength: TEXT_MAX },
    },
    { optional, description: 'Words to search for in names, tags, URLs and descriptions.' },
  )
  readonly text?: string;

  @IsEvmAddress({ optional })
  readonly payTo?: string;

  @Field(
    {
      name: 'isHost',
      isValid: (value) => typeof value === 'string' && readHost(value) !== undefined,
      message: HOST,
      schema: { ...text, minLength: 1 },
    },
    { optional, description: 'A host name, without scheme, port and path.' },
  )
  readonly host?: string;

  @IsRows()
  readonly limit: number = 50;

  @IsText(
    { pattern: /^[0-9a-f]{64}$/, message: 'must be `next` of the previous page' },
    { optional, description: '`next` of the previous page.' },
  )
  readonly after?: string;
}

export class DenialsQueryDto {
  @IsKind({ optional })
  readonly kind?: DenialKind;

  @Field(
    {
      name: 'isDenied',
      isValid: (value) =>
        isEvmAddress(value) || (typeof value === 'string' && readHost(value) !== undefined),
      message: 'must be an address or a host',
      schema: { ...text, minLength: 1 },
    },
    { optional, description: 'An address or a host.' },
  )
  readonly value?: string;

  @IsRows()
  readonly limit: number = 50;

  @Field(
    {
      name: 'isDenialName',
      isValid: (value) => typeof value === 'string' && denialNameOf(value) !== undefined,
      message: 'must be `next` of the previous page',
      schema: { ...text, minLength: 1 },
    },
    { optional, description: '`next` of the previous page.' },
  )
  readonly after?: string;
}

/** A payee or host that an operator denies or allows, with the reason. */
export class VerdictDto {
  @IsKind()
  readonly kind!: DenialKind;

  @IsText({ minLength: 1 }, { description: 'An address, or a host without scheme, port and path.' })
  readonly value!: string;

  @Field({
    name: 'isReason',
    isValid: (value) => {
      const read = plainText(value, REASON_MAX);
      // The reason is stored forever as it was written.
      return read.text !== undefined && !read.isCut;
    },
    message: `must be 1 to ${REASON_MAX} characters of one line, without tags`,
    schema: { ...text, minLength: 1, maxLength: REASON_MAX },
  })
  readonly reason!: string;
}
