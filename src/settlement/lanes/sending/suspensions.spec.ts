import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { AssetSuspension, BatchSuspension } from './suspensions.js';

const ASSET = 'eip155:56/0xaa';
const MINUTE = 60_000;

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

/** A token that reverts a batch reverts the payments of others with it. */
describe('an asset that spoils batches', () => {
  let suspension: BatchSuspension;

  beforeEach(() => {
    jest.useFakeTimers();
    suspension = new BatchSuspension();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it.each<[string, readonly number[], number, boolean]>([
    ['none', [], 0, false],
    ['one', [0], 0, false],
    ['two at once', [0, 0], 0, true],
    ['two, nine minutes apart', [0, 9], 0, true],
    ['two, eleven minutes apart', [0, 11], 0, false],
    ['two, ten minutes ago', [0, 0], 10, false],
    ['three, of which the first is old', [0, 8, 8], 5, true],
  ])('after %s', (_, minutes, later, isSuspended) => {
    let now = 0;
    for (const minute of minutes) {
      jest.advanceTimersByTime((minute - now) * MINUTE);
      now = minute;
      suspension.noteRevert(ASSET);
    }
    jest.advanceTimersByTime(later * MINUTE);
    expect(suspension.isSuspended(ASSET)).toBe(isSuspended);
    expect(suspension.isSuspended('eip155:56/0xbb')).toBe(false);
  });
});
