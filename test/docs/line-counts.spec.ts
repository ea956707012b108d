import { describe, expect, it } from '@jest/globals';
import { countLines, exportsUsedOnce } from './line-counts.js';

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

describe('exports that are used once', () => {
  it('are those that exactly one other file imports', () => {
    const sources = new Map([
      [
        '/a.ts',
        'export const once = 1;\nexport function twice() {}\nexport type Never = 1;\nconst own = 1;\n',
      ],
      ['/b/b.ts', "import { once, twice as both } from '../a.js';\n"],
      ['/c.ts', "import { twice } from './a.js';\nimport { once } from 'elsewhere';\n"],
    ]);
    expect(exportsUsedOnce(sources)).toBe(1);
  });
});
