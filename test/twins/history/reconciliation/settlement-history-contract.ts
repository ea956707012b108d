import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Address, Hex } from 'viem';
import type {
  ClaimPlace,
  Reconciliation,
  SettlementHistory,
} from '../../../../src/history/reconciliation/settlement-history.js';
import { idOf } from '../../../builders/history/recorded-settlement.js';

/** A settlement of the books. */
interface Entry {
  readonly name: string;
  readonly chainId: number;
  readonly claimedAt: number;
  readonly block: bigint | undefined;
}

interface HistoryWorld {
  readonly books: SettlementHistory;
  /** Writes settlements to the books. */
  book(entries: readonly Entry[]): Promise<void>;
  close(): Promise<void>;
}

const CHAIN_ID = 56;
const FROM = Date.UTC(2026, 10, 21);
const HOUR_MS = 3_600_000;
const SPAN = { fromMs: FROM, toMs: FROM + 10 * HOUR_MS };
const LANE: Address = `0x${'d4'.repeat(20)}`;

/** Cases that all books pass: in memory, and in PostgreSQL. */
export function describeSettlementHistory(name: string, open: () => Promise<HistoryWorld>): void {
  describe(`${name}, by the contract of books`, () => {
    let world: HistoryWorld;

    beforeEach(async () => {
      world = await open();
    });
    afterEach(() => world.close());

    const anEntry = (one: string, more: Partial<Entry> = {}): Entry => ({
      name: one,
      chainId: CHAIN_ID,
      claimedAt: FROM,
      block: undefined,
      ...more,
    });
    const blocksOf = async (from: bigint, to: bigint, most: number, chainId = CHAIN_ID) => {
      const page = await world.books.ofBlocks(chainId, { from, to }, most);
      return [page.settlements.map(({ blockNumber }) => Number(blockNumber)), Number(page.to)];
    };
    const claimed = async (block = 100n, after?: ClaimPlace, chainId = CHAIN_ID) =>
      world.books.withoutBlock(chainId, SPAN, block, after);

    it('give whole blocks, of as many as hold about so many settlements', async () => {
      const blocks = [7n, 3n, 5n, 5n, 5n, 9n, undefined];
      await world.book([
        ...blocks.map((block, index) => anEntry(`b${index}`, { block })),
        anEntry('other', { chainId: 97, block: 5n }),
      ]);
      expect(await blocksOf(1n, 9n, 100)).toEqual([[3, 5, 5, 5, 7, 9], 9]);
      expect(await blocksOf(1n, 20n, 100)).toEqual([[3, 5, 5, 5, 7, 9], 20]);
      expect(await blocksOf(1n, 20n, 2)).toEqual([[3, 5, 5, 5], 5]);
      expect(await blocksOf(6n, 20n, 2)).toEqual([[7, 9], 9]);
      expect(await blocksOf(5n, 7n, 1)).toEqual([[5, 5, 5], 5]);
      expect(await blocksOf(10n, 20n, 2)).toEqual([[], 20]);
      expect(await blocksOf(1n, 20n, 100, 97)).toEqual([[5], 20]);
    });

    it('give what is in no block, claimed in the time or in the hour before it', async () => {
      const [before, { toMs }] = [FROM - HOUR_MS, SPAN];
      await world.book([
        anEntry('in', { claimedAt: FROM + 5 }),
        anEntry('hour before', { claimedAt: before }),
        anEntry('earlier', { claimedAt: before - 1 }),
        anEntry('last', { claimedAt: toMs - 1 }),
        anEntry('later', { claimedAt: toMs }),
        anEntry('old block', { claimedAt: FROM, block: 99n }),
        anEntry('old block, claimed before', { claimedAt: FROM - 1, block: 99n }),
        anEntry('in a block', { claimedAt: FROM, block: 100n }),
        anEntry('other', { chainId: 97, claimedAt: FROM + 6 }),
      ]);
      const page = await claimed();
      expect(page.settlements.map(({ id }) => id)).toEqual(
        ['hour before', 'old block', 'in', 'last'].map(idOf),
      );
      expect(page.next).toBeUndefined();
      expect((await claimed(100n, undefined, 97)).settlements.map(({ id }) => id)).toEqual([
        idOf('other'),
      ]);
    });

    it('give these page by page, each once, though many were claimed at one moment', async () => {
      const names = Array.from({ length: 1100 }, (_, index) => `n${index}`);
      await world.book(names.map((one) => anEntry(one, { claimedAt: FROM + 1 })));
      const seen: string[] = [];
      let after: ClaimPlace | undefined;
      do {
        const page = await claimed(100n, after);
        seen.push(...page.settlements.map(({ id }) => id));
        after = page.next;
      } while (after !== undefined);
      expect(seen).toHaveLength(names.length);
      expect(new Set(seen)).toEqual(new Set(names.map(idOf)));
    });

    it('give whoever names a transaction, whenever it was claimed and wherever it is', async () => {
      await world.book([
        anEntry('a', { block: 7n }),
        anEntry('b', { claimedAt: FROM - 20 * HOUR_MS }),
        anEntry('other', { chainId: 97, block: 7n }),
      ]);
      const { settlements } = await world.books.ofBlocks(CHAIN_ID, { from: 7n, to: 7n }, 10);
      const hash = settlements[0]?.transaction ?? '0x';
      const named = async (...hashes: Hex[]) =>
        (await world.books.ofTransactions(CHAIN_ID, hashes)).map(({ id }) => id).sort();
      expect(await named(hash)).toEqual(['a', 'b'].map(idOf).sort());
      expect(await named(`0x${'99'.repeat(32)}`, hash)).toHaveLength(2);
      expect(await named(`0x${'99'.repeat(32)}`)).toEqual([]);
      expect(await named()).toEqual([]);
    });

    it('know the lanes that earlier runs have met', async () => {
      const run: Reconciliation = {
        chainId: CHAIN_ID,
        startedBy: 'daily',
        window: SPAN,
        blocks: undefined,
        settlements: 1,
        transactions: 2,
        counts: new Map(),
        findings: [],
        lanes: [
          {
            lane: LANE,
            before: undefined,
            after: undefined,
            transactions: 2,
            feesWei: 1n,
            sentWei: 0n,
            receivedWei: undefined,
          },
        ],
        startedAt: new Date(FROM),
        finishedAt: new Date(FROM + 1),
      };
      expect(await world.books.lanes(CHAIN_ID)).toEqual([]);
      await world.books.save(run);
      await world.books.save(run);
      expect(await world.books.lanes(CHAIN_ID)).toEqual([LANE]);
      expect(await world.books.lanes(97)).toEqual([]);
    });
  });
}
