import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayMinSize,
  IsArray,
  ValidateBy,
  ValidateIf,
  type ValidationArguments,
} from 'class-validator';
import { isCaip2 } from '../../protocol/payment/network.js';
import {
  ADDRESS_SCHEMA,
  ATOMIC_UNITS_SCHEMA,
  CAIP2_SCHEMA,
  DAY_OR_TIME_SCHEMA,
  TRANSACTION_HASH_SCHEMA,
} from '../../protocol/payment/wire-schemas.js';
import {
  isEvmAddress,
  isTransactionHash,
  readDayOrTime,
} from '../../protocol/payment/wire-values.js';
import type { JsonObject } from './openapi.js';

/** Decorators of DTO fields. Each has the rule for a value and its OpenAPI schema. */

export interface FieldOptions {
  /** The field may be absent. `null` is refused like any other wrong value. */
  readonly optional?: boolean;
  readonly description?: string;
  readonly example?: string | number;
  /** The field is a list of such values. */
  readonly each?: ListBounds;
}

interface ListBounds {
  readonly min?: number;
  readonly max: number;
}

interface Rule {
  readonly name: string;
  readonly isValid: (value: unknown) => boolean;
  /** The rule in words, to be placed after the name of the field: `must be …`. */
  readonly message: string;
  readonly schema: JsonObject;
}

/** A field with a custom rule. */
export function Field(
  { name, isValid, message, schema }: Rule,
  { optional = false, description, example, each }: FieldOptions = {},
): PropertyDecorator {
  const about = {
    required: !optional,
    ...(description !== undefined && { description }),
    ...(example !== undefined && { example }),
  };
  const described = each === undefined ? schema : listOf(schema, each);
  const rule = ValidateBy(
    {
      name,
      validator: {
        validate: isValid,
        defaultMessage: ({ property }: ValidationArguments = NO_ARGUMENTS) =>
          each === undefined ? `${property} ${message}` : `${property} each ${message}`,
      },
    },
    { each: each !== undefined },
  );
  return applyDecorators(
    // Only the first failure is reported, so the list is checked before its items.
    ...(each === undefined ? [] : listRules(each)),
    rule,
    ...(optional ? [ValidateIf((_dto, value) => value !== undefined)] : []),
    ApiProperty({ ...described, ...about }),
  );
}

function listRules({ min = 0, max }: ListBounds): PropertyDecorator[] {
  const size = min === 0 ? `at most ${max}` : `${min} to ${max}`;
  const options = { message: `$property must be a list of ${size}` };
  return [IsArray(options), ArrayMinSize(min, options), ArrayMaxSize(max, options)];
}

const NO_ARGUMENTS = { property: '' } as ValidationArguments;

const listOf = (items: JsonObject, { min = 0, max }: ListBounds): JsonObject => ({
  type: 'array',
  minItems: min,
  maxItems: max,
  items,
});

/** 20 bytes in hex, in any letter case. */
export const IsEvmAddress = (options?: FieldOptions): PropertyDecorator =>
  Field(
    {
      name: 'isEvmAddress',
      isValid: isEvmAddress,
      message: 'must be an address: 0x and 40 hex digits',
      schema: ADDRESS_SCHEMA,
    },
    options,
  );

export const IsTransactionHash = (options?: FieldOptions): PropertyDecorator =>
  Field(
    {
      name: 'isTransactionHash',
      isValid: isTransactionHash,
      message: 'must be a transaction hash',
      schema: TRANSACTION_HASH_SCHEMA,
    },
    options,
  );

/** CAIP-2, `eip155:<chain id>` with a chain id below 2^53. */
export const IsCaip2 = (options?: FieldOptions): PropertyDecorator =>
  Field(
    {
      name: 'isCaip2',
      isValid: isCaip2,
      message: 'must be a CAIP-2 name of an EVM chain',
      schema: CAIP2_SCHEMA,
    },
    options,
  );

/** A day (UTC), or a time with its zone, from 1970 on. */
export const IsDayOrTime = (options?: FieldOptions): PropertyDecorator =>
  Field(
    {
      name: 'isDayOrTime',
      isValid: (value) => readDayOrTime(value) !== undefined,
      message: 'must be a day, 2026-11-30, or a time with its zone, 2026-11-30T12:00:00Z',
      schema: DAY_OR_TIME_SCHEMA,
    },
    options,
  );

/** Atomic units of a token as decimal text. */
export const IsAtomicAmount = (options?: FieldOptions): PropertyDecorator =>
  IsText(
    { pattern: /^[0-9]{1,78}$/, message: 'must be atomic units as decimal text' },
    options,
    ATOMIC_UNITS_SCHEMA,
  );

interface TextRule {
  readonly pattern?: RegExp;
  readonly maxLength?: number;
  readonly minLength?: number;
  readonly message?: string;
}

/**
 * Text.
 *
 * @param schema - if the schema needs more than the rule.
 */
export function IsText(
  { pattern, minLength = 0, maxLength = 1024, message }: TextRule = {},
  options?: FieldOptions,
  schema: JsonObject = textSchema({ pattern, minLength, maxLength }),
): PropertyDecorator {
  const isValid = (value: unknown): boolean =>
    typeof value === 'string' &&
    value.length >= minLength &&
    value.length <= maxLength &&
    pattern?.test(value) !== false;
  const expected = message ?? `must be text of ${minLength} to ${maxLength} characters`;
  return Field({ name: 'isText', isValid, message: expected, schema }, options);
}

function textSchema({
  pattern,
  minLength,
  maxLength,
}: {
  readonly pattern: RegExp | undefined;
  readonly minLength: number;
  readonly maxLength: number;
}): JsonObject {
  if (pattern !== undefined) return { type: 'string', pattern: pattern.source };
  return { type: 'string', ...(minLength > 0 && { minLength }), maxLength };
}

/** One of these words. */
export const IsOneOf = (words: readonly string[], options?: FieldOptions): PropertyDecorator =>
  Field(
    {
      name: 'isOneOf',
      isValid: (value) => typeof value === 'string' && words.includes(value),
      message: `must be one of ${words.join(', ')}`,
      schema: { type: 'string', enum: words },
    },
    options,
  );

export const IsFlag = (options?: FieldOptions): PropertyDecorator =>
  Field(
    {
      name: 'isFlag',
      isValid: (value) => typeof value === 'boolean',
      message: 'must be true or false',
      schema: { type: 'boolean' },
    },
    options,
  );

interface Bounds {
  readonly minimum: number;
  readonly maximum: number;
  readonly default?: number;
  readonly message?: string;
}

/**
 * A whole number in a query, where it is text. The DTO holds the number. The default is the initial value of the
 * property.
 */
export const IsQueryInteger = (
  { message, ...bounds }: Bounds,
  options: FieldOptions = {},
): PropertyDecorator =>
  applyDecorators(
    Transform(({ value }: { value: unknown }) =>
      typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value,
    ),
    IsWholeNumber(
      { ...bounds, message: message ?? boundsOf(bounds) },
      { optional: true, ...options },
    ),
  );

/** A whole number of a JSON body. */
export const IsWholeNumber = (
  { message, ...bounds }: Bounds,
  options?: FieldOptions,
): PropertyDecorator =>
  Field(
    {
      name: 'isWholeNumber',
      isValid: (value) =>
        Number.isInteger(value) &&
        Number(value) >= bounds.minimum &&
        Number(value) <= bounds.maximum,
      message: message ?? boundsOf(bounds),
      schema: { type: 'integer', ...bounds },
    },
    options,
  );

const boundsOf = ({ minimum, maximum }: Bounds): string =>
  `must be a whole number, ${minimum} to ${maximum}`;
