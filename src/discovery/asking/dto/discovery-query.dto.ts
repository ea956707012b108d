import { IgnoresUnknown } from '../../../platform/http/request.pipe.js';
import {
  Field,
  type FieldOptions,
  IsEvmAddress,
  IsOneOf,
  IsQueryInteger,
  IsText,
} from '../../../platform/http/validators.js';
import type { ListingType } from '../../../protocol/listing/listing.js';
import { isText } from '../../../protocol/listing/seller-words.js';
import { chainIdOf, chainIdOfV1Name } from '../../../protocol/payment/network.js';

/** Entries on one page. */
export const LIMIT_MAX = 100;
/** Beyond this offset a list is read by its cursor. */
const OFFSET_MAX = 10_000;
const QUERY_MAX = 400;
const optional = true;

/** Stock clients request a thousand entries at once; they get one page. */
const IsLimit = (usual: number): PropertyDecorator =>
  IsQueryInteger(
    { minimum: 0, maximum: 999_999_999, default: usual },
    { description: `A page has at most ${LIMIT_MAX}.` },
  );

const IsCursor = (): PropertyDecorator =>
  IsText(
    { minLength: 1, maxLength: 200 },
    { optional, description: 'The cursor of an earlier answer.' },
  );

const IsNetworkName = (options: FieldOptions): PropertyDecorator =>
  Field(
    {
      name: 'isNetworkName',
      isValid: (value) =>
        typeof value === 'string' && (chainIdOf(value) ?? chainIdOfV1Name(value)) !== undefined,
      message: 'must be a network such as eip155:56, or a name of V1 such as bsc',
      schema: { type: 'string', pattern: '^(eip155:[1-9][0-9]{0,15}|[a-z][a-z0-9-]*)$' },
    },
    { description: '`eip155:56`, or a name of V1 such as `bsc`.', ...options },
  );

/** The filter of entries. Further parameters, which clients of other catalogues send, are ignored. */
abstract class EntryFilterDto {
  @IsOneOf(['http', 'mcp'], { optional })
  readonly type?: ListingType;

  @IsNetworkName({ optional })
  readonly network?: string;

  @IsEvmAddress({ optional })
  readonly asset?: string;

  @IsText({ maxLength: 64 }, { optional })
  readonly scheme?: string;

  @IsText(
    { pattern: /^[0-9]{1,78}$/, message: 'must be a whole number of atomic units' },
    { optional, description: 'Atomic units of `asset`, which is required too.' },
  )
  readonly maxPrice?: string;

  @IsText(
    { maxLength: 64 },
    { optional, description: 'Key of an extension. Every entry has only `bazaar`.' },
  )
  readonly extensions?: string;

  @IsCursor()
  readonly cursor?: string;
}

abstract class EntryListDto extends EntryFilterDto {
  @IsQueryInteger({ minimum: 0, maximum: OFFSET_MAX, default: 0 })
  readonly offset: number = 0;
}

@IgnoresUnknown()
export class ListQueryDto extends EntryListDto {
  @IsEvmAddress({ optional })
  readonly payTo?: string;

  @IsLimit(LIMIT_MAX)
  readonly limit: number = LIMIT_MAX;
}

@IgnoresUnknown()
export class MerchantQueryDto extends EntryListDto {
  @IsEvmAddress()
  readonly payTo!: string;

  @IsLimit(20)
  readonly limit: number = 20;
}

@IgnoresUnknown()
export class SearchQueryDto extends EntryFilterDto {
  @Field(
    {
      name: 'isSearchText',
      isValid: (value) => typeof value === 'string' && value.length <= QUERY_MAX && isText(value),
      message: `must be text of at most ${QUERY_MAX} characters`,
      schema: { type: 'string', maxLength: QUERY_MAX },
    },
    { optional },
  )
  readonly query: string = '';

  @IsEvmAddress({ optional })
  readonly payTo?: string;

  @IsLimit(20)
  readonly limit: number = 20;
}

@IgnoresUnknown()
export class StatusQueryDto {
  @IsText({ maxLength: 2048 })
  readonly resource!: string;

  @IsEvmAddress({ optional })
  readonly payTo?: string;
}
