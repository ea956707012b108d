import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Rate, RateVerdict } from '../../platform/rate-limit/rate-limiter.js';
import { WebhookLimits } from './webhook-limits.js';

describe('requests that make this service post', () => {
  let taken: Map<string, number>;
  const limits = new WebhookLimits({
    take: (caller: string, { burst }: Rate): Promise<RateVerdict> => {
      const count = (taken.get(caller) ?? 0) + 1;
      const isAllowed = count <= burst;
      if (isAllowed) taken.set(caller, count);
      const rest = { limit: burst, remaining: 0, resetSeconds: 60 };
      return Promise.resolve({ ...rest, isAllowed, retryAfterSeconds: isAllowed ? 0 : 60 });
    },
  });
  const allowed = async (ask: () => Promise<RateVerdict | undefined>): Promise<number> => {
    let count = 0;
    while (count < 1000 && (await ask()) === undefined) count += 1;
    return count;
  };

  beforeEach(() => {
    taken = new Map();
  });

  it('are bounded for one endpoint, and for all endpoints of a key together', async () => {
    expect(await allowed(() => limits.refusalOf('send', 'shop', 'we_1'))).toBe(10);
    expect(await allowed(() => limits.refusalOf('send', 'shop', 'we_2'))).toBe(10);
    // Deleted and made again without end.
    let made = 0;
    expect(await allowed(() => limits.refusalOf('send', 'shop', `we_new${(made += 1)}`))).toBe(10);
    expect(await limits.refusalOf('send', 'shop')).toMatchObject({ retryAfterSeconds: 60 });
  });

  it('of one kind, or of one key, leave the others alone', async () => {
    await allowed(() => limits.refusalOf('send', 'shop'));
    expect(await limits.refusalOf('replay', 'shop', 'we_1')).toBeUndefined();
    expect(await limits.refusalOf('send', 'other', 'we_9')).toBeUndefined();
    expect(await allowed(() => limits.refusalOf('replay', 'shop', 'we_1'))).toBe(9);
  });
});
