import { describe, expect, it } from '@jest/globals';
import type { EvmChain } from '../../platform/chain/evm-chain.js';
import type { LaneStatus } from '../../settlement/model/lane-status.js';
import { networkHealth } from './network-health.js';

const chain = {
  chainId: 56,
  isRightChain: true,
  endpoints: [],
  bestHead: undefined,
  config: { network: 'eip155:56' },
  hasContract: () => undefined,
} as unknown as EvmChain;

const SIGNER = `0x${'0'.repeat(39)}1`;
const aLane = (more: Partial<LaneStatus> = {}): LaneStatus =>
  ({ signer: SIGNER, settlementsLeft: 5, trouble: undefined, ...more }) as LaneStatus;

const health = (...lanes: LaneStatus[]) => networkHealth(chain, lanes, { headMaxAgeMs: 0 }, 0);

describe('networkHealth', () => {
  it('counts no lane that is on its way out: nothing new is settled by it', () => {
    const retiring = aLane({ isRetiring: true });
    expect(health(retiring)).toMatchObject({ canSettle: false, code: 'no_lane', lanes: 0 });
    expect(health(retiring, aLane())).toMatchObject({ lanes: 1, settlementsLeft: 5 });
  });
});
