import { isJsonObject, type JsonObject } from '../payment/wire-values.js';

/** The place where a value does not match its schema. */
export interface Contradiction {
  /** Path in the value. */
  readonly path: string;
  /** Keyword of the schema. */
  readonly keyword: string;
}

/** `maybe`: the result depends on a keyword that is not supported. */
type Fit = 'yes' | 'maybe' | Contradiction;

/** Limit of comparisons for one value; beyond it the result is unknown. */
const STEPS_MAX = 4000;
/** Maximum nesting of schemas, with references. */
const DEPTH_MAX = 64;
/** Reading this many characters counts as one comparison. */
const CHARACTERS_A_STEP = 16;
/** Unsupported keywords for any value: they execute regular expressions of a seller, or depend on other keywords. */
const UNREAD = ['$dynamicRef', 'unevaluatedItems', 'unevaluatedProperties'];
const UNREAD_OF_OBJECTS = ['patternProperties', 'propertyNames', 'dependentSchemas'];
const UNREAD_OF_LISTS = ['contains', 'uniqueItems'];
/** Names that a path may show; other names are shown as a star, because sellers choose them. */
const NAME = /^[\w-]{1,64}$/;

/**
 * Validates a value against a schema (draft 2020-12), in bounded steps. Expressions (`pattern`), formats and external
 * schemas are not read; a value that depends on them passes.
 *
 * @param path - of the value.
 * @returns `undefined` where the value matches, or where this cannot be decided.
 */
export function contradictionOf(
  value: unknown,
  schema: JsonObject,
  path: string,
): Contradiction | undefined {
  try {
    const fit = new SchemaReader(schema).fit(schema, value, { path, depth: 0 });
    return typeof fit === 'object' ? fit : undefined;
  } catch (error) {
    if (error instanceof TooLongError) return undefined;
    throw error;
  }
}

class TooLongError extends Error {}

interface Place {
  readonly path: string;
  readonly depth: number;
}

class SchemaReader {
  #steps = 0;

  constructor(private readonly root: JsonObject) {}

  fit(schema: unknown, value: unknown, { path, depth }: Place): Fit {
    this.#step();
    if (schema === true) return 'yes';
    if (schema === false) return { path, keyword: 'false' };
    if (!isJsonObject(schema) || depth > DEPTH_MAX) return 'maybe';
    const within = { path, depth: depth + 1 };
    return worstOf([
      () => (hasAny(schema, UNREAD) ? 'maybe' : 'yes'),
      () => this.#fitReference(schema, value, within),
      () => this.#fitPlain(schema, value, path),
      () => this.#fitText(schema, value, path),
      () => this.#fitList(schema, value, within),
      () => this.#fitObject(schema, value, within),
      () => this.#fitChoices(schema, value, within),
    ]);
  }

  #fitReference({ $ref: reference }: JsonObject, value: unknown, place: Place): Fit {
    if (reference === undefined) return 'yes';
    const schema = typeof reference === 'string' ? this.#resolve(reference) : undefined;
    return schema === undefined ? 'maybe' : this.fit(schema, value, place);
  }

  /** Resolves a reference within this schema, only by path. */
  #resolve(reference: string): unknown {
    if (reference === '#') return this.root;
    if (!reference.startsWith('#/')) return undefined;
    this.#step(reference.length / CHARACTERS_A_STEP);
    let at: unknown = this.root;
    for (const part of reference.slice(2).split('/')) {
      this.#step();
      const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
      if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined;
      at = (at as JsonObject)[name];
    }
    return at;
  }

  #fitPlain(schema: JsonObject, value: unknown, path: string): Fit {
    const { type, enum: choices, const: only } = schema;
    if (Array.isArray(type)) this.#step(type.length);
    return worstOf([
      () => (type === undefined ? 'yes' : fitType(type, value, path)),
      () => {
        if (!Array.isArray(choices)) return choices === undefined ? 'yes' : 'maybe';
        return choices.some((one) => this.#isSame(one, value)) ? 'yes' : { path, keyword: 'enum' };
      },
      () => {
        const isOnly = !Object.hasOwn(schema, 'const') || this.#isSame(only, value);
        return isOnly ? 'yes' : { path, keyword: 'const' };
      },
    ]);
  }

  #fitList(schema: JsonObject, value: unknown, { path, depth }: Place): Fit {
    if (!Array.isArray(value)) return 'yes';
    this.#step(value.length);
    const { items, prefixItems, minItems, maxItems } = schema;
    const first = Array.isArray(prefixItems) ? prefixItems : [];
    // Lists of schemas are from older drafts.
    if (Array.isArray(items) || hasAny(schema, UNREAD_OF_LISTS)) return 'maybe';
    return worstOf([
      () => fitLimits(value.length, { minItems, maxItems }, path),
      ...value.map((one, index) => () => {
        const ofItem = index < first.length ? (first[index] as unknown) : items;
        const at = { path: `${path}[${index}]`, depth };
        return ofItem === undefined ? 'yes' : this.fit(ofItem, one, at);
      }),
    ]);
  }

  #fitObject(schema: JsonObject, value: unknown, { path, depth }: Place): Fit {
    if (!isJsonObject(value)) return 'yes';
    const { required, additionalProperties, minProperties, maxProperties } = schema;
    const properties = isJsonObject(schema['properties']) ? schema['properties'] : {};
    const isUnread = hasAny(schema, UNREAD_OF_OBJECTS);
    const names = Object.keys(value);
    const demanded: readonly unknown[] = Array.isArray(required) ? required : [];
    this.#step(names.length + demanded.length);
    return worstOf([
      () => (isUnread ? 'maybe' : 'yes'),
      () => fitLimits(names.length, { minProperties, maxProperties }, path),
      ...demanded.map((name) => (): Fit => {
        const isThere = typeof name !== 'string' || Object.hasOwn(value, name);
        return isThere ? 'yes' : { path: memberOf(path, name), keyword: 'required' };
      }),
      ...names.map((name) => (): Fit => {
        const at = { path: memberOf(path, name), depth };
        if (Object.hasOwn(properties, name)) return this.fit(properties[name], value[name], at);
        if (additionalProperties === undefined) return 'yes';
        // A regular expression may allow this name.
        if (isUnread) return 'maybe';
        const fit = this.fit(additionalProperties, value[name], at);
        return typeof fit === 'object' && additionalProperties === false
          ? { path: at.path, keyword: 'additionalProperties' }
          : fit;
      }),
    ]);
  }

  #fitChoices(schema: JsonObject, value: unknown, place: Place): Fit {
    const { allOf, anyOf, oneOf, not, if: condition } = schema;
    const all = (schemas: unknown): readonly Fit[] =>
      Array.isArray(schemas) ? schemas.map((one) => this.fit(one, value, place)) : [];
    const demanded: readonly unknown[] = Array.isArray(allOf) ? allOf : [];
    this.#step(demanded.length);
    return worstOf([
      ...demanded.map((one) => () => this.fit(one, value, place)),
      () => {
        const fits = all(anyOf);
        if (fits.length === 0 || fits.includes('yes')) return 'yes';
        return fits.includes('maybe') ? 'maybe' : { path: place.path, keyword: 'anyOf' };
      },
      () => {
        const fits = all(oneOf);
        const fitting = fits.filter((one) => one === 'yes').length;
        if (fits.length === 0) return 'yes';
        if (fitting > 1) return { path: place.path, keyword: 'oneOf' };
        if (fits.includes('maybe')) return 'maybe';
        return fitting === 1 ? 'yes' : { path: place.path, keyword: 'oneOf' };
      },
      () => {
        if (not === undefined) return 'yes';
        const fit = this.fit(not, value, place);
        if (fit === 'maybe') return 'maybe';
        return fit === 'yes' ? { path: place.path, keyword: 'not' } : 'yes';
      },
      () => {
        if (condition === undefined) return 'yes';
        const fit = this.fit(condition, value, place);
        if (fit === 'maybe') return 'maybe';
        const branch = schema[fit === 'yes' ? 'then' : 'else'];
        return branch === undefined ? 'yes' : this.fit(branch, value, place);
      },
    ]);
  }

  /** Whether two JSON values are equal. */
  #isSame(one: unknown, other: unknown): boolean {
    this.#step();
    if (one === other) return true;
    if (Array.isArray(one) && Array.isArray(other)) {
      return (
        one.length === other.length &&
        one.every((value, index) => this.#isSame(value, other[index]))
      );
    }
    if (!isJsonObject(one) || !isJsonObject(other)) return false;
    const [names, others] = [Object.keys(one), Object.keys(other)];
    this.#step(names.length + others.length);
    return (
      names.length === others.length &&
      names.every((name) => Object.hasOwn(other, name) && this.#isSame(one[name], other[name]))
    );
  }

  /** Checks texts and numbers. */
  #fitText(schema: JsonObject, value: unknown, path: string): Fit {
    if (typeof value === 'number') return fitNumber(schema, value, path);
    if (typeof value !== 'string') return 'yes';
    const { minLength, maxLength } = schema;
    if (minLength !== undefined || maxLength !== undefined) {
      // Counts characters, which may have two units each.
      this.#step(value.length / CHARACTERS_A_STEP);
      const fit = fitLimits(Array.from(value).length, { minLength, maxLength }, path);
      if (fit !== 'yes') return fit;
    }
    return schema['pattern'] === undefined ? 'yes' : 'maybe';
  }

  #step(cost = 1): void {
    this.#steps += cost;
    if (this.#steps > STEPS_MAX) throw new TooLongError();
  }
}

/** Stops at the first contradiction. */
function worstOf(parts: readonly (() => Fit)[]): Fit {
  let worst: Fit = 'yes';
  for (const part of parts) {
    const fit = part();
    if (typeof fit === 'object') return fit;
    if (fit === 'maybe') worst = 'maybe';
  }
  return worst;
}

function hasAny(schema: JsonObject, names: readonly string[]): boolean {
  return names.some((name) => schema[name] !== undefined && schema[name] !== false);
}

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  null: (value) => value === null,
  boolean: (value) => typeof value === 'boolean',
  number: (value) => typeof value === 'number',
  integer: (value) => Number.isInteger(value),
  string: (value) => typeof value === 'string',
  array: (value) => Array.isArray(value),
  object: isJsonObject,
};

function fitType(declared: unknown, value: unknown, path: string): Fit {
  const names: readonly unknown[] = Array.isArray(declared) ? declared : [declared];
  const isKnown = names.every((name) => typeof name === 'string' && Object.hasOwn(TYPES, name));
  if (!isKnown) return 'maybe';
  const isOne = names.some((name) => TYPES[String(name)]?.(value) === true);
  return isOne ? 'yes' : { path, keyword: 'type' };
}

function fitNumber(schema: JsonObject, value: number, path: string): Fit {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
  if (typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum) {
    return { path, keyword: 'exclusiveMinimum' };
  }
  if (typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum) {
    return { path, keyword: 'exclusiveMaximum' };
  }
  const fit = fitLimits(value, { minimum, maximum }, path);
  return fit === 'yes' && schema['multipleOf'] !== undefined ? 'maybe' : fit;
}

/** @param limits - by keyword; a keyword starts with `min` or `max`. */
function fitLimits(value: number, limits: JsonObject, path: string): Fit {
  for (const [keyword, limit] of Object.entries(limits)) {
    if (typeof limit !== 'number') continue;
    if (keyword.startsWith('min') ? value < limit : value > limit) return { path, keyword };
  }
  return 'yes';
}

function memberOf(path: string, name: string): string {
  return `${path}.${NAME.test(name) ? name : '*'}`;
}
