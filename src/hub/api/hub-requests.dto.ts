import { applyDecorators } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { IsNotEmpty } from 'class-validator';
import { IgnoresUnknown } from '../../platform/http/request.pipe.js';
import type { Page } from '../index/listing-steps.js';
import { MEDIA_TYPE } from '../media-type.js';
import { NAME_MAX_BYTES } from '../names.js';
import { countOf, type Fields, textOf } from '../wire/fields.js';

/** What requests of the hub say. Names of fields come in any case, and texts as the original's decoder reads them. */

const LENGTH_DEFAULT = 32;
const LENGTH_MAX = 1024;

/** A field that the original wants. */
const Needed = (field: string, maxLength?: number): PropertyDecorator =>
  applyDecorators(
    IsNotEmpty({
      message: `Key: 'MemeStruct.${field}' Error:Field validation for '${field}' failed on the 'required' tag`,
    }),
    ApiProperty({ type: 'string', minLength: 1, ...(maxLength !== undefined && { maxLength }) }),
  );

/** Text that may be left out. */
const Text = (schema: { description?: string; minLength?: number; pattern?: string }) =>
  ApiPropertyOptional({ type: 'string', ...schema });

/** A field that may be `null`, too. */
const Nullable = (schema: { description?: string; maxLength?: number; pattern?: string }) =>
  ApiPropertyOptional({ type: 'string', nullable: true, ...schema });

const Name = (): PropertyDecorator =>
  Text({ description: 'The id it was stored under; `id` means the same.' });
const Offset = (): PropertyDecorator => Text({ description: 'Rows to leave out.' });

/** A text message. */
@ApiSchema({ name: 'HubMessage', description: 'Names of fields in any case.' })
@IgnoresUnknown()
export class MessageDto {
  @Needed('Owner', NAME_MAX_BYTES.owner)
  readonly owner: string;

  @Needed('ID', NAME_MAX_BYTES.id)
  readonly id: string;

  @Needed('Message')
  readonly message: string;

  @Nullable({ maxLength: NAME_MAX_BYTES.bucket })
  readonly bucket: string;

  @Nullable({ maxLength: NAME_MAX_BYTES.kind })
  readonly kind: string;

  @Nullable({
    pattern: `^$|${MEDIA_TYPE.source}`,
    description: 'A media type; `text/plain` if absent.',
  })
  readonly contentType: string;

  constructor(fields: Fields) {
    this.message = textOf(fields, 'message');
    this.owner = textOf(fields, 'owner');
    this.id = textOf(fields, 'id');
    // An empty name counts as absent.
    this.bucket = textOf(fields, 'bucket');
    this.kind = textOf(fields, 'kind') || 'memory';
    this.contentType = textOf(fields, 'contenttype');
  }
}

export class ListDto implements Page {
  @Name()
  readonly name: string;

  @Text({ description: 'Of needles and buckets.' })
  readonly bucket: string;

  @Text({ description: 'Of needles and conversations.' })
  readonly conversation: string;

  @Offset()
  readonly offset: number;

  @Text({ description: `Rows at most: ${LENGTH_DEFAULT} if absent, ${LENGTH_MAX} if more.` })
  readonly length: number;

  constructor(fields: Fields) {
    this.bucket = textOf(fields, 'bucket');
    this.name = nameIn(fields);
    this.conversation = textOf(fields, 'conversation');
    this.offset = offsetIn(fields);
    this.length = countOf(fields, 'length', LENGTH_DEFAULT, LENGTH_MAX);
  }
}

const TEXTS_DEFAULT = 1024;
const TEXTS_MAX = 10_000;

/** Conversations, or the texts of the one that is named. */
export class ConversationDto implements Page {
  @Name()
  readonly name: string;

  @Offset()
  readonly offset: number;

  @Text({ description: `Rows at most: ${TEXTS_DEFAULT} if absent, ${TEXTS_MAX} if more.` })
  readonly length: number;

  constructor(fields: Fields) {
    this.name = nameIn(fields);
    this.offset = offsetIn(fields);
    this.length = countOf(fields, 'length', TEXTS_DEFAULT, TEXTS_MAX);
  }
}

const DAYS_DEFAULT = 30;
const DAYS_MAX = 366;

export class StatDto {
  /** Days; a count of none means the default, as in the original. */
  @Text({ description: `Days: ${DAYS_DEFAULT} if absent, ${DAYS_MAX} if more.` })
  readonly count: number;

  constructor(fields: Fields) {
    this.count = countOf(fields, 'count', DAYS_DEFAULT, DAYS_MAX) || DAYS_DEFAULT;
  }
}

export class NameDto {
  @Name()
  readonly name: string;

  constructor(fields: Fields) {
    this.name = nameIn(fields);
  }
}

/** A download whose path names the file. */
export class BytesDto {
  @Text({ description: '`json`: the descriptor in place of the bytes.' })
  readonly display: string;

  @Text({ description: '`1`: the bytes in any case.' })
  readonly download: string;

  @Text({
    description: 'One of the versions of the name, by its digest.',
    // An empty one asks for none.
    pattern: '^((0[xX])?[0-9a-fA-F]{64})?$',
  })
  readonly sha256: string;

  constructor(fields: Fields) {
    this.display = textOf(fields, 'display');
    this.download = textOf(fields, 'download');
    this.sha256 = textOf(fields, 'sha256');
  }
}

export class DownloadDto extends BytesDto {
  @Name()
  readonly name: string;

  constructor(fields: Fields) {
    super(fields);
    this.name = nameIn(fields);
  }
}

export class RemovalDto {
  @IsNotEmpty({ message: 'name is required' })
  @Name()
  readonly name: string;

  constructor(fields: Fields) {
    this.name = nameIn(fields);
  }
}

/** The link that is opened. */
export class LinkDto {
  @ApiProperty({
    description:
      'Base64url of JSON: the fields that its owner signed, of `HubLink` or `HubUpload`, and `signature`.',
  })
  readonly link: string;

  constructor(fields: Fields) {
    this.link = textOf(fields, 'link');
  }
}

/** The link that is taken back, or the family of links; every link of the owner where neither is named. */
export class LinksDto {
  @Text({ description: 'The one; every link of the signer where it and `family` are absent.' })
  readonly link: string;

  @Text({
    description: 'The beginning of their nonces: `0x` and the first 8 or 16 bytes as hex digits.',
  })
  readonly family: string;

  constructor(fields: Fields) {
    this.link = textOf(fields, 'link');
    this.family = textOf(fields, 'family');
  }
}

/** A file that has a price, or gets one. */
export class PricedFileDto {
  @IsNotEmpty({ message: 'file is required' })
  @ApiProperty({ minLength: 1, description: 'The id it was stored under.' })
  readonly file: string;

  constructor(readonly fields: Fields) {
    this.file = textOf(fields, 'file') || nameIn(fields);
  }
}

@ApiSchema({ name: 'HubRetentionWanted' })
@IgnoresUnknown()
export class RetentionDto {
  @ApiPropertyOptional({ type: 'string', description: 'The signer.' })
  readonly owner: string;

  @ApiProperty({ type: 'integer', minimum: 0, description: '0 for ever.' })
  readonly days: unknown;

  constructor(fields: Fields) {
    this.owner = textOf(fields, 'owner');
    this.days = fields.get('days');
  }
}

function nameIn(fields: Fields): string {
  return textOf(fields, 'name') || textOf(fields, 'id');
}

function offsetIn(fields: Fields): number {
  return countOf(fields, 'offset', 0, Number.MAX_SAFE_INTEGER);
}
