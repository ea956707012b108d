import { beforeEach, describe, expect, it } from '@jest/globals';
import { LedgerEpochChangedError } from '../../../src/protocol/errors.js';
import type {
  EvictableSettlements,
  EvictionDecision,
} from '../../../src/settlement/ledger/evictable-settlements.js';
import type { LedgerAt } from '../../../src/settlement/ledger/ledger-scripts.js';
import type { Outbox, OutboxRead } from '../../../src/settlement/ledger/outbox.js';

/** An outbox, and a ledger that writes to it. */
interface OutboxWorld {
  readonly outbox: Outbox;
  readonly chainId: number;
  /** A settlement is sent. @returns its id. */
  broadcast(): Promise<string>;
  /** It is in a block. */
  include(id: string): Promise<void>;
  /** Its record ends its life. */
  lose(id: string): Promise<void>;
  /** The ledger becomes one of another epoch. */
  goBack(): Promise<void>;
}

/** Cases that every outbox passes: in memory, and in Redis. Each begins with an empty one without a reader. */
export function describeOutbox(name: string, open: () => Promise<OutboxWorld>): void {
  describe(`${name}, by the contract of an outbox`, () => {
    let world: OutboxWorld;
    let at: LedgerAt;

    beforeEach(async () => {
      world = await open();
      at = await world.outbox.now(world.chainId);
    });

    async function read(most = 100, processId = 'one') {
      const found = await world.outbox.read(at, { processId, leaseMs: 60_000 }, most);
      if (found.kind === 'held') throw new Error('another one reads it');
      return found;
    }
    const idsOf = ({ changes }: Extract<OutboxRead, { kind: 'read' }>) =>
      changes.map(({ id }) => id);
    const trim = async (last: string | undefined) => world.outbox.trim(at, last ?? '');

    it('that is empty has nothing to read, and nothing that waits', async () => {
      expect(await read()).toEqual({ kind: 'read', last: undefined, changes: [], gone: 0 });
      expect(await world.outbox.backlog(world.chainId)).toEqual({ entries: 0, oldestMs: 0 });
    });

    it('gives each settlement as it is now, however often it has changed', async () => {
      const a = await world.broadcast();
      await world.include(a);
      const b = await world.broadcast();
      const found = await read();
      expect([...new Set(idsOf(found))]).toEqual([a, b]);
      const states = new Map(
        found.changes.map((one) => [
          one.id,
          one.kind === 'recorded' ? one.settlement.view.state : one.kind,
        ]),
      );
      expect([states.get(a), states.get(b)]).toEqual(['included', 'broadcast']);
      expect((await world.outbox.backlog(world.chainId)).entries).toBeGreaterThanOrEqual(3);
    });

    it('gives again what was not forgotten, and keeps what came after it was read', async () => {
      const a = await world.broadcast();
      const first = await read();
      expect(await read()).toEqual(first);
      const b = await world.broadcast();
      await trim(first.last);
      const second = await read();
      expect([...new Set(idsOf(second))]).toEqual([b]);
      await trim(first.last);
      expect(idsOf(await read())).toEqual(idsOf(second));
      await world.include(a);
      const third = await read();
      await trim(third.last);
      expect(await read()).toMatchObject({ last: undefined, changes: [] });
      const versionOf = (found: typeof first) =>
        found.changes.at(-1)?.version ?? { ms: 0, sequence: 0 };
      const [older, newer] = [versionOf(first), versionOf(third)];
      expect(
        older.ms < newer.ms || (older.ms === newer.ms && older.sequence < newer.sequence),
      ).toBe(true);
    });

    it('gives so many entries at most, the oldest first', async () => {
      const [a, b] = [await world.broadcast(), await world.broadcast()];
      const seen: string[] = [];
      for (;;) {
        const found = await read(1);
        if (found.last === undefined) break;
        expect(found.changes).toHaveLength(1);
        seen.push(...idsOf(found));
        await trim(found.last);
      }
      expect([...new Set(seen)]).toEqual([a, b]);
    });

    it('counts those that ended their life before they were read', async () => {
      const a = await world.broadcast();
      await world.lose(a);
      const found = await read();
      expect(found).toMatchObject({ changes: [], gone: 1 });
      expect(found.last).toBeDefined();
    });

    it('is read by one process at a time, which another one cannot let go', async () => {
      const lease = { processId: 'two', leaseMs: 60_000 };
      await world.broadcast();
      await read();
      expect(await world.outbox.read(at, lease, 9)).toEqual({ kind: 'held' });
      await world.outbox.release(world.chainId, 'two');
      expect(await world.outbox.read(at, lease, 9)).toEqual({ kind: 'held' });
      await world.outbox.release(world.chainId, 'one');
      expect(await world.outbox.read(at, lease, 9)).toMatchObject({ kind: 'read' });
    });

    it('of another epoch is neither read nor trimmed', async () => {
      await world.broadcast();
      const { last } = await read();
      await world.goBack();
      await expect(read()).rejects.toThrow(LedgerEpochChangedError);
      await expect(trim(last)).rejects.toThrow(LedgerEpochChangedError);
      const before = at;
      at = await world.outbox.now(world.chainId);
      expect(at.epoch).not.toBe(before.epoch);
      const b = await world.broadcast();
      expect(idsOf(await read())).toContain(b);
    });
  });
}

/** Finished settlements of a ledger, and what happens to them. */
interface EvictionWorld {
  readonly evictable: EvictableSettlements;
  readonly at: LedgerAt;
  /** A settlement ended, is archived and is evictable. @returns its id. */
  end(): Promise<string>;
  /** Something changes it; that is archived too. */
  change(id: string): Promise<void>;
  isHeld(id: string): Promise<boolean>;
  /** More waits to be archived than may. */
  fallBehind(): Promise<void>;
}

/** Cases that all pass which let settlements leave: in memory, and in Redis. */
export function describeEvictable(name: string, open: () => Promise<EvictionWorld>): void {
  describe(`${name}, by the contract of what leaves`, () => {
    let world: EvictionWorld;

    beforeEach(async () => {
      world = await open();
    });

    async function read(most = 100) {
      const found = await world.evictable.read(world.at, 0, most);
      if (found.kind === 'behind') throw new Error('the archive is behind');
      return found.settlements;
    }
    const idsRead = async () => (await read()).map(({ id }) => id);
    async function part(id: string, verdict: EvictionDecision): Promise<number> {
      const digest = (await read()).find((one) => one.id === id)?.digest ?? '';
      return world.evictable.evict(world.at, [{ id, digest, verdict }]);
    }

    it('are gone once, whoever does it how often', async () => {
      const [a, b] = [await world.end(), await world.end()];
      const one = (await read()).find(({ id }) => id === a);
      expect(one).toMatchObject({ id: a, settlement: { view: { id: a, state: 'finalized' } } });
      const parting = { id: a, digest: one?.digest ?? '', verdict: 'leaves' } as const;
      expect(await world.evictable.evict(world.at, [parting])).toBe(1);
      expect(await world.evictable.evict(world.at, [parting])).toBe(0);
      expect([await world.isHeld(a), await world.isHeld(b)]).toEqual([false, true]);
      expect(await idsRead()).toEqual([b]);
    });

    it('stay when they have changed since they were read', async () => {
      const a = await world.end();
      const [one] = await read();
      await world.change(a);
      const parting = { id: a, digest: one?.digest ?? '', verdict: 'leaves' } as const;
      expect(await world.evictable.evict(world.at, [parting])).toBe(0);
      expect(await world.isHeld(a)).toBe(true);
      expect((await read())[0]?.digest).not.toBe(one?.digest);
      expect(await part(a, 'leaves')).toBe(1);
    });

    it('are not read again until something changes them, where they are needed', async () => {
      const a = await world.end();
      expect(await part(a, 'stays')).toBe(0);
      expect([await idsRead(), await world.isHeld(a)]).toEqual([[], true]);
      await world.change(a);
      expect(await idsRead()).toEqual([a]);
    });

    it('are read again later, where the archive lacks something of them', async () => {
      const a = await world.end();
      expect(await part(a, 'later')).toBe(0);
      expect([await idsRead(), await world.isHeld(a)]).toEqual([[a], true]);
    });

    it('are read so many at a time, and each is judged alone', async () => {
      for (let count = 0; count < 3; count += 1) await world.end();
      expect(await read(2)).toHaveLength(2);
      const verdicts: readonly EvictionDecision[] = ['leaves', 'stays', 'leaves'];
      const partings = (await read()).map(({ id, digest }, index) => ({
        id,
        digest,
        verdict: verdicts[index] ?? 'later',
      }));
      expect(await world.evictable.evict(world.at, partings)).toBe(2);
      const held = await Promise.all(partings.map(({ id }) => world.isHeld(id)));
      expect(held).toEqual([false, true, false]);
    });

    it('are not read while too much waits to be archived', async () => {
      await world.end();
      await world.fallBehind();
      expect(await world.evictable.read(world.at, 0, 100)).toEqual({ kind: 'behind' });
    });

    it('stay in a ledger of another epoch', async () => {
      const a = await world.end();
      const [one] = await read();
      const other = { ...world.at, epoch: 'another' };
      const parting = { id: a, digest: one?.digest ?? '', verdict: 'leaves' } as const;
      await expect(world.evictable.evict(other, [parting])).rejects.toThrow(
        LedgerEpochChangedError,
      );
      await expect(world.evictable.read(other, 0, 100)).rejects.toThrow(LedgerEpochChangedError);
      expect(await world.isHeld(a)).toBe(true);
    });
  });
}
