import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { AssetSuspension } from './asset-suspension.js';

const ASSET = 'eip155:56/0xaa';

describe('an asset whose transactions succeed without evidence', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('is suspended after three within ten minutes, and served again later', () => {
    const suspension = new AssetSuspension();
    suspension.noteWithoutEvidence(ASSET);
    jest.advanceTimersByTime(11 * 60_000);
    suspension.noteWithoutEvidence(ASSET);
    suspension.noteWithoutEvidence(ASSET);
    expect(suspension.isSuspended(ASSET)).toBe(false);
    suspension.noteWithoutEvidence(ASSET);
    expect(suspension.isSuspended(ASSET)).toBe(true);
    expect(suspension.suspended).toEqual([ASSET]);
    expect(suspension.isSuspended('eip155:56/0xbb')).toBe(false);
    jest.advanceTimersByTime(11 * 60_000);
    expect(suspension.suspended).toEqual([]);
  });
});
