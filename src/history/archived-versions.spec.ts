import { describe, expect, it } from '@jest/globals';
import { aRecorded } from '../../test/builders/history/recorded-settlement.js';
import type { NotedChange } from '../settlement/ledger/outbox.js';
import { ArchivedVersions } from './archived-versions.js';

const AT = { chainId: 56, epoch: 'first' };

/** Named by one entry, and read when another one was the newest. */
function change(id: string, noted: number, version = noted): NotedChange {
  const at = (sequence: number) => ({ ms: 1000, sequence });
  const settlement = aRecorded(id);
  return { kind: 'recorded', id, version: at(version), noted: at(noted), settlement };
}

describe('what was archived last', () => {
  it('holds what was noted by then, and nothing that was noted later', () => {
    const archived = new ArchivedVersions();
    const read = change('a', 1, 9);
    expect(archived.changed(AT, [read])).toEqual([read]);
    archived.keep(AT, [read]);
    const [then, later, other] = [change('a', 9), change('a', 10), change('b', 2)];
    expect(archived.changed(AT, [then, later, other])).toEqual([later, other]);
    const tomorrow = { ...change('a', 1), noted: { ms: 1001, sequence: 0 } };
    expect(archived.changed(AT, [tomorrow])).toEqual([tomorrow]);
  });

  it('is separate for each chain and epoch, and forgotten on demand', () => {
    const archived = new ArchivedVersions();
    archived.keep(AT, [change('a', 9)]);
    const again = [change('a', 1)];
    expect(archived.changed(AT, again)).toEqual([]);
    expect(archived.changed({ ...AT, chainId: 97 }, again)).toEqual(again);
    expect(archived.changed({ ...AT, epoch: 'second' }, again)).toEqual(again);
    archived.forget();
    expect(archived.changed(AT, again)).toEqual(again);
  });

  it('is kept of so many, those that were archived last', () => {
    const archived = new ArchivedVersions(2);
    archived.keep(AT, [change('a', 1), change('b', 2)]);
    archived.keep(AT, [change('a', 3), change('c', 4)]);
    const names = ['a', 'b', 'c'];
    const news = archived.changed(
      AT,
      names.map((name) => change(name, 1)),
    );
    expect(news.map(({ id }) => id)).toEqual(['b']);
  });
});
