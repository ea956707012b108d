import { describe, expect, it } from '@jest/globals';
import { Disagreements } from './disagreements.js';

describe('a disagreement of endpoints', () => {
  it('begins with the first contradiction, and ends after a minute without another one', () => {
    let now = 0;
    const disagreements = new Disagreements(() => now);
    expect(disagreements.note('receipt')).toBe(true);
    now = 59_000;
    expect(disagreements.note('receipt')).toBe(false);
    expect(disagreements.note('head')).toBe(true);
    now = 118_000;
    expect(disagreements.note('head')).toBe(false);
    expect(disagreements.takeEnded()).toEqual([]);
    now = 119_000;
    expect(disagreements.takeEnded()).toEqual([{ what: 'receipt', times: 2 }]);
    expect(disagreements.takeEnded()).toEqual([]);
    expect(disagreements.note('receipt')).toBe(true);
  });
});
