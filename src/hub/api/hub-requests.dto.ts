import { applyDecorators } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { IsNotEmpty } from 'class-validator';
import { IgnoresUnknown } from '../../platform/http/request.pipe.js';
import type { Page } from '../index/listing-steps.js';
import { MEDIA_TYPE } from '../media-type.js';
import { NAME_MAX_BYTES } from '../names.js';
import { countOf, type Fields, textOf } from '../wire/fields.js';

/** Bodies and queries of the hub. Field names have any case, and texts are read like the original's decoder does. */

const LENGTH_DEFAULT = 32;
const LENGTH_MAX = 1024;

/** A field that the original requires. */
const Needed = (field: string, maxLength?: number): PropertyDecorator =>
  applyDecorators(
    IsNotEmpty({
      message: `Key: 'MemeStruct.${field}' Error:Field validation for '${field}' failed on the 'required' tag`,
    }),
    ApiProperty({ type: 'string', minLength: 1, ...(maxLength !== undefined && { maxLength }) }),
  );

/** An optional text. */
const Text = (schema: { description?: string; minLength?: number; pattern?: string }) =>
  ApiPropertyOptional({ type: 'string', ...schema });

/** A field that may also be `null`. */
const Nullable = (schema: { description?: string; maxLength?: number; pattern?: string }) =>
  ApiPropertyOptional({ type: 'string', nullable: true, ...schema });

const Name = (): PropertyDecorator =>
  Text({ description: 'The id of the file; the field `id` means the same.' });
const Offset = (): PropertyDecorator => Text({ description: 'Number of rows to skip.' });

/** A text message. */
@ApiSchema({ name: 'HubMessage', description: 'Field names are accepted in upper or lower case.' })
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

  @Text({ description: 'Name of a bucket; for lists of needles and buckets.' })
  readonly bucket: string;

  @Text({ description: 'Name of a conversation; for lists of needles and conversations.' })
  readonly conversation: string;

  @Offset()
  readonly offset: number;

  @Text({
    description: `Maximum number of rows, at most ${LENGTH_MAX}; ${LENGTH_DEFAULT} by default.`,
  })
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

/** Conversations, or the texts of the named one. */
export class ConversationDto implements Page {
  @Name()
  readonly name: string;

  @Offset()
  readonly offset: number;

  @Text({
    description: `Maximum number of rows, at most ${TEXTS_MAX}; ${TEXTS_DEFAULT} by default.`,
  })
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
  /** Days; zero means the default, as in the original. */
  @Text({ description: `Number of days, at most ${DAYS_MAX}; ${DAYS_DEFAULT} by default.` })
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

/** A download with the file name in its path. */
export class BytesDto {
  @Text({ description: '`json`: returns the descriptor instead of the bytes.' })
  readonly display: string;

  @Text({ description: '`1`: returns the bytes, also to a browser that opens the URL.' })
  readonly download: string;

  @Text({
    description: 'SHA-256 of one version of the file.',
    // An empty digest selects no version.
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

/** The link to open. */
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

/** The link or the family of links to revoke; all links of the owner where neither is named. */
export class LinksDto {
  @Text({
    description: 'The link to revoke; without `link` and `family`, every link of the signer.',
  })
  readonly link: string;

  @Text({
    description:
      'The links whose nonces begin with this text: `0x` and the first 8 or 16 bytes as hex digits.',
  })
  readonly family: string;

  constructor(fields: Fields) {
    this.link = textOf(fields, 'link');
    this.family = textOf(fields, 'family');
  }
}

/** A file with a price, or one that gets a price. */
export class PricedFileDto {
  @IsNotEmpty({ message: 'file is required' })
  @ApiProperty({ minLength: 1, description: 'The id of the file.' })
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

  @ApiProperty({
    type: 'integer',
    minimum: 0,
    description: 'Days to keep files; 0 keeps them without limit.',
  })
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
