import { describe, expect, it } from '@jest/globals';
import { mimeTypeOf, plainJson, plainText, serviceNameOf, tagsOf } from './seller-words.js';

describe('a seller’s text', () => {
  it.each([
    ['Weather of today', 'Weather of today'],
    ['  two\n lines\tand  more ', 'two lines and more'],
    ['<b>bold</b> <script>alert(1)</script>', 'bold alert(1)'],
    ['<scr<b>ipt>alert(1)', 'script>alert(1)'],
    ['1 < 2 > 0', '1 < 2 > 0'],
    ['abc\u202Egnp.exe\u2066\u200B\uFEFF\u0000', 'abcgnp.exe'],
    ['hidden \u{E0041}\u{E0042}words\u{E0101}', 'hidden words'],
    ['half \uD83D a pair', 'half  a pair'],
    ['Wetter \u{1F326} 天気', 'Wetter \u{1F326} 天気'],
  ])('%j is shown as %j', (declared, shown) => {
    expect(plainText(declared).text).toBe(shown);
  });

  it('is cut, and never within a character', () => {
    expect(plainText('a'.repeat(501))).toEqual({ text: 'a'.repeat(500), isCut: true });
    expect(plainText(`${'a'.repeat(499)}\u{1F326}`)).toEqual({
      text: 'a'.repeat(499),
      isCut: true,
    });
    expect(plainText('a'.repeat(500))).toEqual({ text: 'a'.repeat(500), isCut: false });
  });

  it.each([undefined, null, 1, {}, [], '', '   ', '\u202E'])('is undefined for %j', (declared) => {
    expect(plainText(declared).text).toBeUndefined();
  });
});

describe('names of a service', () => {
  it('are short and printable', () => {
    expect(serviceNameOf('Weather 24')).toBe('Weather 24');
    for (const declared of ['', 'a'.repeat(33), 'Wetter\n', 'Ünder', '<b>', 7, null]) {
      expect(serviceNameOf(declared)).toBeUndefined();
    }
  });

  it('are five tags at most, each once', () => {
    expect(tagsOf(['a', 'A', '', 7, 'b', 'é', 'c', 'd', 'e', 'f'])).toEqual([
      'a',
      'b',
      'c',
      'd',
      'e',
    ]);
    expect(tagsOf([])).toBeUndefined();
    expect(tagsOf('a')).toBeUndefined();
    expect(tagsOf([...new Array<string>(100_000).fill(''), 'late'])).toBeUndefined();
  });

  it('are types of media', () => {
    for (const type of ['application/json', 'text/plain; charset=utf-8', 'image/svg+xml']) {
      expect(mimeTypeOf(type)).toBe(type);
    }
    for (const declared of ['json', 'a/b/c', 'text/html\r\nx: y', '<b>/c', 5]) {
      expect(mimeTypeOf(declared)).toBeUndefined();
    }
  });
});

describe('a seller’s JSON', () => {
  it('is repeated without names and characters that mean something else', () => {
    const declared: unknown = JSON.parse(
      '{"__proto__":{"isAdmin":true},"constructor":1,"a\\u202eb":["x\\u0000y\\n",{"prototype":1,"ok":null}]}',
    );
    const copy = plainJson(declared);
    expect(copy).toEqual({ ab: ['xy\n', { ok: null }] });
    expect((copy as { isAdmin?: unknown }).isAdmin).toBeUndefined();
  });
});
