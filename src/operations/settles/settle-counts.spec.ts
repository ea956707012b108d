import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { SharedRedis } from '../../platform/redis/ledger-connections.js';
import { settlesKey } from '../../settlement/ledger/keys.js';
import { SettleCounts } from './settle-counts.js';

const HOUR_MS = 3_600_000;

/** The hashes of a Redis. */
class Hashes {
  readonly all = new Map<string, Map<string, number>>();
  readonly expires = new Map<string, number>();
  isAway = false;

  hgetall(key: string): Promise<Record<string, string>> {
    if (this.isAway) return Promise.reject(new Error('away'));
    const entries = [...(this.all.get(key) ?? [])].map(([name, n]) => [name, String(n)] as const);
    return Promise.resolve(Object.fromEntries(entries));
  }

  multi(): object {
    const steps: (() => void)[] = [];
    const chain = {
      hincrby: (key: string, name: string, by: number) => {
        steps.push(() => {
          const hash = this.all.get(key) ?? new Map<string, number>();
          this.all.set(key, hash.set(name, (hash.get(name) ?? 0) + by));
        });
        return chain;
      },
      expire: (key: string, seconds: number) => {
        steps.push(() => this.expires.set(key, seconds));
        return chain;
      },
      exec: () => {
        if (this.isAway) return Promise.reject(new Error('away'));
        for (const step of steps) step();
        return Promise.resolve([]);
      },
    };
    return chain;
  }
}

describe('counts of settles', () => {
  const hashes = new Hashes();
  let now = 1000 * HOUR_MS;
  beforeAll(() => {
    jest.spyOn(Date, 'now').mockImplementation(() => now);
  });
  afterAll(() => {
    jest.restoreAllMocks();
  });
  const process = (): SettleCounts => new SettleCounts(hashes as unknown as SharedRedis);
  const totals = () => process().totals();

  it('are of all processes, by reason and by seller, most frequent first', async () => {
    const [one, other] = [process(), process()];
    one.count('success', undefined, 'shop');
    one.count('accepted', undefined, 'shop');
    one.count('hung_up', undefined, 'shop');
    one.count('pending', 'settlement_pending', 'shop');
    one.count('failure', 'queue_full', undefined);
    one.count('failure', 'no_gas', 'shop');
    for (const key of ['shop', 'kiosk', 'kiosk']) other.count('failure', 'no_gas', key);
    await one.stop();
    await other.stop();
    expect(await totals()).toEqual({
      succeeded: 1,
      pending: 1,
      refused: 5,
      reasons: [
        {
          reason: 'no_gas',
          fault: 'facilitator',
          count: 4,
          sellers: [
            { key: 'shop', count: 2 },
            { key: 'kiosk', count: 2 },
          ],
        },
        { reason: 'queue_full', fault: 'facilitator', count: 1, sellers: [] },
      ],
    });
  });

  it('are kept for a day, and written later where Redis is away', async () => {
    const late = process();
    hashes.isAway = true;
    late.count('failure', 'no_gas', undefined);
    await late.stop();
    await expect(late.totals()).rejects.toThrow('settle_counts');
    hashes.isAway = false;
    await late.stop();
    expect((await totals()).refused).toBe(6);
    now += 23 * HOUR_MS;
    expect((await totals()).refused).toBe(6);
    now += HOUR_MS;
    expect(await totals()).toEqual({ succeeded: 0, pending: 0, refused: 0, reasons: [] });
    expect([...hashes.expires.keys()]).toEqual([settlesKey(1000)]);
  });
});
