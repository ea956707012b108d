import { beforeEach, describe, expect, it } from '@jest/globals';
import { aRecorded, idOf } from '../../test/builders/history/recorded-settlement.js';
import { TestClock } from '../../test/builders/platform/concurrency/clock.js';
import { MemoryArchive } from '../../test/twins/history/memory-archive.js';
import { MemoryOutbox } from '../../test/twins/history/memory-outbox.js';
import { ArchiveError } from './archive.js';
import { Archiver } from './archiver.js';
import type { Archived } from './history-observer.js';

describe('the archiver', () => {
  let outbox: MemoryOutbox;
  let archive: MemoryArchive;
  let reported: Archived[];
  let failures: unknown[];
  let evict: () => Promise<boolean>;

  const archiver = (processId = 'one', clock = new TestClock()) =>
    new Archiver(
      outbox,
      archive,
      { round: () => evict() },
      { processId },
      {
        opened: () => undefined,
        archived: (_, result) => reported.push(result),
        failed: (condition, error) => failures.push(condition ?? error),
        evicted: () => undefined,
        resolvedLost: () => undefined,
        lookedUp: () => undefined,
      },
      clock,
      { ledgerChainIds: [56], history: { migrates: true } },
      { whenThere: () => undefined },
    );
  const stateOf = (name: string) => archive.rows.get(idOf(name))?.state;
  const change = (
    name: string,
    ...more: Parameters<typeof aRecorded> extends [string, ...infer R] ? R : never
  ) => {
    outbox.change(idOf(name), aRecorded(name, ...more));
  };

  beforeEach(() => {
    outbox = new MemoryOutbox();
    archive = new MemoryArchive();
    reported = [];
    failures = [];
    evict = () => Promise.resolve(false);
  });

  it('writes each settlement once for many changes, and forgets them then', async () => {
    change('a');
    change('a', 'included');
    change('b');
    expect(await archiver().round()).toBe(0);
    expect([stateOf('a'), stateOf('b')]).toEqual(['included', 'broadcast']);
    expect(outbox.entries).toEqual([]);
    expect(reported).toEqual([{ written: 2, stale: 0, expired: 0, unreadable: 0, gone: 0 }]);
  });

  it('writes what has gathered once, though its entries are read apart', async () => {
    const names = Array.from({ length: 250 }, (_, nth) => `s${nth}`);
    for (const name of names) change(name);
    for (const name of names) change(name, 'included');
    const store = archive.store.bind(archive);
    const stores: number[] = [];
    archive.store = (chainId, epoch, changes) => {
      stores.push(changes.length);
      return store(chainId, epoch, changes);
    };
    const one = archiver();
    await one.round();
    // What changes after it was read is news again.
    change('s0', 'finalized');
    while (outbox.entries.length > 0) await one.round();
    const sums = (outcome: 'written' | 'stale') =>
      reported.reduce((sum, result) => sum + result[outcome], 0);
    expect([sums('written'), sums('stale')]).toEqual([251, 250]);
    expect([stateOf('s0'), stateOf('s249')]).toEqual(['finalized', 'included']);
    expect(stores).toEqual([200, 50, 1]);
  });

  it('writes all of it again once the archive was away: it may be another one', async () => {
    const names = Array.from({ length: 200 }, (_, nth) => `s${nth}`);
    for (const name of names) change(name);
    change('s0', 'included');
    const one = archiver();
    await one.round();
    archive.rows.clear();
    archive.failsNext = 'before commit';
    change('s1', 'included');
    await one.round();
    await one.round();
    expect([stateOf('s0'), stateOf('s1')]).toEqual(['included', 'included']);
  });

  it('looks once a second for what may leave, and again at once while there is more', async () => {
    const clock = new TestClock();
    const one = archiver('one', clock);
    let looks = 0;
    let more = 2;
    evict = () => {
      looks += 1;
      more -= 1;
      return Promise.resolve(more > 0);
    };
    expect(await one.round()).toBe(0);
    expect(await one.round()).toBeGreaterThan(0);
    await one.round();
    expect(looks).toBe(2);
    await clock.pass(1000);
    // Also while there is something to archive.
    change('a');
    await one.round();
    expect([looks, stateOf('a')]).toEqual([3, 'broadcast']);
  });

  it('lets nothing leave while another one archives', async () => {
    outbox.holder = 'other';
    evict = () => Promise.reject(new Error('it must not'));
    await archiver().round();
    expect(failures).toEqual([]);
  });

  it('archives on when it is not known which records may leave', async () => {
    const one = archiver();
    evict = () => Promise.reject(new ArchiveError('database_unreachable', '57P01'));
    change('a');
    await one.round();
    expect([stateOf('a'), outbox.entries.length]).toEqual(['broadcast', 0]);
    expect(failures).toEqual(['database_unreachable']);
  });

  it('pauses when there is nothing to do', async () => {
    expect(await archiver().round()).toBeGreaterThan(0);
    expect(reported).toEqual([]);
  });

  it('reads again what did not reach the archive', async () => {
    change('a');
    const one = archiver();
    archive.failsNext = 'before commit';
    await one.round();
    expect(outbox.entries).toHaveLength(1);
    expect(one.condition).toBe('database_unreachable');
    await one.round();
    expect(stateOf('a')).toBe('broadcast');
    expect(outbox.entries).toEqual([]);
    expect(one.condition).toBeUndefined();
  });

  it.each(['after the commit, its answer lost', 'after the commit, before it forgets'])(
    'takes nothing twice when it dies %s',
    async (when) => {
      change('a');
      if (when.includes('answer')) archive.failsNext = 'after commit';
      else outbox.losesTrim = true;
      await archiver().round();
      expect(stateOf('a')).toBe('broadcast');
      expect(outbox.entries).toHaveLength(1);
      outbox.holder = undefined;
      change('a', 'finalized');
      await archiver('another').round();
      expect(archive.rows.size).toBe(1);
      expect(stateOf('a')).toBe('finalized');
      expect(outbox.entries).toEqual([]);
    },
  );

  it('stands by while another process archives, and takes over when it has left', async () => {
    change('a');
    const [one, other] = [archiver('one'), archiver('other')];
    await one.round();
    change('b');
    await other.round();
    expect(stateOf('b')).toBeUndefined();
    await one.stop();
    await other.round();
    expect(stateOf('b')).toBe('broadcast');
  });

  it('never writes what is older over what is newer', async () => {
    change('a', 'finalized');
    await archiver().round();
    const at = { chainId: 56, epoch: 'first' };
    const version = { ms: 1_600_000_000_000, sequence: 0 };
    const late = { kind: 'recorded', id: idOf('a'), version, settlement: aRecorded('a') } as const;
    expect(await archive.store(56, await archive.epochNumber(at), [late])).toMatchObject({
      written: 0,
      stale: 1,
    });
    expect(stateOf('a')).toBe('finalized');
  });

  it('believes a ledger that went back, though its entries have the names of before', async () => {
    for (const state of ['broadcast', 'included', 'finalized'] as const) change('a', state);
    const one = archiver();
    await one.round();
    outbox.goBack('second');
    change('a', 'broadcast');
    await one.round();
    expect(stateOf('a')).toBe('broadcast');
  });

  it('leaves the entries of an epoch alone that began while it was writing', async () => {
    change('a');
    const store = archive.store.bind(archive);
    archive.store = async (...args) => {
      const stored = await store(...args);
      outbox.goBack('second');
      change('b');
      return stored;
    };
    const one = archiver();
    await one.round();
    expect(outbox.entries.map(({ id }) => id)).toEqual([idOf('b')]);
  });

  it('passes over what has ended its life', async () => {
    change('a');
    outbox.records.clear();
    await archiver().round();
    expect(reported).toEqual([{ written: 0, stale: 0, expired: 0, unreadable: 0, gone: 1 }]);
    expect(outbox.entries).toEqual([]);
  });

  it('waits for a database that is away, and opens it again when it is back', async () => {
    change('a');
    const one = archiver();
    archive.isAway = true;
    await one.round();
    await one.round();
    expect(failures).toEqual(['database_unreachable', 'database_unreachable']);
    expect(outbox.entries).toHaveLength(1);
    archive.isAway = false;
    await one.round();
    expect([archive.opened, stateOf('a')]).toEqual([1, 'broadcast']);
    archive.failsNext = 'before commit';
    change('a', 'included');
    await one.round();
    await one.round();
    expect([archive.opened, stateOf('a')]).toEqual([2, 'included']);
  });

  it('tells of a fault of its own and goes on', async () => {
    change('a');
    archive.store = () => Promise.reject(new TypeError('a fault'));
    expect(await archiver().round()).toBeGreaterThan(0);
    expect(failures).toEqual([new TypeError('a fault')]);
    expect(outbox.entries).toHaveLength(1);
  });

  it('says nothing of a ledger that is away: others do', async () => {
    outbox.isAway = true;
    const one = archiver();
    await one.round();
    expect(failures).toEqual([]);
    expect(one.condition).toBeUndefined();
  });

  it('names what the database says by its code alone', () => {
    const cause = new Error('password authentication failed for user "x402"');
    expect(new ArchiveError('database_unreachable', '28P01', cause).message).toBe(
      'PostgreSQL is unavailable to the archive: database_unreachable 28P01',
    );
  });
});
