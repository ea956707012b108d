import { describe, expect, it } from '@jest/globals';
import { shown } from './finding.js';

describe('a value of a seller', () => {
  it.each<[unknown, string]>([
    ['0.10', '"0.10"'],
    [5, '5'],
    [10n ** 20n, '"100000000000000000000"'],
    [true, 'true'],
    [null, 'null'],
    [undefined, 'nothing'],
    [['a', 'b'], 'a list of 2'],
    [{}, 'an empty object'],
    [{ name: 'x', other: 1 }, 'an object with name, other'],
    ['line\nbreak "quoted"', String.raw`"line\nbreak \"quoted\""`],
    ['\u202Egnp.exe\u0000', String.raw`"?gnp.exe\u0000"`],
    ['<script>alert(1)</script>', '"<script>alert(1)</script>"'],
  ])('%p is shown as %s', (value, expected) => {
    expect(shown(value)).toBe(expected);
  });

  it.each([
    'x'.repeat(10_000),
    '"'.repeat(10_000),
    { ['k'.repeat(10_000)]: 1 },
    Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`key${index}`, 1])),
  ])('is no longer than a line', (value) => {
    expect(shown(value).length).toBeLessThanOrEqual(120);
  });
});
