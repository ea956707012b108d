import { describe, expect, it } from '@jest/globals';
import { entryOf, lineOf } from './journal-line.js';
import { firstVolumeOf, folderOf } from './owner-folder.js';
import { digestOf, PayloadDigest } from './payload-digest.js';
import { StorageClock } from './storage-clock.js';
import { BLOCK_BYTES, type JournalEntry } from './storage-provider.js';

const put: JournalEntry = {
  op: 'put',
  order: 1_700_000_000_000_001,
  owner: 'o\n"é',
  id: 'i',
  bucket: 'b',
  kind: 'memory',
  volume: 4_294_967_295,
  start: 31,
  size: 5,
  sha256: 'ab',
  blocks: '00000000',
};

describe('a line of the journal', () => {
  it('is read as it was written', () => {
    const removal: JournalEntry = { op: 'remove', order: 1, owner: 'o', id: 'i' };
    const price: JournalEntry = { ...removal, op: 'price', terms: '{"amount":"1"}' };
    const withdrawal: JournalEntry = { ...removal, op: 'price', terms: '', withdraws: 'a' };
    expect(entryOf(lineOf(withdrawal).trimEnd())).toEqual(withdrawal);
    for (const entry of [put, removal, price]) {
      const line = lineOf(entry);
      expect(line.indexOf('\n')).toBe(line.length - 1);
      expect(entryOf(line.slice(0, -1))).toEqual(entry);
    }
  });

  it('is nothing when any of it is missing or changed', () => {
    const line = lineOf(put).slice(0, -1);
    for (const damaged of [
      line.slice(0, -1),
      line.replace('31', '62'),
      `0${line}`,
      '',
      '00000000 ',
    ]) {
      expect(entryOf(damaged)).toBeUndefined();
    }
  });
});

describe('a payload', () => {
  it('has one digest, however it comes', () => {
    const bytes = Buffer.alloc(BLOCK_BYTES * 2 + 7, 'payload');
    const digest = new PayloadDigest();
    for (let at = 0; at < bytes.length; at += 99_999)
      digest.update(bytes.subarray(at, at + 99_999));
    expect(digest.finish()).toEqual(digestOf(bytes));
    expect(digestOf(bytes).blocks).toHaveLength(24);
    expect(digestOf(Buffer.alloc(BLOCK_BYTES)).blocks).toHaveLength(8);
  });
});

describe('an owner', () => {
  it('has a folder that means nothing else anywhere', () => {
    expect(folderOf('0xabcd')).toBe('0xabcd');
    for (const owner of ['0xABCD', '../x', '', 'con', '0x', `0x${'a'.repeat(65)}`, '0xabcd\n']) {
      expect(folderOf(owner)).toMatch(/^sha256-[0-9a-f]{64}$/);
    }
  });

  it('has its volumes numbered as by the original', () => {
    const hub = '0x6370eF2f4Db3611D657b90667De398a2Cc2a370C';
    expect(firstVolumeOf(hub, '0xabcd')).toBe(2_280_956_532);
    expect(firstVolumeOf(hub, hub.toLowerCase())).toBe(1_340_837_759);
  });
});

describe('StorageClock', () => {
  it('only goes forward, also when the clock goes back', () => {
    let now = 5;
    const clock = new StorageClock(() => now);
    expect([clock.next(), clock.next()]).toEqual([5000, 5001]);
    now = 1;
    expect(clock.next()).toBe(5002);
    clock.advanceTo(9000);
    expect(clock.next()).toBe(9001);
  });
});
