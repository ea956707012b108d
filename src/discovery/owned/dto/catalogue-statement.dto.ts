import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { ValidateNested } from 'class-validator';
import { IgnoresUnknown, RefusedWith } from '../../../platform/http/request.pipe.js';
import {
  Field,
  IsCaip2,
  IsEvmAddress,
  IsOneOf,
  IsQueryInteger,
  IsText,
} from '../../../platform/http/validators.js';
import type { ListingType } from '../../../protocol/listing/listing.js';
import { isJsonObject } from '../../../protocol/payment/wire-values.js';
import type { StatementAction } from '../statement.js';

const optional = true;
/** Seconds, up to the year 2286. JSON of wallets writes numbers as text. */
const SECONDS = { minimum: 0, maximum: 9_999_999_999 } as const;

/** Empty texts correct nothing. */
@ApiSchema({ name: 'CatalogueStatementSigned' })
@IgnoresUnknown()
export class StatementDto {
  @IsOneOf(['remove', 'correct', 'restore'])
  readonly action!: StatementAction;

  @IsEvmAddress()
  readonly payTo!: string;

  @IsOneOf(['http', 'mcp'])
  readonly type!: ListingType;

  @IsText({ maxLength: 2048 })
  readonly resource!: string;

  @IsText({ maxLength: 128 })
  readonly call!: string;

  @IsText({ maxLength: 500 }, { optional })
  readonly description: string = '';

  @IsText({ maxLength: 100 }, { optional })
  readonly mimeType: string = '';

  @IsText({ maxLength: 32 }, { optional })
  readonly serviceName: string = '';

  @IsText({ maxLength: 32 }, { optional, each: { max: 5 } })
  readonly tags: readonly string[] = [];

  @IsText({ maxLength: 2048 }, { optional })
  readonly iconUrl: string = '';

  @IsQueryInteger(SECONDS, {
    optional: false,
    description: 'Unix seconds, at most an hour ago.',
  })
  readonly issuedAt!: number;

  @IsQueryInteger({ ...SECONDS, default: 0 }, { description: 'Unix seconds; 0 for no end.' })
  readonly until: number = 0;
}

/** `POST /discovery/statements`: typed data with the signature of a payee (EIP-712). */
@ApiSchema({ name: 'CatalogueStatement' })
@IgnoresUnknown()
@RefusedWith('invalid_statement')
export class CatalogueStatementDto {
  @IsCaip2({ description: '`eip155:56`' })
  readonly network!: string;

  @Field({
    name: 'isStatement',
    isValid: isJsonObject,
    message: 'must be an object',
    schema: {},
  })
  @ApiProperty({ type: () => StatementDto })
  @Type(() => StatementDto)
  @ValidateNested()
  readonly statement!: StatementDto;

  @IsText({
    pattern: /^0x([0-9a-fA-F]{2}){1,4096}$/,
    maxLength: 8194,
    message: 'must be 1 to 4096 bytes in hex',
  })
  readonly signature!: string;
}
