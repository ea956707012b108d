import {
  type ArgumentMetadata,
  Injectable,
  type PipeTransform,
  type Type,
  type ValidationError,
  ValidationPipe,
  type ValidationPipeOptions,
} from '@nestjs/common';
import { ApiExtension } from '@nestjs/swagger';
import * as classTransformer from 'class-transformer';
import * as classValidator from 'class-validator';
import { type Place, placeOf } from '../../protocol/diagnosis/place.js';
import { isWellFormed, isWithinBounds } from '../../protocol/payment/json-bounds.js';
import { isJsonObject } from '../../protocol/payment/wire-values.js';
import { CodedError } from './coded-error.js';

/** Maximum problems in one answer. */
const PROBLEMS_MAX = 16;

/**
 * The validation libraries are recursive, and compare each name of an object with all others. The largest expected
 * body is `POST /v2/doctor` with a request body of 2000 values.
 */
const BOUNDS = { maxDepth: 64, maxValues: 2200 } as const;

/** Types that TypeScript emits for parameters without a class. */
const BUILT_IN = new Set<unknown>([Object, String, Number, Boolean, Array]);

type Part = 'body' | 'query';

const CODES: Readonly<Record<Part, string>> = { body: 'invalid_request', query: 'invalid_query' };
const UNKNOWN: Readonly<Record<Part, string>> = {
  body: 'a field is not known here',
  query: 'unknown parameter',
};

/** DTO classes that drop unknown fields. */
const TOLERANT = new WeakSet<object>();

/** DTO classes with their own error code. */
const CODE_OF = new WeakMap<object, string>();

/** Sets the error code of a DTO class, instead of `invalid_request` or `invalid_query`. */
export function RefusedWith(code: string): ClassDecorator {
  return (type) => {
    CODE_OF.set(type, code);
  };
}

/** Mark in the OpenAPI schema of such a class. */
export const IGNORES_UNKNOWN = 'x-ignores-unknown';

/** Marks a DTO class that drops unknown fields or parameters. Other classes refuse them. */
export function IgnoresUnknown(): ClassDecorator {
  return (type) => {
    TOLERANT.add(type);
    ApiExtension(IGNORES_UNKNOWN, true)(type);
  };
}

/** Mark in the OpenAPI schema of a class until it becomes `anyOf`. */
export const NEEDS_ONE_OF = 'x-needs-one-of';

/** States in the OpenAPI schema of a DTO class that one of these fields is required. Its handler enforces that. */
export function NeedsOneOf(...fields: readonly string[]): ClassDecorator {
  return ApiExtension(NEEDS_ONE_OF, fields);
}

/**
 * Validates bodies and queries by the decorators of their DTO classes, and answers 400 with `invalid_request` or
 * `invalid_query`. The message names the wrong fields and their rules, never a value. The place is that of the first
 * wrong field. Parameters without a DTO class pass unchanged.
 */
@Injectable()
export class RequestPipe implements PipeTransform {
  readonly #pipes = {
    body: { strict: pipe('body', true), tolerant: pipe('body', false) },
    query: { strict: pipe('query', true), tolerant: pipe('query', false) },
  };

  async transform(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    const { type: part, metatype } = metadata;
    if ((part !== 'body' && part !== 'query') || !isDto(metatype)) return value;
    const code = CODE_OF.get(metatype) ?? CODES[part];
    const refusal = (message: string, place: Place): CodedError =>
      new CodedError(400, code, message, { place });
    if (!isJsonObject(value)) {
      const place = placeOf(part, 'a JSON object', value);
      throw refusal('The body must be a JSON object.', place);
    }
    const isTolerant = TOLERANT.has(metatype);
    const names = namesOf(metatype);
    const sent = Object.entries(value);
    // Unknown names are removed before the libraries run, because each of thousands of names costs them as much as
    // all before it.
    const known = sent.filter(([name]) => names.has(name));
    if (!isTolerant && known.length < sent.length) {
      const listed = [...names].join(', ');
      const place = { path: part, expected: `only ${listed}` };
      throw refusal(`${UNKNOWN[part]}; known are ${listed}.`, place);
    }
    const picked = Object.fromEntries(known);
    if (!isWithinBounds(picked, BOUNDS)) {
      const { maxDepth, maxValues } = BOUNDS;
      const expected = `at most ${maxDepth} levels and ${maxValues} values`;
      const message = 'The body is nested too deep, or has too many values.';
      throw refusal(message, { path: part, expected });
    }
    if (hasPrototypeName(picked)) {
      const expected = 'no field named __proto__ or constructor';
      const message = 'A field must not be named __proto__ or constructor.';
      throw refusal(message, { path: part, expected });
    }
    const half = Object.entries(picked).find(([, field]) => !isWellFormed(field));
    if (half !== undefined) {
      const expected = 'text without half of a surrogate pair';
      const [path] = half;
      throw refusal(`${path} must not have half of a surrogate pair.`, { path, expected });
    }
    try {
      const pipe = this.#pipes[part][isTolerant ? 'tolerant' : 'strict'];
      return (await pipe.transform(picked, metadata)) as unknown;
    } catch (error) {
      throw error instanceof CodedError && error.place
        ? refusal(error.message, error.place)
        : error;
    }
  }
}

/**
 * class-transformer calls the `constructor` of an object, and silently drops both names.
 *
 * @param value - with bounded depth and size.
 */
function hasPrototypeName(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(
    ([name, child]) => name === '__proto__' || name === 'constructor' || hasPrototypeName(child),
  );
}

const NAMES = new WeakMap<object, ReadonlySet<string>>();

/** The field names of a DTO class. */
function namesOf(type: Type): ReadonlySet<string> {
  const known = NAMES.get(type);
  if (known !== undefined) return known;
  const storage = classValidator.getMetadataStorage();
  const rules = storage.getTargetValidationMetadatas(type, '', false, false);
  const names = new Set(rules.map(({ propertyName }) => propertyName));
  NAMES.set(type, names);
  return names;
}

function isDto(metatype: ArgumentMetadata['metatype']): metatype is Type {
  return metatype !== undefined && !BUILT_IN.has(metatype);
}

function pipe(part: Part, forbidNonWhitelisted: boolean): ValidationPipe {
  const options: ValidationPipeOptions = {
    whitelist: true,
    forbidNonWhitelisted,
    transform: true,
    stopAtFirstError: true,
    // The value is only described. No answer contains it.
    validationError: { target: false },
    validatorPackage: classValidator,
    transformerPackage: classTransformer,
    exceptionFactory: (errors) => {
      const problems = [...problemsOf(errors, part)];
      const messages = [...new Set(problems.map(({ message }) => message))];
      const listed = messages.slice(0, PROBLEMS_MAX).join('; ');
      return new CodedError(
        400,
        CODES[part],
        `${listed}${messages.length > PROBLEMS_MAX ? '; …' : '.'}`,
        { place: problems[0]?.place },
      );
    },
  };
  return new ValidationPipe(options);
}

interface FieldProblem {
  readonly message: string;
  readonly place: Place;
}

function* problemsOf(
  errors: readonly ValidationError[],
  part: Part,
  parent = '',
): Generator<FieldProblem, void> {
  for (const { property, constraints = {}, children = [], value } of errors) {
    const path = pathOf(parent, property);
    if ('whitelistValidation' in constraints) {
      // Unknown fields of a nested object; those of the root were refused before.
      const place = { path: parent, expected: 'only known fields' };
      yield { message: `${parent}: ${UNKNOWN[part]}`, place };
      continue;
    }
    const [message] = Object.values(constraints);
    if (message !== undefined) {
      const isRepeated = part === 'query' && Array.isArray(value);
      const rule = isRepeated ? 'must be given once' : withoutName(message, property);
      const expected = rule.replace(/^(each )?must be /, '$1');
      yield { message: `${path} ${rule}`, place: placeOf(path, expected, value) };
    }
    yield* problemsOf(children, part, path);
  }
}

/** Messages begin with the name of the field. */
const withoutName = (message: string, name: string): string =>
  message.startsWith(`${name} `) ? message.slice(name.length + 1) : message;

/** `payees[0]`, `terms.network`. */
function pathOf(parent: string, property: string): string {
  if (parent === '') return property;
  return /^\d+$/.test(property) ? `${parent}[${property}]` : `${parent}.${property}`;
}
