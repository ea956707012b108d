import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { PAGE, settlementStatesPage } from './settlement-states.js';

it('docs/settlement-states.md is the table in code', () => {
  expect(readFileSync(PAGE, 'utf8')).toBe(settlementStatesPage());
});
