import { IsNotEmpty } from 'class-validator';
import type { Page } from '../index/listing-steps.js';
import { countOf, type Fields, textOf } from '../wire/fields.js';

/** What requests of the hub say. Names of fields come in any case, and texts as the original's decoder reads them. */

const LENGTH_DEFAULT = 32;
const LENGTH_MAX = 1024;

/** What the original's validator says of a field that is missing. */
const missing = (field: string): { readonly message: string } => ({
  message: `Key: 'MemeStruct.${field}' Error:Field validation for '${field}' failed on the 'required' tag`,
});

/** A text message. */
export class MessageDto {
  @IsNotEmpty(missing('Owner'))
  readonly owner: string;

  @IsNotEmpty(missing('ID'))
  readonly id: string;

  @IsNotEmpty(missing('Message'))
  readonly message: string;

  readonly bucket: string;
  readonly kind: string;

  constructor(fields: Fields) {
    this.message = textOf(fields, 'message');
    this.owner = textOf(fields, 'owner');
    this.id = textOf(fields, 'id');
    // An empty name is none.
    this.bucket = textOf(fields, 'bucket');
    this.kind = textOf(fields, 'kind') || 'memory';
  }
}

export class ListDto {
  readonly bucket: string;
  readonly name: string;
  readonly conversation: string;
  readonly page: Page;

  constructor(fields: Fields) {
    this.bucket = textOf(fields, 'bucket');
    this.name = nameIn(fields);
    this.conversation = textOf(fields, 'conversation');
    this.page = pageIn(fields, LENGTH_DEFAULT, LENGTH_MAX);
  }
}

const DAYS_DEFAULT = 30;
const DAYS_MAX = 366;

export class StatDto {
  /** Days; a count of none means the default, as in the original. */
  readonly count: number;

  constructor(fields: Fields) {
    this.count = countOf(fields, 'count', DAYS_DEFAULT, DAYS_MAX) || DAYS_DEFAULT;
  }
}

export class NameDto {
  readonly name: string;

  constructor(fields: Fields) {
    this.name = nameIn(fields);
  }
}

export class RemovalDto {
  @IsNotEmpty({ message: 'name is required' })
  readonly name: string;

  constructor(fields: Fields) {
    this.name = nameIn(fields);
  }
}

/** The link that is taken back, or the family of links; every link of the owner where neither is named. */
export class LinksDto {
  readonly link: string;
  readonly family: string;

  constructor(fields: Fields) {
    this.link = textOf(fields, 'link');
    this.family = textOf(fields, 'family');
  }
}

/** A file that has a price, or gets one. */
export class PricedFileDto {
  @IsNotEmpty({ message: 'file is required' })
  readonly file: string;

  constructor(readonly fields: Fields) {
    this.file = textOf(fields, 'file') || nameIn(fields);
  }
}

export function nameIn(fields: Fields): string {
  return textOf(fields, 'name') || textOf(fields, 'id');
}

export function pageIn(fields: Fields, usual: number, most: number): Page {
  return {
    offset: countOf(fields, 'offset', 0, Number.MAX_SAFE_INTEGER),
    length: countOf(fields, 'length', usual, most),
  };
}
