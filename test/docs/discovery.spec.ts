import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { MEANINGS } from '../../src/discovery/codes.js';
import { tableRows } from './markdown.js';

it('docs/discovery.md has the table of codes in the code', () => {
  const text = readFileSync(new URL('../../docs/discovery.md', import.meta.url), 'utf8');
  const [, table = ''] = /### Codes\n([\s\S]*?)\n## /.exec(text) ?? [];
  const documented = tableRows(table).map(([code, meaning]) => [code?.slice(1, -1), meaning]);
  expect(documented).toEqual(Object.entries(MEANINGS));
});
