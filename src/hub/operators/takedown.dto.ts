import { ApiSchema } from '@nestjs/swagger';
import { Field, IsQueryInteger, IsText } from '../../platform/http/validators.js';
import { plainText } from '../../protocol/listing/seller-words.js';

/** Characters of a reason. Every request for the file shows it, and it is kept forever. */
const REASON_MAX = 200;

const IsReason = (): PropertyDecorator =>
  Field(
    {
      name: 'isReason',
      isValid: isReason,
      message: `must be 1 to ${REASON_MAX} characters of one line, without tags`,
      schema: { type: 'string', minLength: 1, maxLength: REASON_MAX },
    },
    { description: 'The reason is shown to every request for the file, and is never deleted.' },
  );

function isReason(value: unknown): boolean {
  const { text, isCut } = plainText(value, REASON_MAX);
  // The stored text is exactly the written one.
  return text !== undefined && !isCut;
}

const IsDigest = (optional = false): PropertyDecorator =>
  IsText({ pattern: /^(0[xX])?[0-9a-fA-F]{64}$/, message: 'must be 64 hex digits' }, { optional });

const CLOSED = { additionalProperties: false };

const TAKEDOWN = {
  ...CLOSED,
  name: 'HubTakedownWanted',
  description:
    'Either `sha256`, or `owner` and `name`, which select the present content of the file and the content that is for sale.',
};

/** The bytes that an operator takes down: by their hash, or all bytes that a name refers to and is sold with. */
@ApiSchema(TAKEDOWN)
export class TakedownDto {
  @IsDigest(true)
  readonly sha256?: string;

  @IsText({ minLength: 1 }, { optional: true })
  readonly owner?: string;

  @IsText({ minLength: 1 }, { optional: true })
  readonly name?: string;

  @IsReason()
  readonly reason!: string;
}

const RESTORATION = { ...CLOSED, name: 'HubRestorationWanted' };

/** By the digest only, because the name may refer to other bytes by now. */
@ApiSchema(RESTORATION)
export class RestorationDto {
  @IsDigest()
  readonly sha256!: string;

  @IsReason()
  readonly reason!: string;
}

/** Rows of a list. */
export class RowsDto {
  @IsQueryInteger({ minimum: 1, maximum: 100, default: 50 })
  readonly limit: number = 50;

  @IsQueryInteger(
    { minimum: 0, maximum: 999_999_999, default: 0 },
    { description: 'Number of rows to skip.' },
  )
  readonly offset: number = 0;
}
