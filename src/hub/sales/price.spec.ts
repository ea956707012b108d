import { describe, expect, it } from '@jest/globals';
import type { StoredObject } from '../storage/storage-provider.js';
import { isAccepted, requirementsOf } from './offer.js';
import { type Price, priceOf, readPrice, termsOf } from './price.js';

const OWNER = `0x${'aa'.repeat(20)}` as const;
const object: StoredObject = {
  op: 'put',
  owner: OWNER,
  id: 'a report',
  bucket: OWNER,
  kind: 'memory',
  order: 7,
  volume: 3,
  start: 62,
  size: 5,
  sha256: 'ab'.repeat(32),
  blocks: '00000000',
};
const price: Price = {
  network: 'eip155:56',
  asset: OWNER,
  amount: 10n ** 30n,
  payTo: OWNER,
  accessSeconds: 60,
  until: undefined,
  token: { assetTransferMethod: 'permit2' },
  contentType: 'text/plain',
  object,
};

describe('a price', () => {
  it.each([price, { ...price, until: 1_800_000_000 }])('is what was written of it', (one) => {
    expect(priceOf(termsOf(one), object)).toEqual(one);
  });

  it('is of the bytes it was set on, whatever the name stands for by now', () => {
    const { sha256, start } = priceOf(termsOf(price), { ...object, id: 'a report' }).object;
    expect([sha256, start]).toEqual([object.sha256, object.start]);
  });

  const wanted = {
    network: 'eip155:56',
    asset: OWNER.toUpperCase().replace('0X', '0x'),
    amount: '1',
    accessseconds: 3600,
  };

  it('is read with what may be left out', () => {
    expect(readPrice(wanted)).toEqual({
      ok: true,
      price: {
        network: 'eip155:56',
        asset: OWNER,
        amount: 1n,
        accessSeconds: 3600,
        payTo: undefined,
        token: undefined,
        until: undefined,
        contentType: undefined,
      },
    });
  });

  it.each([
    [{ amount: '0' }, 'amount'],
    [{ amount: '01' }, 'amount'],
    [{ amount: '1e3' }, 'amount'],
    [{ amount: (2n ** 256n).toString() }, 'amount'],
    [{ accessseconds: 59 }, 'accessSeconds'],
    [{ accessseconds: 31_536_001 }, 'accessSeconds'],
    [{ until: -1 }, 'until'],
    [{ until: 1e300 }, 'until'],
    [{ extra: { name: 'x' } }, 'extra'],
    [{ extra: { name: 'x', version: '1', more: 'z' } }, 'extra'],
    [{ contenttype: `${'a'.repeat(63)}/${'b'.repeat(70)}` }, 'contentType'],
  ])('is refused for %j', (more, field) => {
    expect(readPrice({ ...wanted, ...more })).toEqual({
      ok: false,
      problem: expect.stringMatching(new RegExp(`^${field}: `)),
    });
  });
});

describe('an offer', () => {
  it('is accepted in any order of its fields and any case of its addresses, and in nothing else', () => {
    const offer = requirementsOf(price);
    const turned = Object.fromEntries(Object.entries(offer).toReversed());
    expect(isAccepted({ ...turned, payTo: `0x${'AA'.repeat(20)}` }, offer)).toBe(true);
    const less = Object.fromEntries(Object.entries(offer).filter(([name]) => name !== 'amount'));
    for (const other of [
      { ...offer, amount: '1' },
      { ...offer, more: 1 },
      { ...offer, extra: { ...(offer['extra'] as object), sha256: 'cd'.repeat(32) } },
      less,
      null,
      undefined,
      'x',
      [],
    ]) {
      expect(isAccepted(other, offer)).toBe(false);
    }
  });
});
