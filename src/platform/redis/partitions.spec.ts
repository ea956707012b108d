import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { PARTITION_COUNTS } from '../config/partition-settings.js';
import { Partitions } from './partitions.js';

const ADDRESS = `0x${'0'.repeat(38)}7b`;
const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64url');
const split = (count: number): Partitions => new Partitions(new Map([[56, count]]));

describe('partitions of a ledger', () => {
  it.each(PARTITION_COUNTS)(
    'are all of %i, each with settlements, payers and lanes of its own',
    (count) => {
      const partitions = split(count);
      const digits = Array.from({ length: 16 }, (_, n) => `0x${'9'.repeat(39)}${n.toString(16)}`);
      const all = partitions.all(56).map(({ partition }) => partition);
      expect(all).toEqual(Array.from({ length: count }, (_, index) => index));
      const ofAccounts = digits.map((one) => partitions.ofAccount(56, one).partition);
      expect(new Set(ofAccounts)).toEqual(new Set(all));
      const ids = all.map((partition) =>
        partitions.nameOf({ chainId: 56, partition }, hashOf('a')),
      );
      expect(ids.map((id) => partitions.ofSettlement(56, id).partition)).toEqual(all);
      expect(new Set(ids).size).toBe(count);
    },
  );

  it('are told by the last digit of an address, in any letter case, and of its lane', () => {
    for (const text of [ADDRESS, ADDRESS.toUpperCase(), `56:${ADDRESS}`]) {
      expect(split(16).ofLane(56, text)).toEqual({ chainId: 56, partition: 0xb });
      expect(split(4).ofLane(56, text)).toEqual({ chainId: 56, partition: 3 });
      expect(split(1).ofLane(56, text)).toEqual({ chainId: 56, partition: 0 });
    }
    expect(split(16).ofAccount(97, ADDRESS).partition).toBe(0);
  });

  it('leave ids as they are where there is one, and keep 252 bits of the hash where there are more', () => {
    const hash = hashOf('an authorization');
    expect(split(1).nameOf({ chainId: 56, partition: 0 }, hash)).toBe(hash);
    const id = split(16).nameOf({ chainId: 56, partition: 9 }, hash);
    expect([id.length, id.slice(1), id.charAt(0)]).toEqual([43, hash.slice(1), 'J']);
    expect(Buffer.from(id, 'base64url').toString('base64url')).toBe(id);
  });

  it.each(['', '=', 'é', '💥', '_', '-', ' A', 'nonsense'])(
    'are asked for %j as for any id: it is in one of them at most',
    (id) => {
      const { partition } = split(4).ofSettlement(56, id);
      expect([0, 1, 2, 3]).toContain(partition);
    },
  );

  it('have ids in groups, none lost and none twice, in the order they came', () => {
    const ids = Array.from({ length: 64 }, (_, index) => `${'ABCD'[index % 4] ?? ''}${index}`);
    const groups = split(4).byLedger(56, ids);
    expect(groups.map(([ledger]) => ledger.partition)).toEqual([0, 1, 2, 3]);
    expect(groups.flatMap(([, own]) => own).sort()).toEqual([...ids].sort());
    for (const [ledger, own] of groups) {
      expect(own.every((id) => split(4).ofSettlement(56, id).partition === ledger.partition)).toBe(
        true,
      );
      expect(own).toEqual(ids.filter((id) => own.includes(id)));
    }
    expect(split(4).byLedger(56, [])).toEqual([]);
    expect(split(1).byLedger(56, ids)).toEqual([[{ chainId: 56, partition: 0 }, ids]]);
  });
});
