import { describe, expect, it } from '@jest/globals';
import { StorageUnavailableError } from '../errors.js';
import { MemoryStorage } from '../storage/memory/memory-storage.provider.js';
import type { JournalEntry, StoredObject } from '../storage/storage-provider.js';
import { type CompactableStorage, Compaction } from './compaction.js';

const HOUR = 3_600_000;
/** An index that finds nothing of what is dead. */
const agreeing = { found: () => Promise.resolve(new Set<number>()), kept: () => undefined };

describe('a turn of compaction', () => {
  const clock = { now: 0 };
  const build = async () => {
    clock.now = 1_000_000;
    const storage = new MemoryStorage(`0x${'11'.repeat(20)}`, () => clock.now);
    await storage.start({ opened: () => Promise.resolve(), stored: () => Promise.resolve() });
    const put = (id: string, text: string): Promise<StoredObject> =>
      storage.put(() => ({ owner: 'o', id, bucket: 'b', kind: 'memory' }), Buffer.from(text));
    const remove = (id: string): Promise<void> => storage.note({ op: 'remove', owner: 'o', id });
    const bytesOf = async (object: StoredObject): Promise<string> => {
      const pieces: Uint8Array[] = [];
      for await (const piece of storage.read(object, 0, object.size)) pieces.push(piece);
      return Buffer.concat(pieces).toString();
    };
    const journal = async (): Promise<JournalEntry[]> => {
      const entries: JournalEntry[] = [];
      for await (const entry of storage.entries(0)) entries.push(entry);
      return entries;
    };
    return { storage, put, remove, bytesOf, journal };
  };
  const rules = (versions = 0) => ({
    versions,
    grace: HOUR * 1000,
    soldGrace: 100 * HOUR * 1000,
    now: clock.now * 1000,
  });

  it('frees what was given up an hour ago, notes it and keeps the rest', async () => {
    const { storage, put, remove, bytesOf } = await build();
    const [gone, kept] = [await put('gone', 'dead'), await put('kept', 'living')];
    await remove('gone');
    const compaction = new Compaction(storage, agreeing);
    expect(await compaction.turn(rules())).toEqual({ payloads: 0, bytes: 0, isRound: true });
    clock.now += HOUR + 1;
    expect(await compaction.turn(rules())).toEqual({ payloads: 1, bytes: 4, isRound: true });
    expect([await bytesOf(gone), await bytesOf(kept)]).toEqual(['', 'living']);
    expect(await compaction.turn(rules())).toMatchObject({ payloads: 0 });
    expect(await new Compaction(storage, agreeing).turn(rules())).toMatchObject({ payloads: 0 });
  });

  it('frees nothing that the index leads to, whatever the journal says', async () => {
    const { storage, put, remove, bytesOf } = await build();
    const [late, gone] = [await put('late', 'living'), await put('gone', 'dead')];
    for (const id of ['late', 'gone']) await remove(id);
    clock.now += HOUR + 1;
    const kept: string[] = [];
    const found = new Map([['late', new Set([late.order])]]);
    const compaction = new Compaction(storage, {
      found: ({ id }) => Promise.resolve(found.get(id) ?? new Set()),
      kept: ({ id }) => kept.push(id),
    });
    expect(await compaction.turn(rules())).toMatchObject({ payloads: 1, isRound: true });
    expect([await bytesOf(late), await bytesOf(gone)]).toEqual(['living', '']);
    expect(kept).toEqual(['late']);
    found.clear();
    expect(await compaction.turn(rules())).toMatchObject({ payloads: 1 });
  });

  it('frees nothing while the index cannot be believed', async () => {
    const { storage, put, remove, bytesOf } = await build();
    const gone = await put('gone', 'dead');
    await remove('gone');
    clock.now += HOUR + 1;
    const away = { found: () => Promise.reject(new Error('away')), kept: () => undefined };
    await expect(new Compaction(storage, away).turn(rules())).rejects.toThrow('away');
    expect(await bytesOf(gone)).toBe('dead');
  });

  it('gives up what is no version any more, before its bytes go', async () => {
    const { storage, put, bytesOf, journal } = await build();
    const texts = ['first', 'second', 'third', 'fourth'];
    const objects: StoredObject[] = [];
    for (const text of texts) objects.push(await put('a', text));
    clock.now += HOUR + 1;
    const compaction = new Compaction(storage, agreeing);
    expect(await compaction.turn(rules(1))).toMatchObject({ payloads: 0 });
    expect((await journal()).at(-1)).toMatchObject({ op: 'remove', upTo: objects[1]?.order });
    clock.now += HOUR + 1;
    expect(await compaction.turn(rules(1))).toMatchObject({ payloads: 2, bytes: 11 });
    expect(await Promise.all(objects.map(bytesOf))).toEqual(['', '', 'third', 'fourth']);
  });

  it('ends up the same wherever it breaks off', async () => {
    for (let steps = 0; steps < 8; steps += 1) {
      const { storage, put, remove, bytesOf, journal } = await build();
      const objects: StoredObject[] = [];
      for (const id of ['a', 'b', 'c']) objects.push(await put(id, id.repeat(3)));
      for (const text of ['v1', 'v2']) await put('versions', text);
      await remove('a');
      await remove('b');
      let left = steps;
      const step = async (work: () => Promise<void>): Promise<void> => {
        left -= 1;
        // Half of them break off when it is done.
        if (left === 0 && steps % 2 === 0) await work();
        if (left <= 0 && steps > 0) throw new Error('killed');
        await work();
      };
      const breaking: CompactableStorage = {
        orderSlack: 0,
        entries: (after) => storage.entries(after),
        free: (places) => step(() => storage.free(places)),
        note: (note) => step(() => storage.note(note)),
      };
      clock.now += HOUR + 1;
      const first = await new Compaction(breaking, agreeing).turn(rules()).catch(() => 'killed');
      expect(first === 'killed').toBe(steps > 0 && steps <= 5);
      for (let turn = 0; turn < 2; turn += 1) {
        await new Compaction(storage, agreeing).turn(rules());
        clock.now += HOUR + 1;
      }
      expect(await new Compaction(storage, agreeing).turn(rules())).toMatchObject({ payloads: 0 });
      expect(await Promise.all(objects.map(bytesOf))).toEqual(['', '', 'ccc']);
      const noted = (await journal()).flatMap((one) =>
        one.op === 'freed' ? one.payloads.map(({ start }) => start) : [],
      );
      expect(new Set(noted).size).toBe(3);
    }
  });

  it('goes on behind a name whose bytes cannot be freed, and says so in the end', async () => {
    const { storage, put, remove, bytesOf } = await build();
    const [stuck, free] = [await put('stuck', 'dead'), await put('free', 'dead')];
    await remove('stuck');
    await remove('free');
    const failing: CompactableStorage = {
      orderSlack: 0,
      entries: (after) => storage.entries(after),
      note: (note) => storage.note(note),
      free: (places) =>
        places.some(({ start }) => start === stuck.start)
          ? Promise.reject(new StorageUnavailableError('free'))
          : storage.free(places),
    };
    clock.now += HOUR + 1;
    const turn = new Compaction(failing, agreeing).turn(rules());
    await expect(turn).rejects.toThrow(StorageUnavailableError);
    expect([await bytesOf(stuck), await bytesOf(free)]).toEqual(['dead', '']);
  });

  it('ends at its next step when it is stopped', async () => {
    const { storage, put, remove, bytesOf } = await build();
    const object = await put('gone', 'dead');
    await remove('gone');
    clock.now += HOUR + 1;
    const compaction = new Compaction(storage, agreeing);
    compaction.stop();
    expect(await compaction.turn(rules())).toEqual({ payloads: 0, bytes: 0, isRound: false });
    expect(await bytesOf(object)).toBe('dead');
  });

  it('looks at as many names as it can remember, and at all in the end', async () => {
    const entries: JournalEntry[] = [];
    for (let at = 1; at <= 60_000; at += 2) {
      const name = { owner: 'o', id: `name ${at}` };
      entries.push(
        { op: 'put', order: at, ...name, bucket: 'b', kind: 'memory', ...place(at) },
        { op: 'remove', order: at + 1, ...name },
      );
    }
    const freed = new Set<number>();
    const storage: CompactableStorage = {
      orderSlack: 0,
      async *entries() {
        yield* await Promise.resolve([...entries]);
      },
      free: () => Promise.resolve(),
      note: (note) => {
        if (note.op === 'freed') {
          entries.push({ order: entries.length + 1, ...note });
          for (const { start } of note.payloads) freed.add(start);
        }
        return Promise.resolve();
      },
    };
    const compaction = new Compaction(storage, agreeing);
    const turns: number[] = [];
    let isRound = false;
    while (!isRound && turns.length < 40) {
      const turn = await compaction.turn({ ...rules(), grace: 0, now: 1e9 });
      turns.push(turn.payloads);
      isRound = turn.isRound;
    }
    // A round is over when everything was looked at, and not before.
    expect(freed.size).toBe(30_000);
    expect(Math.max(...turns)).toBeLessThanOrEqual(10_100);
  });
});

const place = (at: number) => ({ volume: 0, start: at * 31, size: 1, sha256: 'ab', blocks: '' });
