import { describe, expect, it } from '@jest/globals';
import type { Rate } from '../../platform/rate-limit/rate-limiter.js';
import { AnswerRoom } from './answer-room.js';

const WALLET = '0x1111111111111111111111111111111111111111';
const OTHER = '0x2222222222222222222222222222222222222222';
const ANSWER = 262_144;

/** Counts as the limiter does at one moment: nothing comes free again. */
function limiter() {
  const taken = new Map<string, number>();
  return {
    taken,
    take: (caller: string, { burst }: Rate, amount = 1) => {
      const sum = (taken.get(caller) ?? 0) + amount;
      const isAllowed = sum <= burst;
      if (isAllowed) taken.set(caller, sum);
      const rest = { limit: burst, remaining: 0, resetSeconds: 0, retryAfterSeconds: 0 };
      return Promise.resolve({ isAllowed, ...rest });
    },
  };
}

describe('room for the answers that a wallet was given', () => {
  it('is 64 MiB as they are sealed, and ends for that wallet alone', async () => {
    const room = new AnswerRoom(limiter(), { use: () => Promise.resolve(true) });
    let count = 0;
    while (await room.take(WALLET, ANSWER)) count += 1;
    expect(count).toBe(191);
    expect(await room.take(OTHER, ANSWER)).toBe(true);
  });

  it('ends where Redis is nearly full, and counts nothing then', async () => {
    const counts = limiter();
    const room = new AnswerRoom(counts, { use: () => Promise.resolve(false) });
    expect(await room.take(WALLET, ANSWER)).toBe(false);
    expect(counts.taken.size).toBe(0);
  });
});
