import { applyDecorators, type Type } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions, getSchemaPath } from '@nestjs/swagger';
import { IsObject, ValidateBy, ValidateIf, ValidateNested } from 'class-validator';
import {
  ADDRESS_SCHEMA,
  ATOMIC_UNITS_SCHEMA,
  SIGNATURE_SCHEMA,
} from '../../protocol/payment/wire-schemas.js';
import {
  isJsonObject,
  isShortText,
  type JsonObject,
  readAddress,
  readInteger,
} from '../../protocol/payment/wire-values.js';

/**
 * Fields of a request, for OpenAPI and for explanations of refusals. Each field checks its value with the reader of the
 * protocol's parser, and its message describes a good value.
 */

/** The correction of a wrong field; `undefined` where the body does not show it. */
export type Fix = (body: JsonObject) => string | undefined;

/** The class of a part, which may depend on the body it is in. */
type PartType = (body: JsonObject) => Type<object>;

const PART = Symbol('part');

/** @returns `undefined` for a field that is a single value. */
export function partTypeOf(dto: object, field: string): PartType | undefined {
  return Reflect.getMetadata(PART, dto, field) as PartType | undefined;
}

/** @param of - the object the field belongs to. */
type Validate = (value: unknown, of: JsonObject) => boolean;

/**
 * @param schema - of a recommended value; the parser accepts more than that.
 * @param expected - a good value, in words.
 */
export function Field(
  schema: ApiPropertyOptions,
  expected: string,
  isGood: Validate,
  fix?: Fix,
): PropertyDecorator {
  const validate = (value: unknown, asked?: { object: object }): boolean =>
    isGood(value, asked?.object as JsonObject);
  return applyDecorators(
    ApiProperty(schema),
    ValidateBy(
      { name: expected, validator: { validate, defaultMessage: () => expected } },
      {
        context: { fix },
      },
    ),
  );
}

/** A part with fields of its own. */
export function Part(type: Type<object>, fix?: Fix): PropertyDecorator {
  return applyDecorators(
    ApiProperty({ type }),
    Nested(() => type, fix),
  );
}

/** A part of one of several classes. */
export function PartOf(types: readonly Type<object>[], choose: PartType): PropertyDecorator {
  const anyOf = types.map((type) => ({ $ref: getSchemaPath(type) }));
  return applyDecorators(ApiProperty({ type: Object, anyOf }), Nested(choose));
}

/** An optional part that counts as absent if it is not an object. */
export function OptionalPart(type: Type<object>): PropertyDecorator {
  return applyDecorators(
    ApiProperty({ type, required: false }),
    ValidateIf((_, value) => isJsonObject(value)),
    Nested(() => type),
  );
}

function Nested(type: PartType, fix?: Fix): PropertyDecorator {
  return applyDecorators(
    IsObject({ message: 'an object', context: { fix } }),
    ValidateNested(),
    Reflect.metadata(PART, type),
  );
}

export const ADDRESS = 'an address: 0x and 40 hexadecimal digits';

export function AddressField(expected = ADDRESS): PropertyDecorator {
  return Field(ADDRESS_SCHEMA, expected, (value) => readAddress(value) !== undefined);
}

export function IntegerField(schema: ApiPropertyOptions = ATOMIC_UNITS_SCHEMA): PropertyDecorator {
  const expected = 'a whole number as decimal text';
  return Field(schema, expected, (value) => readInteger(value) !== undefined);
}

/** A whole number as text, because a JSON number would lose digits. */
export function IntegerTextField(
  schema: ApiPropertyOptions = ATOMIC_UNITS_SCHEMA,
): PropertyDecorator {
  return applyDecorators(IntegerField(schema), Field(schema, 'text', isText));
}

/** Verification, not this field, decides whether the bytes are a signature. */
export function SignatureField(): PropertyDecorator {
  return Field(SIGNATURE_SCHEMA, 'the signature as hexadecimal text', isText);
}

/** A value that is not text passes here; the check that needs the text refuses it. */
export function ShortTextField(most: number, description?: string): PropertyDecorator {
  return Field(
    {
      type: 'string',
      maxLength: most,
      required: false,
      ...(description !== undefined && { description }),
    },
    `at most ${most} characters`,
    (value) => !isText(value) || isShortText(value, most),
  );
}

export function isText(value: unknown): value is string {
  return typeof value === 'string';
}
