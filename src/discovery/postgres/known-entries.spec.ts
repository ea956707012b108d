import { describe, expect, it } from '@jest/globals';
import { type EntryRow, KnownEntries } from './known-entries.js';

const row = (more: Partial<EntryRow> = {}): EntryRow => ({
  id: Buffer.alloc(32, 1),
  chain_id: '56',
  pay_to: Buffer.alloc(20, 2),
  listing: '{"resource":"https://a.example/"}',
  first_paid_at: new Date(1000),
  last_paid_at: new Date(2000),
  score: 5,
  quality: null,
  others: '0',
  offers: `[{"scheme":"exact","asset":"${'ab'.repeat(20)}","amount":"7","offer":"{}"}]`,
  ...more,
});

describe('entries that were read before', () => {
  it('are the same objects while their rows say the same', () => {
    const known = new KnownEntries();
    const first = known.read(row());
    expect(first).toMatchObject({ chainId: 56, otherPayees: 0, position: { score: 5 } });
    expect(first.offers).toEqual([
      { scheme: 'exact', asset: `0x${'ab'.repeat(20)}`, amount: '7', offer: {} },
    ]);
    expect(known.read(row())).toBe(first);
  });

  it.each<Partial<EntryRow>>([
    { listing: '{"resource":"https://b.example/"}' },
    { first_paid_at: new Date(1001) },
    { last_paid_at: new Date(2001) },
    { score: 6 },
    { quality: '{"score":1}' },
    { others: '1' },
    { offers: '[]' },
  ])('are read again once a row has changed: %j', (change) => {
    const known = new KnownEntries();
    const first = known.read(row());
    const second = known.read(row(change));
    expect(second).not.toBe(first);
    expect(second).toEqual(new KnownEntries().read(row(change)));
    // The earlier one may come back: a reply that was slow.
    expect(known.read(row())).toEqual(first);
  });

  it('give way to newer ones, those that were read longest ago first', () => {
    const one = row();
    const room = (one.listing.length + (one.offers?.length ?? 0)) * 2;
    const known = new KnownEntries(room);
    const of = (byte: number): EntryRow => row({ id: Buffer.alloc(32, byte) });
    const first = known.read(of(1));
    const second = known.read(of(2));
    expect(known.read(of(1))).toBe(first);
    known.read(of(3));
    expect(known.read(of(1))).toBe(first);
    expect(known.read(of(2))).not.toBe(second);
  });

  it('are not kept where one alone is too long', () => {
    const known = new KnownEntries(10);
    expect(known.read(row())).not.toBe(known.read(row()));
  });
});
