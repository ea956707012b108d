import { describe, expect, it } from '@jest/globals';
import { Headroom } from '../../platform/concurrency/headroom.js';
import { BodyShare, ByteBudget, FREE_BODY_BYTES } from '../../platform/http/byte-budget.js';
import { HubRefusal } from '../wire/hub-refusal.js';
import { Reservation, type Rooms } from './reservation.js';
import { UnderWay } from './under-way.js';

const MIB = 1_048_576;
const PIECE = 65_536;
const OBJECT = { owner: 'o', bucket: 'o', id: 'i', kind: 'memory' };

describe('uploads that never end', () => {
  /** A hub whose disk, quota and memory have so much room. */
  function hubWith(room: { disk?: number; index?: number; quota?: number; memory?: number }) {
    const underWay = new UnderWay();
    const budget = new ByteBudget(room.memory ?? 1000 * MIB);
    const disk = new Headroom(
      () => Promise.resolve(room.disk),
      1000,
      () => 0,
    );
    const index = new Headroom(
      () => Promise.resolve(room.index),
      1000,
      () => 0,
    );
    const begin = (owner?: string): Reservation =>
      new Reservation(
        {
          underWay,
          disk,
          index,
          entryBytes: 4096,
          memory: new BodyShare(budget),
          heldOf: (bytes) => (bytes > MIB ? 0 : bytes),
          assertQuota: async (_owner, bytes) => {
            if (bytes > (room.quota ?? Infinity)) throw HubRefusal.forbidden('quota exceeded');
            await Promise.resolve();
          },
          assertCount: () => Promise.resolve(),
        } satisfies Rooms,
        owner,
      );
    const send = async (one: Reservation, bytes: number): Promise<number> => {
      let sent = 0;
      try {
        for (; sent < bytes; sent += PIECE) await one.arrive(PIECE);
      } catch (error) {
        if (!(error instanceof HubRefusal)) throw error;
      }
      return sent;
    };
    return { begin, send, budget, underWay };
  }

  it('take no more of the disk together than is free', async () => {
    const hub = hubWith({ disk: 8 * MIB });
    const sent = await Promise.all(Array.from({ length: 5 }, () => hub.send(hub.begin(), 4 * MIB)));
    // Bytes before the next granted step are in memory.
    expect(sent.reduce((all, bytes) => all + bytes)).toBeLessThan((8 + 5) * MIB);
  });

  it('of one owner take no more together than its quota', async () => {
    const hub = hubWith({ quota: 3 * MIB });
    const [one, other] = [hub.begin('o'), hub.begin('o')];
    expect(await hub.send(one, 2 * MIB)).toBe(2 * MIB);
    expect(await hub.send(other, 4 * MIB)).toBeLessThan(2 * MIB);
    // Whatever ended it, what it had is another's.
    one.end();
    one.end();
    other.end();
    const third = hub.begin('o');
    expect(await hub.send(third, 3 * MIB)).toBe(3 * MIB);
    await third.close(OBJECT);
    third.end();
    expect(hub.underWay.grant('o', 1)).toBe(1);
    expect(hub.underWay.addObject()).toBe(0);
  });

  it('that name their owner at the end are held against its quota then', async () => {
    const hub = hubWith({ quota: 3 * MIB });
    const upload = hub.begin();
    expect(await hub.send(upload, 4 * MIB)).toBe(4 * MIB);
    await expect(upload.close(OBJECT)).rejects.toThrow('quota exceeded');
  });

  it('take no more memory together than all bodies may, until they are on the disk', async () => {
    const hub = hubWith({ memory: MIB });
    const [one, other] = [hub.begin(), hub.begin()];
    expect(await hub.send(one, MIB)).toBe(MIB);
    expect(await hub.send(other, MIB)).toBeLessThan(MIB / 2);
    await one.arrive(PIECE);
    other.end();
    expect(await hub.send(hub.begin(), MIB)).toBe(MIB);
    one.end();
    expect(hub.budget.take(FREE_BODY_BYTES)).toBe(true);
  });
});

describe('small uploads faster than Redis is asked how full it is', () => {
  it('are refused where those since have taken what was left', async () => {
    let left = 10 * 4096;
    let now = 0;
    const index = new Headroom(
      () => Promise.resolve(left),
      1000,
      () => now,
    );
    const taken = async (times: number): Promise<number> => {
      const all = await Promise.all(Array.from({ length: times }, () => index.take(4096)));
      for (const inUse of all) inUse?.();
      return all.filter((inUse) => inUse !== undefined).length;
    };
    expect(await taken(25)).toBe(10);
    expect(await taken(5)).toBe(0);
    // Each took a quarter of what was set aside for it.
    left = 7 * 4096;
    now = 1000;
    expect(await taken(25)).toBe(7);
  });

  it('that are not stored yet are held against every later measure', async () => {
    let now = 0;
    const index = new Headroom(
      () => Promise.resolve(2),
      1000,
      () => now,
    );
    const slow = await index.take(1);
    now = 5000;
    expect(await index.take(2)).toBeUndefined();
    slow?.();
    now = 6000;
    expect(await index.take(2)).toBeDefined();
  });
});
