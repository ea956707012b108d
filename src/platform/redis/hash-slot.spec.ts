import { describe, expect, it } from '@jest/globals';
import { slotOf } from './hash-slot.js';

describe('the slot of a hash tag', () => {
  // The first one is of the specification; the others are what CLUSTER KEYSLOT answers.
  it.each([
    ['123456789', 12_739],
    ['foo', 12_182],
    ['bar', 5061],
    ['', 0],
  ])('%s: %i', (tag, slot) => {
    expect(slotOf(tag)).toBe(slot);
  });
});
