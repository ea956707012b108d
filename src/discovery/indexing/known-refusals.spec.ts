import { beforeEach, describe, expect, it } from '@jest/globals';
import { OTHER_PAYEE, PAYEE, RESOURCE } from '../../../test/builders/discovery/catalogue-update.js';
import { TestClock, turns } from '../../../test/builders/platform/concurrency/clock.js';
import type { EntryName } from '../owned/statement.js';
import { entryIdNamed } from '../postgres/entry-rows.js';
import type { ListingRefusals } from '../postgres/postgres-refusals.js';
import { KnownRefusals } from './known-refusals.js';

const ENTRY: EntryName = {
  chainId: 56,
  payTo: PAYEE,
  type: 'http',
  resource: RESOURCE,
  call: 'GET',
};

describe('what is known of entries that no payment lists', () => {
  let clock: TestClock;
  let reads: number;
  let read: () => Promise<ListingRefusals>;
  let trouble: unknown[];
  let known: KnownRefusals;

  const refusing = (until = Infinity, denied: readonly string[] = []) =>
    Promise.resolve({
      removed: new Map([[entryIdNamed(ENTRY).toString('hex'), until]]),
      denied: new Set(denied),
    });

  beforeEach(() => {
    [clock, reads, trouble] = [new TestClock(), 0, []];
    read = () => refusing();
    const standing = (): Promise<ListingRefusals> => {
      reads += 1;
      return read();
    };
    known = new KnownRefusals({ standing }, clock, {
      debug: (error: unknown) => trouble.push(error),
    });
  });

  async function prepared(): Promise<void> {
    known.prepare();
    await turns();
  }

  it('is read beside those who ask, once for all of them', async () => {
    known.prepare();
    known.prepare();
    expect(known.of(ENTRY)).toBeUndefined();
    await turns();
    expect([known.of(ENTRY), reads]).toEqual(['removed', 1]);
    expect(known.of({ ...ENTRY, call: 'POST' })).toBeUndefined();
    read = () => Promise.resolve({ removed: new Map(), denied: new Set() });
    await clock.pass(10_000);
    expect(reads).toBe(1);
    await prepared();
    expect([known.of(ENTRY), reads]).toEqual([undefined, 2]);
  });

  it('ends when the statement does', async () => {
    read = () => refusing(clock.now() + 5000);
    await prepared();
    expect(known.of(ENTRY)).toBe('removed');
    await clock.pass(5000);
    expect(known.of(ENTRY)).toBeUndefined();
  });

  it('has payees and hosts that the operator does not list', async () => {
    read = () => refusing(0, [OTHER_PAYEE]);
    await prepared();
    expect(known.of({ ...ENTRY, payTo: OTHER_PAYEE })).toBe('denied');
    expect(known.of(ENTRY)).toBeUndefined();
    read = () => refusing(0, ['shop.example.com']);
    await clock.pass(10_000);
    await prepared();
    expect(known.of(ENTRY)).toBe('denied');
  });

  it('is forgotten where it cannot be read again', async () => {
    await prepared();
    read = () => Promise.reject(new Error('away'));
    await clock.pass(10_000);
    await prepared();
    expect([known.of(ENTRY), trouble.length]).toEqual(['removed', 1]);
    await clock.pass(50_001);
    expect(known.of(ENTRY)).toBeUndefined();
  });
});
