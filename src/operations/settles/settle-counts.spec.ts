import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { SettleResult } from '../../facilitator/payment-observer.js';
import type { SharedRedis } from '../../platform/redis/ledger-connections.js';
import type { Reason } from '../../protocol/reasons.js';
import type { ChannelAction } from '../../protocol/schemes/scheme.js';
import { settlesKey } from '../../settlement/ledger/keys.js';
import { SettleCounts } from './settle-counts.js';

const HOUR_MS = 3_600_000;

/** The hashes of a Redis. */
class Hashes {
  readonly all = new Map<string, Map<string, number>>();
  readonly expires = new Map<string, number>();
  isAway = false;
  isReplyLost = false;

  hgetall(key: string): Promise<Record<string, string>> {
    if (this.isAway) return Promise.reject(new Error('away'));
    const entries = [...(this.all.get(key) ?? [])].map(([name, n]) => [name, String(n)] as const);
    return Promise.resolve(Object.fromEntries(entries));
  }

  /** As the script does. */
  evalsha(_sha: string, _keys: number, key: string, ...args: (string | number)[]): Promise<number> {
    if (this.isAway) return Promise.reject(new Error('away'));
    const [process = '', number, seconds, ...counts] = args;
    const hash = this.all.get(key) ?? new Map<string, number>();
    const batch = `batch:${process}`;
    const isNew = (hash.get(batch) ?? 0) < Number(number);
    for (let at = 0; isNew && at < counts.length; at += 2) {
      const name = String(counts[at]);
      hash.set(name, (hash.get(name) ?? 0) + Number(counts[at + 1]));
    }
    this.all.set(key, hash.set(batch, Number(number)));
    this.expires.set(key, Number(seconds));
    return this.isReplyLost ? Promise.reject(new Error('timed out')) : Promise.resolve(1);
  }
}

/** A settle that was answered. @param action - absent of a payment. */
function note(
  counts: SettleCounts,
  result: SettleResult,
  reason: Reason | undefined,
  caller: string | undefined,
  action?: ChannelAction,
): void {
  const payment = { x402Version: 2, scheme: 'exact', chainId: 56, asset: undefined } as const;
  counts.settled({ ...payment, action }, result, reason, 900, caller);
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
  let processes = 0;
  const process = (): SettleCounts => {
    processes += 1;
    return new SettleCounts(hashes as unknown as SharedRedis, { processId: `p${processes}` });
  };
  const totals = () => process().totals();

  it('are of all processes, by reason and by seller, most frequent first', async () => {
    const [one, other] = [process(), process()];
    note(one, 'success', undefined, 'shop');
    note(one, 'accepted', undefined, 'shop');
    note(one, 'hung_up', undefined, 'shop');
    note(one, 'pending', 'settlement_pending', 'shop');
    note(one, 'failure', 'queue_full', undefined);
    note(one, 'failure', 'no_gas', 'shop');
    for (const key of ['shop', 'kiosk', 'kiosk']) note(other, 'failure', 'no_gas', key);
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
      channels: [],
    });
  });

  it('tell the actions of channels apart, and count them among all', async () => {
    const before = await totals();
    const one = process();
    note(one, 'success', undefined, 'shop', 'claim');
    note(one, 'failure', 'no_gas', 'shop', 'claim');
    note(one, 'pending', 'settlement_pending', 'shop', 'settle');
    await one.stop();
    const { succeeded, refused, pending, channels } = await totals();
    expect([succeeded, refused, pending]).toEqual([
      before.succeeded + 1,
      before.refused + 1,
      before.pending + 1,
    ]);
    expect(channels).toEqual([
      {
        action: 'claim',
        succeeded: 1,
        pending: 0,
        refused: 1,
        reasons: [{ reason: 'no_gas', count: 1 }],
      },
      { action: 'settle', succeeded: 0, pending: 1, refused: 0, reasons: [] },
    ]);
  });

  it('are added once where the reply of Redis was lost, and newer ones after them', async () => {
    const before = (await totals()).refused;
    const one = process();
    hashes.isReplyLost = true;
    note(one, 'failure', 'no_gas', undefined);
    await one.stop();
    note(one, 'failure', 'queue_full', undefined);
    hashes.isReplyLost = false;
    await one.stop();
    expect((await totals()).refused).toBe(before + 2);
  });

  it('are kept for a day, and written later where Redis is away', async () => {
    const late = process();
    hashes.isAway = true;
    note(late, 'failure', 'no_gas', undefined);
    await late.stop();
    await expect(late.totals()).rejects.toThrow('settle_counts');
    hashes.isAway = false;
    await late.stop();
    expect((await totals()).refused).toBe(9);
    now += 23 * HOUR_MS;
    expect((await totals()).refused).toBe(9);
    now += HOUR_MS;
    expect(await totals()).toEqual({
      succeeded: 0,
      pending: 0,
      refused: 0,
      reasons: [],
      channels: [],
    });
    expect([...hashes.expires.keys()]).toEqual([settlesKey(1000)]);
  });
});
