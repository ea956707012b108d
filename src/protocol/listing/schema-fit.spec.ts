import { describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { contradictionOf } from './schema-fit.js';

const ajv = new Ajv2020({ strict: false, validateFormats: false });
const found = (value: unknown, schema: object): string | undefined => {
  const contradiction = contradictionOf(value, { ...schema }, 'v');
  return contradiction && `${contradiction.keyword} at ${contradiction.path}`;
};

/** Values of every kind, held against each schema. */
const VALUES: readonly unknown[] = [
  null,
  true,
  false,
  0,
  1,
  1.5,
  -3,
  7,
  '',
  'a',
  'GET',
  '😀😀',
  'POST',
  [],
  ['a'],
  [1, 'a'],
  ['a', 'b', 'c'],
  [[1]],
  {},
  { a: 1 },
  { a: 'x' },
  { a: 1, b: 2 },
  { c: { a: 1 } },
  { input: { type: 'http', method: 'GET' } },
  { input: { method: 'PUT', body: {} } },
];

const SCHEMAS: readonly object[] = [
  {},
  { type: 'object' },
  { type: 'integer' },
  { type: ['string', 'null'] },
  { enum: ['GET', 1, { a: 1 }, [1, 'a']] },
  { const: { a: 1, b: 2 } },
  { minimum: 1, exclusiveMaximum: 7 },
  { maximum: 1, exclusiveMinimum: -3 },
  { minLength: 1, maxLength: 2 },
  { minItems: 1, maxItems: 2, items: { type: 'string' } },
  { prefixItems: [{ type: 'integer' }], items: { type: 'string' } },
  { prefixItems: [{ type: 'integer' }], items: false },
  { required: ['a'], properties: { a: { type: 'integer' } } },
  { properties: { a: true }, additionalProperties: false },
  { properties: { a: true }, additionalProperties: { type: 'object' } },
  { minProperties: 1, maxProperties: 1 },
  { allOf: [{ type: 'object' }, { required: ['a'] }] },
  { anyOf: [{ type: 'string' }, { minimum: 1 }] },
  { oneOf: [{ type: 'number' }, { type: 'integer' }, { type: 'string' }] },
  { not: { type: 'object' } },
  { if: { type: 'object' }, then: { required: ['a'] }, else: { type: 'string' } },
  { if: { type: 'object' }, else: { type: 'number' } },
  { $ref: '#/$defs/node', $defs: { node: { properties: { c: { $ref: '#/$defs/node' } } } } },
  { $defs: { 'a/b~c': { type: 'string' } }, $ref: '#/$defs/a~1b~0c' },
  {
    properties: {
      input: { properties: { type: { const: 'http' }, method: { enum: ['GET'] } }, type: 'object' },
    },
    required: ['input'],
  },
  { properties: { input: { additionalProperties: false, properties: { method: {} } } } },
];

describe('a schema held against a value', () => {
  it.each(SCHEMAS)('is read as the validator of the specification reads it: %j', (schema) => {
    const validator = ajv.compile(schema);
    for (const value of VALUES) {
      const isRefused = found(value, schema) !== undefined;
      expect([value, isRefused]).toEqual([value, !validator(value)]);
    }
  });

  it.each<[string, unknown, object]>([
    ['an expression', 'a'.repeat(40), { pattern: '^(a+)+$!' }],
    [
      'names by expression',
      { a: 1 },
      { patternProperties: { b: {} }, additionalProperties: false },
    ],
    ['not an expression', 'a', { not: { pattern: '.' } }],
    ['one of two expressions', 'a', { oneOf: [{ pattern: '.' }, { type: 'string' }] }],
    ['a condition that is one', 'a', { if: { pattern: '.' }, then: false, else: false }],
    ['a schema elsewhere', 'a', { $ref: 'https://a.example/schema' }],
    ['a name of a schema', 'a', { $ref: '#here', $defs: { b: { $anchor: 'here', type: 'null' } } }],
    ['a reference to nothing', 'a', { $ref: '#/$defs/none' }],
    ['a reference to what an object inherits', 'a', { $ref: '#/constructor/prototype' }],
    ['items of an older draft', ['a'], { items: [{ type: 'null' }] }],
    ['what is no schema', 'a', { type: 'text', enum: 'a', minLength: 'a', allOf: {}, anyOf: 1 }],
    ['a schema that is itself', 'a', { $ref: '#' }],
    ['a schema that is itself twice', 'a', { allOf: [{ $ref: '#' }, { $ref: '#' }] }],
  ])('refuses nothing for %s', (_, value, schema) => {
    expect(found(value, schema)).toBeUndefined();
  });

  const many = (schema: object): object => ({ anyOf: Array.from({ length: 900 }, () => schema) });
  const list = Array.from({ length: 900 }, () => 0);
  const type = [...Array.from({ length: 900 }, () => 'null'), 'string'];

  it.each<[string, unknown, object]>([
    ['long lists', list, many({ enum: [[...list.slice(1), -1]] })],
    ['long texts', '😀'.repeat(8000), many({ minLength: 9000 })],
    ['many items', list, many({ minItems: 1000 })],
    ['many members', Object.fromEntries(list.map((_, n) => [n, 0])), many({ minProperties: 1000 })],
    ['members of choices', Object.fromEntries(list.map((_, n) => [n, 0])), many({ enum: [{}] })],
    ['many types', 1, many({ type })],
    ['long references', 1, many({ $ref: `#/${'a'.repeat(8000)}`, not: {} })],
  ])('is not read to its end with %s', (_, value, schema) => {
    expect(found(value, schema)).toBeUndefined();
    // It is too much of it alone.
    const [one] = (schema as { anyOf: object[] }).anyOf;
    expect(found(value, one ?? {})).toBeDefined();
  });

  it.each<[string, object, object]>([
    ['required', { minProperties: 1 }, { required: list }],
    ['allOf', { allOf: [false] }, { allOf: [false, ...list] }],
  ])('counts all of %s, also behind a contradiction', (_, contradicted, long) => {
    const value = [...Array.from({ length: 18 }, () => ({})), 1];
    const of = (not: object): object => ({ items: { type: 'object', not } });
    expect(found(value, of(contradicted))).toBe('type at v[18]');
    expect(found(value, of({ ...contradicted, ...long }))).toBeUndefined();
  });

  it('names where and by what, and repeats no name that is more than one', () => {
    const schema = { properties: { input: { properties: { method: { enum: ['POST'] } } } } };
    expect(found({ input: { method: 'GET' } }, schema)).toBe('enum at v.input.method');
    expect(found({}, { required: ['<script>'] })).toBe('required at v.*');
    expect(found([1, [2]], { items: { type: 'integer' } })).toBe('type at v[1]');
  });
});
