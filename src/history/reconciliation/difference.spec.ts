import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { DIFFERENCES, differencesIn, isNote, NOTES } from './difference.js';

const PAGE = readFileSync(new URL('../../../docs/reconciliation.md', import.meta.url), 'utf8');

describe('the names of differences', () => {
  it('are those of the document', () => {
    const names = PAGE.slice(PAGE.indexOf('## Names'), PAGE.indexOf('## What is compared'));
    const rows = [...names.matchAll(/^\| `(\w+)` \| (.*) \|$/gm)].map(([, name, text]) => [
      name,
      text,
    ]);
    expect(rows).toEqual([...Object.entries(DIFFERENCES), ...Object.entries(NOTES)]);
  });

  it('are counted without notes', () => {
    const counts = new Map([
      ['amount_differs', 2],
      ['not_checked', 1],
      ['lane_funded', 5],
    ]);
    expect(differencesIn(counts)).toBe(3);
    expect([isNote({ name: 'lane_funded' }), isNote({ name: 'not_checked' })]).toEqual([
      true,
      false,
    ]);
  });
});
