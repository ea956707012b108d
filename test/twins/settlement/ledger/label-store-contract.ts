import { beforeEach, describe, expect, it } from '@jest/globals';
import { LABELLED_MAX, type LabelStore } from '../../../../src/settlement/ledger/label-store.js';
import type { ClaimRef } from '../../../../src/settlement/ledger/settlement-store.js';

const claim = (n: number, chainId = 56): ClaimRef => ({ chainId, id: `claim-${n}` });

/** What every store of labels promises, in memory or in Redis. */
export function labelStoreContract(name: string, make: () => Promise<LabelStore>): void {
  describe(`labels, ${name}`, () => {
    let store: LabelStore;
    beforeEach(async () => {
      store = await make();
    });

    it('lead to nothing at first', async () => {
      expect(await store.of('a')).toEqual([]);
    });

    it('lead to their claims and no others, newest first', async () => {
      await store.note('a', claim(1));
      await store.note('b', claim(2));
      await store.note('a', claim(3, 97));
      expect(await store.of('a')).toEqual([claim(3, 97), claim(1)]);
      expect(await store.of('b')).toEqual([claim(2)]);
    });

    it('hold a claim once, however often it is noted', async () => {
      for (const ref of [claim(1), claim(2), claim(1)]) await store.note('a', ref);
      expect(await store.of('a')).toEqual([claim(1), claim(2)]);
    });

    it('hold a bounded number of claims: the newest', async () => {
      for (let n = 0; n < LABELLED_MAX + 3; n += 1) await store.note('a', claim(n));
      const held = await store.of('a');
      expect([held.length, held[0], held.at(-1)]).toEqual([
        LABELLED_MAX,
        claim(LABELLED_MAX + 2),
        claim(3),
      ]);
    });
  });
}
