import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../payment/wire-values.js';
import { firstBrokenField } from './fields.js';
import type { FieldRule } from './finding.js';

const isText = (value: unknown): boolean => typeof value === 'string';
const RULES: readonly FieldRule[] = [
  { path: ['name'], expected: 'a name', isGood: isText, fix: 'Name it.' },
  { path: ['inner', 'first'], expected: 'the first', isGood: isText },
  { path: ['inner', 'deep', 'second'], expected: 'the second', isGood: isText },
];
const GOOD = { name: 'n', inner: { first: 'f', deep: { second: 's' } } };
const inherited = (): JsonObject => Object.create({ first: 'f' }) as JsonObject;

describe('the first broken field', () => {
  it('is none where every rule is kept', () => {
    expect(firstBrokenField('root', GOOD, RULES)).toBeUndefined();
    expect(firstBrokenField('root', {}, [])).toBeUndefined();
  });

  it.each<[string, JsonObject, object]>([
    [
      'absent',
      { ...GOOD, name: undefined },
      { path: 'root.name', expected: 'a name', got: undefined, fix: 'Name it.' },
    ],
    [
      'the earliest of several',
      { name: 7, inner: {} },
      { path: 'root.name', expected: 'a name', got: 7, fix: 'Name it.' },
    ],
    [
      'inside another',
      { ...GOOD, inner: { first: 1 } },
      { path: 'root.inner.first', expected: 'the first', got: 1 },
    ],
    [
      'its parent, absent',
      { name: 'n' },
      { path: 'root.inner', expected: 'an object', got: undefined },
    ],
    [
      'its parent, a list',
      { name: 'n', inner: [] },
      { path: 'root.inner', expected: 'an object', got: [] },
    ],
    [
      'its parent, further in',
      { name: 'n', inner: { first: 'f', deep: 'd' } },
      { path: 'root.inner.deep', expected: 'an object', got: 'd' },
    ],
    [
      'one that its object only inherits',
      { name: 'n', inner: inherited() },
      { path: 'root.inner.first', expected: 'the first', got: undefined },
    ],
  ])('is %s', (_, value, expected) => {
    expect(firstBrokenField('root', value, RULES)).toStrictEqual(expected);
  });

  it.each(['toString', 'constructor', '__proto__'])('is %s, which every object has', (name) => {
    const rule = {
      path: [name],
      expected: 'text',
      isGood: (value: unknown) => value !== undefined,
    };
    expect(firstBrokenField('root', {}, [rule])).toMatchObject({ path: `root.${name}` });
  });
});
