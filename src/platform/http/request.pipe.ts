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
import { isWithinBounds } from '../../protocol/payment/json-bounds.js';
import { isJsonObject } from '../../protocol/payment/wire-values.js';
import { CodedError } from './coded-error.js';

/** An answer names no more problems than these. */
const PROBLEMS_MAX = 16;

/**
 * The libraries walk what they are given by calling themselves, and compare each name of an object with all others. The
 * largest body that is expected is that of a request that `POST /v2/doctor` is to make, of 2000 values.
 */
const BOUNDS = { maxDepth: 64, maxValues: 2200 } as const;

/** What TypeScript emits for a parameter whose type is no class. */
const BUILT_IN = new Set<unknown>([Object, String, Number, Boolean, Array]);

type Part = 'body' | 'query';

const CODES: Readonly<Record<Part, string>> = { body: 'invalid_request', query: 'invalid_query' };
const UNKNOWN: Readonly<Record<Part, string>> = {
  body: 'a field is not known here',
  query: 'unknown parameter',
};

/** Classes whose unknown fields are dropped. */
const TOLERANT = new WeakSet<object>();

/** Codes of DTO classes that have one of their own. */
const CODE_OF = new WeakMap<object, string>();

/** Names the code that a DTO class is refused with, in place of `invalid_request` or `invalid_query`. */
export function RefusedWith(code: string): ClassDecorator {
  return (type) => {
    CODE_OF.set(type, code);
  };
}

/** What the OpenAPI schema of such a class says. */
export const IGNORES_UNKNOWN = 'x-ignores-unknown';

/** Marks a DTO class whose unknown fields or parameters are dropped. Those of other classes are refused. */
export function IgnoresUnknown(): ClassDecorator {
  return (type) => {
    TOLERANT.add(type);
    ApiExtension(IGNORES_UNKNOWN, true)(type);
  };
}

/** What the OpenAPI schema of a class says until it becomes `anyOf`. */
export const NEEDS_ONE_OF = 'x-needs-one-of';

/** Says in the OpenAPI schema of a DTO class that one of these fields has to be there; its handler refuses what has none. */
export function NeedsOneOf(...fields: readonly string[]): ClassDecorator {
  return ApiExtension(NEEDS_ONE_OF, fields);
}

/**
 * Validates bodies and queries by the decorators of their DTO classes, and answers 400 with `invalid_request` or
 * `invalid_query`. The message names the fields that are wrong and what they must be, and never a value.
 * A parameter of another type than a DTO class is handed on as it is.
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
    if (!isJsonObject(value)) throw new CodedError(400, code, 'The body must be a JSON object.');
    const isTolerant = TOLERANT.has(metatype);
    const names = namesOf(metatype);
    const sent = Object.entries(value);
    // Before the libraries see them: of thousands of names each costs them as much as all before it.
    const known = sent.filter(([name]) => names.has(name));
    if (!isTolerant && known.length < sent.length) {
      throw new CodedError(400, code, `${UNKNOWN[part]}; known are ${[...names].join(', ')}.`);
    }
    const picked = Object.fromEntries(known);
    if (!isWithinBounds(picked, BOUNDS)) {
      throw new CodedError(400, code, 'The body is nested too deep, or has too many values.');
    }
    if (hasPrototypeName(picked)) {
      throw new CodedError(400, code, 'A field must not be named __proto__ or constructor.');
    }
    try {
      const pipe = this.#pipes[part][isTolerant ? 'tolerant' : 'strict'];
      return (await pipe.transform(picked, metadata)) as unknown;
    } catch (error) {
      throw error instanceof CodedError ? new CodedError(400, code, error.message) : error;
    }
  }
}

/**
 * class-transformer calls what an object has as `constructor`, and drops both names in silence.
 *
 * @param value - of few levels and values.
 */
function hasPrototypeName(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(
    ([name, child]) => name === '__proto__' || name === 'constructor' || hasPrototypeName(child),
  );
}

const NAMES = new WeakMap<object, ReadonlySet<string>>();

/** The fields of a DTO class. */
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
    // The value is only asked whether it is a list. No message has it.
    validationError: { target: false },
    validatorPackage: classValidator,
    transformerPackage: classTransformer,
    exceptionFactory: (errors) => {
      const problems = [...new Set(problemsOf(errors, part))];
      const listed = problems.slice(0, PROBLEMS_MAX).join('; ');
      return new CodedError(
        400,
        CODES[part],
        `${listed}${problems.length > PROBLEMS_MAX ? '; …' : '.'}`,
      );
    },
  };
  return new ValidationPipe(options);
}

function* problemsOf(
  errors: readonly ValidationError[],
  part: Part,
  parent = '',
): Generator<string, void> {
  for (const { property, constraints = {}, children = [], value } of errors) {
    const path = pathOf(parent, property);
    if ('whitelistValidation' in constraints) {
      // Of a nested part: those of the whole were refused before.
      yield `${parent}: ${UNKNOWN[part]}`;
      continue;
    }
    const [message] = Object.values(constraints);
    if (message !== undefined) {
      yield part === 'query' && Array.isArray(value)
        ? `${path} must be given once`
        : `${path} ${message.startsWith(`${property} `) ? message.slice(property.length + 1) : message}`;
    }
    yield* problemsOf(children, part, path);
  }
}

/** `payees[0]`, `terms.network`. */
function pathOf(parent: string, property: string): string {
  if (parent === '') return property;
  return /^\d+$/.test(property) ? `${parent}[${property}]` : `${parent}.${property}`;
}
