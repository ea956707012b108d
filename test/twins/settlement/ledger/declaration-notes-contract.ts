import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  type DeclarationNotes,
  notedAt,
} from '../../../../src/settlement/ledger/declaration-notes.js';
import type { ClaimRef } from '../../../../src/settlement/ledger/settlement-store.js';

const claim = (id: string, chainId = 56): ClaimRef => ({ chainId, id });
const MOST = { claims: 5, characters: 20 };

/** What every store of declarations promises, in memory or in Redis. */
export function declarationNotesContract(
  name: string,
  make: (most: typeof MOST) => Promise<DeclarationNotes>,
): void {
  describe(`notes of declarations, ${name}`, () => {
    let notes: DeclarationNotes;
    beforeEach(async () => {
      notes = await make(MOST);
    });

    const note = (id: string, tag: string, content: string, chainId = 56) =>
      notes.note(claim(id, chainId), { tag, content });
    const idsOf = async (after?: string, most = 10) =>
      (await notes.read(56, after, most)).map(({ settlementId }) => settlementId);
    const all = () => notes.read(56, undefined, 10);
    const contents = async (...tags: string[]) =>
      Object.fromEntries(await notes.contents(56, tags));

    it('are read in the order in which they were made, of their chain alone', async () => {
      expect(await all()).toEqual([]);
      await note('a', 't', 'text');
      await note('z', 't', 'text', 97);
      await note('b', 'u', 'more');
      await note('c', 't', 'text');
      expect(await idsOf()).toEqual(['a', 'b', 'c']);
      expect(await idsOf(undefined, 2)).toEqual(['a', 'b']);
      const [first, , last] = await all();
      expect(await idsOf(first?.entry)).toEqual(['b', 'c']);
      expect(await idsOf(last?.entry)).toEqual([]);
      expect(await contents('t', 'u', 'v')).toEqual({ t: 'text', u: 'more' });
      expect(await contents()).toEqual({});
      if (first !== undefined) expect(Math.abs(notedAt(first) - Date.now())).toBeLessThan(60_000);
    });

    it('keep a content for as long as one of them names it', async () => {
      await note('a', 't', 'text');
      await note('b', 't', 'text');
      const [first, second] = await all();
      await notes.forget(56, first === undefined ? [] : [first]);
      expect([await idsOf(), await contents('t')]).toEqual([['b'], { t: 'text' }]);
      // Forgotten again it takes nothing from the other one.
      await notes.forget(56, first === undefined ? [] : [first]);
      expect(await contents('t')).toEqual({ t: 'text' });
      await notes.forget(56, second === undefined ? [] : [second]);
      expect([await idsOf(), await contents('t')]).toEqual([[], {}]);
      await notes.forget(56, []);
    });

    it('are bounded in number and in size, and there is room again once some are forgotten', async () => {
      expect(await note('a', 't', 'x'.repeat(15))).toBe(true);
      expect(await note('b', 'u', 'x'.repeat(6))).toBe(false);
      // Of a content that is there.
      expect(await note('c', 't', 'x'.repeat(15))).toBe(true);
      expect(await note('d', 'u', 'x'.repeat(5))).toBe(true);
      for (const id of ['e', 'f']) expect(await note(id, 't', 'x'.repeat(15))).toBe(true);
      expect(await note('g', 't', 'x'.repeat(15))).toBe(false);
      expect(await idsOf()).toEqual(['a', 'c', 'd', 'e', 'f']);
      await notes.forget(56, await all());
      expect(await note('h', 'w', 'x'.repeat(20))).toBe(true);
      expect(await contents('t', 'u', 'w')).toEqual({ w: 'x'.repeat(20) });
    });
  });
}
