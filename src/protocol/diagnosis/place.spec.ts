import { describe, expect, it } from '@jest/globals';
import { placeOf } from './place.js';

describe('a place in a request', () => {
  it.each<[unknown, string]>([
    [`0x${'5f'.repeat(32)}`, 'text of 66 characters'],
    ['1234', 'text of 4 characters'],
    ['x', 'text of 1 character'],
    ['', 'empty text'],
    [51, '51'],
    [false, 'false'],
    [undefined, 'nothing'],
    [null, 'null'],
    [['a secret'], 'a list'],
    [{ key: 'a secret' }, 'an object'],
  ])('describes the value and never repeats a text: %j', (value, got) => {
    expect(placeOf('a.b', 'an address', value)).toEqual({
      path: 'a.b',
      expected: 'an address',
      got,
    });
  });
});
