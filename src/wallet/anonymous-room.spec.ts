import { describe, expect, it } from '@jest/globals';
import type { Rate, RateVerdict } from '../platform/rate-limit/rate-limiter.js';
import { AnonymousRoom } from './anonymous-room.js';

const HOME = '203.0.113.9';
const NEIGHBOUR = '203.0.113.77';
const ELSEWHERE = '2001:db8:1::9';

/** Counts as the limiter does at one moment: nothing comes free again. */
function limiter() {
  const taken = new Map<string, number>();
  return {
    taken,
    take: (caller: string, { burst }: Rate, amount = 1): Promise<RateVerdict> => {
      const sum = (taken.get(caller) ?? 0) + amount;
      const isAllowed = sum <= burst;
      if (isAllowed) taken.set(caller, sum);
      const retryAfterSeconds = isAllowed ? 0 : 7;
      return Promise.resolve({
        isAllowed,
        limit: burst,
        remaining: 0,
        resetSeconds: 0,
        retryAfterSeconds,
      });
    },
  };
}

const unlimited = { use: () => Promise.resolve(true) };

describe('room for what strangers have stored', () => {
  const fill = async (room: AnonymousRoom, address: string): Promise<number> => {
    for (let count = 0; ; count += 1) {
      if ((await room.take('oauth', address, 3000)) !== undefined) return count;
    }
  };

  it('is counted in bytes as they are sealed, for a network and for all', async () => {
    const counts = limiter();
    await new AnonymousRoom(counts, unlimited).take('oauth', HOME, 3000);
    expect(Object.fromEntries(counts.taken)).toEqual({
      'oauth:203.0.113.0/24': 4150,
      'oauth:all': 4150,
    });
  });

  it('ends for a network, and not for others or at another door', async () => {
    const room = new AnonymousRoom(limiter(), unlimited);
    expect(await fill(room, HOME)).toBe(505);
    expect(await room.take('oauth', NEIGHBOUR, 3000)).toEqual({
      isNetworks: true,
      retryAfterSeconds: 7,
    });
    expect(await room.take('oauth', ELSEWHERE, 3000)).toBeUndefined();
    expect(await room.take('sign-in', HOME, 3000)).toBeUndefined();
    await expect(room.assert(HOME, 3000)).resolves.toBeUndefined();
  });

  it('ends for all, whatever networks they come from', async () => {
    const room = new AnonymousRoom(limiter(), unlimited);
    let stored = 0;
    for (let network = 0; network < 9; network += 1) {
      stored += await fill(room, `2001:db8:${network}::1`);
    }
    expect(stored).toBe(4042);
    expect(await room.take('oauth', HOME, 3000)).toMatchObject({ isNetworks: false });
  });

  it('ends where Redis has no more for it', async () => {
    const wanted: number[] = [];
    const full = {
      use: (bytes: number) => {
        wanted.push(bytes);
        return Promise.resolve(false);
      },
    };
    const room = new AnonymousRoom(limiter(), full);
    expect(await room.take('oauth', HOME, 3000)).toEqual({
      isNetworks: false,
      retryAfterSeconds: 60,
    });
    expect(wanted).toEqual([4150]);
    await expect(room.assert(HOME, 10)).rejects.toMatchObject({
      code: 'unavailable',
      facts: { retryAfterSeconds: 60 },
    });
  });

  it('is there for a known owner where Redis has no more for strangers, within the same bounds', async () => {
    const full = { use: () => Promise.resolve(false) };
    const room = new AnonymousRoom(limiter(), full);
    const begin = (isKnown: boolean) => room.assert(HOME, 600, () => Promise.resolve(isKnown));
    await expect(begin(true)).resolves.toBeUndefined();
    await expect(begin(false)).rejects.toMatchObject({ code: 'unavailable' });
    const endless = async () => {
      for (;;) await begin(true);
    };
    await expect(endless()).rejects.toMatchObject({ code: 'rate_limited' });
  });

  it('asks whose it is only where Redis has no more for strangers', async () => {
    const room = new AnonymousRoom(limiter(), unlimited);
    const ask = () => Promise.reject(new Error('asked'));
    await expect(room.assert(HOME, 600, ask)).resolves.toBeUndefined();
  });

  it('is refused to a network in the words of the wallet', async () => {
    const room = new AnonymousRoom(limiter(), unlimited);
    const begin = async () => {
      for (;;) await room.assert(HOME, 100_000);
    };
    await expect(begin()).rejects.toMatchObject({
      code: 'rate_limited',
      facts: { retryAfterSeconds: 7 },
    });
  });
});
