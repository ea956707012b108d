import { describe, expect, it } from '@jest/globals';
import type { PublishedStatus } from '../../settlement/ledger/queries/lane-queries.js';
import { laneHealths } from './lane-health.js';
import { queueHealth } from './queue-health.js';

const aLane = (overrides: Partial<PublishedStatus> = {}): PublishedStatus => ({
  lane: '56:0xaa',
  chainId: 56,
  signer: '0xaa',
  processId: 'p1',
  trouble: undefined,
  balanceWei: '1',
  settlementsLeft: 1,
  inFlight: 0,
  window: 16,
  gaps: 0,
  nextNonce: 0,
  oldestNonce: 0,
  oldestInFlightMs: 0,
  inclusionMs: 0,
  perSecond: 1,
  gasPriceWei: '1',
  suspendedAssets: [],
  silentMs: 100,
  ...overrides,
});

describe('a lane in the report', () => {
  it('has no owner once its process is silent, whatever it said last', () => {
    const [lane] = laneHealths([aLane({ silentMs: 6000, trouble: 'no_gas' })]);
    expect(lane).toMatchObject({ code: 'no_owner', owner: 'p1' });
  });

  it('says why it takes no work, and nothing when it does', () => {
    const [troubled, well] = laneHealths([aLane({ trouble: 'paused' }), aLane()]);
    expect(troubled?.code).toBe('paused');
    expect(well).not.toHaveProperty('code');
  });

  it('is forgotten an hour after its last word', () => {
    expect(laneHealths([aLane({ silentMs: 3_600_000 })])).toEqual([]);
  });
});

describe('a queue in the report', () => {
  const waiting = { chainId: 56, depth: 4, oldestMs: 4000, live: 5 };
  const codeWith = (lanes: readonly PublishedStatus[], queue = waiting): string | undefined =>
    queueHealth(queue, laneHealths(lanes)).code;

  it('is idle when work waits and no living lane of its network has anything on its way', () => {
    expect(codeWith([])).toBe('idle');
    expect(codeWith([aLane()])).toBe('idle');
    expect(codeWith([aLane({ inFlight: 3, silentMs: 9000 })])).toBe('idle');
    expect(codeWith([aLane({ inFlight: 3, chainId: 97 })])).toBe('idle');
  });

  it('is not idle while something is on its way, nothing waits, or it has only just come', () => {
    expect(codeWith([aLane({ inFlight: 1 })])).toBeUndefined();
    expect(codeWith([], { ...waiting, depth: 0, oldestMs: 0 })).toBeUndefined();
    expect(codeWith([], { ...waiting, oldestMs: 1000 })).toBeUndefined();
  });
});
