import { describe, expect, it } from '@jest/globals';
import type { Rate, RateVerdict } from '../../platform/rate-limit/rate-limiter.js';
import { NewWallets } from './new-wallets.js';

/** Counts as the limiter does at one moment: nothing comes free again. */
function newWallets(requestsPerMinute: number): NewWallets {
  const taken = new Map<string, number>();
  const take = (caller: string, { burst }: Rate): Promise<RateVerdict> => {
    const count = (taken.get(caller) ?? 0) + 1;
    const isAllowed = count <= burst;
    if (isAllowed) taken.set(caller, count);
    const retryAfterSeconds = isAllowed ? 0 : 30;
    return Promise.resolve({
      isAllowed,
      limit: burst,
      remaining: 0,
      resetSeconds: 0,
      retryAfterSeconds,
    });
  };
  return new NewWallets({ take }, { requestsPerMinute });
}

describe('new owners', () => {
  it('are as many of a network as it may have requests a minute', async () => {
    const room = newWallets(3);
    for (const last of [1, 2, 3]) await room.assertRoom(`203.0.113.${last}`);
    await expect(room.assertRoom('203.0.113.4')).rejects.toMatchObject({
      code: 'rate_limited',
      facts: { retryAfterSeconds: 30 },
    });
    await expect(room.assertRoom('203.0.114.1')).resolves.toBeUndefined();
  });

  it('are ten times as many of all networks', async () => {
    const room = newWallets(3);
    for (let network = 0; network < 30; network += 1) {
      await room.assertRoom(`2001:db8:${network}::1`);
    }
    await expect(room.assertRoom('2001:db8:ff::1')).rejects.toMatchObject({ code: 'unavailable' });
  });
});
