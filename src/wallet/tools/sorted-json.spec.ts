import { describe, expect, it } from '@jest/globals';
import { sortedJson } from './sorted-json.js';

describe('arguments as text', () => {
  it('are the same text in whatever order they were written', () => {
    const text = sortedJson({ b: [{ d: 1, c: 'x' }], a: null });
    expect(text).toBe('{"a":null,"b":[{"c":"x","d":1}]}');
    expect(sortedJson({ a: null, b: [{ c: 'x', d: 1 }] })).toBe(text);
  });

  it('keep the order of lists', () => {
    expect(sortedJson({ a: [2, 1] })).toBe('{"a":[2,1]}');
  });

  it('are refused where they are too deep, too many or too long', () => {
    let deep: unknown = 1;
    for (let at = 0; at < 100_000; at += 1) deep = [deep];
    expect(() => sortedJson({ deep })).toThrow('The arguments may have');
    expect(() => sortedJson({ many: Array<number>(10_001).fill(1) })).toThrow('may have');
    expect(() => sortedJson({ long: 'x'.repeat(262_145) })).toThrow('may have');
  });
});
