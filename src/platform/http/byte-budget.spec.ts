import { describe, expect, it } from '@jest/globals';
import { BodyShare, ByteBudget, FREE_BODY_BYTES } from './byte-budget.js';

describe('bodies that arrive at once', () => {
  it('share a budget for what is long of them, and leave short ones alone', () => {
    const budget = new ByteBudget(100);
    const [long, other, short] = [1, 2, 3].map(() => new BodyShare(budget));
    expect(long?.add(FREE_BODY_BYTES + 60)).toBe(true);
    expect(other?.add(FREE_BODY_BYTES)).toBe(true);
    expect(other?.add(41)).toBe(false);
    expect(short?.add(FREE_BODY_BYTES)).toBe(true);
    long?.release();
    long?.release();
    expect(new BodyShare(budget).add(FREE_BODY_BYTES + 100)).toBe(true);
    expect(new BodyShare(budget).add(FREE_BODY_BYTES + 1)).toBe(false);
  });
});
