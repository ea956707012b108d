import { beforeEach, describe, expect, it } from '@jest/globals';
import { aRecorded, idOf } from '../../test/builders/history/recorded-settlement.js';
import { MemoryEvictable } from '../../test/twins/history/memory-evictable.js';
import { LedgerEpochChangedError } from '../protocol/errors.js';
import type { ArchivedSettlement } from '../settlement/ledger/settlement-archive.js';
import type { RecordedSettlement } from '../settlement/model/recorded-settlement.js';
import { ArchiveError } from './archive.js';
import type { ArchiveReader } from './archive-reader.js';
import { settlementOfRow } from './archived-row.js';
import { Evictor } from './evictor.js';
import type { EvictionResult, HistoryObserver } from './history-observer.js';
import { rowOf } from './settlement-row.js';

const AT = { chainId: 56, epoch: 'first' };

describe('what leaves the ledger', () => {
  let evictable: MemoryEvictable;
  let archive: Map<string, ArchivedSettlement>;
  let isAway: boolean;
  let passes: EvictionResult[];
  let evictor: Evictor;

  beforeEach(() => {
    evictable = new MemoryEvictable();
    archive = new Map();
    isAway = false;
    passes = [];
    const reader: Pick<ArchiveReader, 'find'> = {
      find: (query) => {
        if (isAway) return Promise.reject(new ArchiveError('database_unreachable', '57P01'));
        const ids = query.by === 'id' ? query.ids : [];
        return Promise.resolve(ids.flatMap((id) => archive.get(id) ?? []));
      },
    };
    const observer: Pick<HistoryObserver, 'evicted'> = {
      evicted: (_, result) => passes.push(result),
    };
    evictor = new Evictor(evictable, reader, observer, { history: { hotMs: 60_000 } });
  });

  const put = (name: string, settlement: RecordedSettlement = aRecorded(name, 'finalized')) => {
    evictable.put(idOf(name), settlement);
    return settlement;
  };
  const store = (name: string, settlement: RecordedSettlement) => {
    const change = { kind: 'recorded', id: idOf(name), version: { ms: 1, sequence: 0 } } as const;
    archive.set(idOf(name), settlementOfRow(rowOf(56, 1, { ...change, settlement })));
  };
  const isHeld = (name: string) => evictable.held.has(idOf(name));

  it('is what the archive has as it is, and nothing else', async () => {
    store('a', put('a'));
    put('unarchived');
    const sold = put('sold since');
    store('sold since', { ...sold, isPinned: true });
    await evictor.round(AT);
    expect(['a', 'unarchived', 'sold since'].map(isHeld)).toEqual([false, true, true]);
    expect(passes).toEqual([{ evicted: 1, unarchived: 2 }]);
    // They are looked at again.
    store('unarchived', aRecorded('unarchived', 'finalized'));
    await evictor.round(AT);
    expect(isHeld('unarchived')).toBe(false);
  });

  it('is nothing that is still needed there, archived or not', async () => {
    const open = aRecorded('open', 'finalized');
    const { view } = open;
    store(
      'open',
      put('open', { ...open, view: { ...view, sale: { ...view.sale, state: 'open' } } }),
    );
    evictable.put('unreadable', undefined);
    await evictor.round(AT);
    expect([isHeld('open'), evictable.held.has('unreadable')]).toEqual([true, true]);
    expect([...evictable.evictable]).toEqual([]);
  });

  it('is nothing that changes between the comparison and the removal', async () => {
    store('a', put('a'));
    evictable.meanwhile = () => {
      put('a', { ...aRecorded('a', 'finalized'), isPinned: true });
    };
    await evictor.round(AT);
    expect([isHeld('a'), evictable.evictable.has(idOf('a'))]).toEqual([true, true]);
    expect(passes).toEqual([{ evicted: 0, unarchived: 0 }]);
  });

  it('is nothing of a ledger that went back meanwhile', async () => {
    store('a', put('a'));
    evictable.meanwhile = () => {
      evictable.epoch = 'second';
    };
    await expect(evictor.round(AT)).rejects.toThrow(LedgerEpochChangedError);
    expect(isHeld('a')).toBe(true);
  });

  it('is nothing while the archive cannot be asked, or is behind', async () => {
    store('a', put('a'));
    isAway = true;
    await expect(evictor.round(AT)).rejects.toThrow(ArchiveError);
    isAway = false;
    evictable.isBehind = true;
    expect(await evictor.round(AT)).toBe(false);
    expect(isHeld('a')).toBe(true);
  });

  it('is the same for two that do it at once', async () => {
    for (const name of ['a', 'b']) store(name, put(name));
    await Promise.all([evictor.round(AT), evictor.round(AT)]);
    expect(['a', 'b'].map(isHeld)).toEqual([false, false]);
    expect(passes.reduce((sum, { evicted }) => sum + evicted, 0)).toBe(2);
  });

  it('is reported from the first look on, also while it is zero', async () => {
    await evictor.round(AT);
    expect(passes).toEqual([{ evicted: 0, unarchived: 0 }]);
  });

  it('is a hundred at a time, and there is more then', async () => {
    for (let i = 0; i < 150; i += 1) store(`s${i}`, put(`s${i}`));
    expect(await evictor.round(AT)).toBe(true);
    expect(evictable.held.size).toBe(50);
    expect(await evictor.round(AT)).toBe(false);
    expect(evictable.held.size).toBe(0);
  });
});
