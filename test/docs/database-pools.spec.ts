import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { POOLS } from '../../src/platform/database/database-pools.js';
import { tableRows } from './markdown.js';

const PAGE = new URL('../../docs/history.md', import.meta.url);

it('docs/history.md says how many connections each pool has, and for how long', () => {
  const rows = tableRows(readFileSync(PAGE, 'utf8'))
    .filter(([name]) => (name ?? '').startsWith('`x402-'))
    .map(([name, most, seconds]) => [name, most, seconds]);
  expect(rows).toEqual(
    Object.values(POOLS).map(({ name, most, statementMs }) => [
      `\`${name}\``,
      String(most),
      `${statementMs / 1000} s`,
    ]),
  );
});
