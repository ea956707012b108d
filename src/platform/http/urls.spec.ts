import { describe, expect, it } from '@jest/globals';
import { isUrl } from './urls.js';

describe('a text', () => {
  it.each<[string, string | undefined, boolean]>([
    ['https://shop.example/a', undefined, true],
    ['/a', 'https://shop.example', true],
    ['/a', undefined, false],
    ['https://', undefined, false],
    ['', undefined, false],
  ])('%j is a URL beside %s: %s', (text, base, expected) => {
    expect(isUrl(text, base)).toBe(expected);
  });

  it('with a name beyond ASCII is a URL however often that was asked', () => {
    const wrong = Array.from({ length: 100_000 }, () => isUrl('https://münchen.example/'));
    expect(wrong.includes(false)).toBe(false);
  });
});
