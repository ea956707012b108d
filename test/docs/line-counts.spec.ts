import { describe, expect, it } from '@jest/globals';
import { countLines } from './line-counts.js';

describe('lines that count', () => {
  it.each([
    ['nothing', '\n\n', 0],
    ['comments alone', '// one\n/*\n two\n*/\n/** three */\n', 0],
    ['a comment behind code', 'const a = 1; // why\n', 1],
    ['a documented statement', '/**\n * Why.\n */\nexport const a = 1;\n', 1],
    ['a call over lines, with a blank one and a comment', 'f(\n  1,\n\n  // why\n  2,\n);\n', 4],
    ['a text that looks like a comment', "const a = '// no';\n", 1],
    ['all lines of a template', 'const a = `one\n\nthree`;\n', 3],
  ])('of %s', (_, source, expected) => {
    expect(countLines(source)).toBe(expected);
  });
});
