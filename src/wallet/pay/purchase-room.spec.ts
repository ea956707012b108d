import { describe, expect, it } from '@jest/globals';
import type { Rate } from '../../platform/rate-limit/rate-limiter.js';
import { WalletError } from '../wallet-error.js';
import { PurchaseRoom } from './purchase-room.js';

const WALLET = '0x1111111111111111111111111111111111111111';
const OTHER = '0x2222222222222222222222222222222222222222';
const ANSWER = 262_144;

/** Counts as the limiter does at one moment: nothing comes free again. */
function limiter() {
  const taken = new Map<string, number>();
  return {
    taken,
    rates: new Map<string, Rate>(),
    take(caller: string, rate: Rate, amount = 1) {
      const { burst } = rate;
      this.rates.set(caller, rate);
      const sum = (taken.get(caller) ?? 0) + amount;
      const isAllowed = sum <= burst;
      if (isAllowed) taken.set(caller, sum);
      const rest = { limit: burst, remaining: 0, resetSeconds: 0, retryAfterSeconds: 7 };
      return Promise.resolve({ isAllowed, ...rest });
    },
  };
}

const full = new WalletError('unavailable', 'full');
const hasRoom = { use: () => Promise.resolve(true), assertForRecord: () => Promise.resolve() };
const isFull = {
  use: () => Promise.resolve(false),
  assertForRecord: () => Promise.reject(full),
};

describe('room for the answers that a wallet was given', () => {
  it('is 64 MiB as they are sealed, and ends for that wallet alone', async () => {
    const room = new PurchaseRoom(limiter(), hasRoom);
    let count = 0;
    while (await room.takeAnswer(WALLET, ANSWER)) count += 1;
    expect(count).toBe(191);
    expect(await room.takeAnswer(OTHER, ANSWER)).toBe(true);
  });

  it('ends where Redis is nearly full, and counts nothing then', async () => {
    const counts = limiter();
    const room = new PurchaseRoom(counts, isFull);
    expect(await room.takeAnswer(WALLET, ANSWER)).toBe(false);
    expect(counts.taken.size).toBe(0);
  });
});

describe('room for the records of the purchases of a wallet', () => {
  const LONGEST = 22_000;

  it('gets 512 MiB more over thirty days', async () => {
    const counts = limiter();
    await new PurchaseRoom(counts, hasRoom).assertRecord(WALLET, LONGEST);
    expect([...counts.rates.values()]).toEqual([
      { requests: 512 * 1_048_576, seconds: 30 * 86_400, burst: 64 * 1_048_576 },
    ]);
  });

  it('is 64 MiB at once as they are sealed, and ends for that wallet alone', async () => {
    const room = new PurchaseRoom(limiter(), hasRoom);
    for (let count = 0; count < 3050; count += 1) await room.assertRecord(WALLET, LONGEST);
    await expect(room.assertRecord(WALLET, LONGEST)).rejects.toMatchObject({
      code: 'rate_limited',
      facts: { retryAfterSeconds: 7 },
    });
    await expect(room.assertRecord(OTHER, LONGEST)).resolves.toBeUndefined();
    expect(await room.takeAnswer(WALLET, ANSWER)).toBe(true);
  });

  it('ends where Redis is nearly full, and counts nothing then', async () => {
    const counts = limiter();
    await expect(new PurchaseRoom(counts, isFull).assertRecord(WALLET, 1)).rejects.toBe(full);
    expect(counts.taken.size).toBe(0);
  });
});
