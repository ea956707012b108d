import { Transform } from 'class-transformer';
import { FETCH_METHODS, type FetchMethod } from '../../../platform/fetch/safe-fetch.js';
import { Field, IsOneOf, IsText } from '../../../platform/http/validators.js';
import { isWithinBounds } from '../../../protocol/payment/json-bounds.js';
import type { JsonObject } from '../../../protocol/payment/wire-values.js';

/** The request only shows the order of a seller's checks; it buys nothing. */
export const BODY_MAX_CHARACTERS = 16_384;
const BODY_BOUNDS = { maxDepth: 16, maxValues: 2000 } as const;
const optional = true;

/** The body of `POST /v2/doctor`: the request to send to the seller. */
export class DoctorRequestDto {
  @IsText({ minLength: 1, maxLength: 2048 })
  readonly url!: string;

  @Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' ? value.toUpperCase() : value,
  )
  @IsOneOf(FETCH_METHODS, { optional })
  readonly method: FetchMethod = 'GET';

  @Transform(({ obj }: { obj: { readonly body?: unknown } }) => obj.body)
  @Field(
    {
      name: 'isDoctorBody',
      isValid: (value) =>
        typeof value === 'string'
          ? value.length <= BODY_MAX_CHARACTERS
          : typeof value === 'object' &&
            value !== null &&
            !Array.isArray(value) &&
            isWithinBounds(value, BODY_BOUNDS),
      message: 'must be a small JSON object, or JSON as text',
      schema: {
        anyOf: [
          { type: 'string', maxLength: BODY_MAX_CHARACTERS },
          { type: 'object', additionalProperties: true },
        ],
      },
    },
    {
      optional,
      description: 'Sent as JSON; the same is asked without it too. At most 16384 characters.',
    },
  )
  readonly body?: string | JsonObject;
}
