import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Address } from 'viem';
import type {
  CatalogueEntry,
  CatalogueReader,
  CatalogueWriter,
} from '../../../../src/discovery/catalogue.js';
import type { CallReader, CallWriter } from '../../../../src/discovery/quality/call-store.js';
import { QualityScorer } from '../../../../src/discovery/quality/quality-scorer.js';
import { aListing, aPaid, NOON } from '../../../builders/discovery/catalogue-update.js';
import { idOf } from '../../../builders/history/recorded-settlement.js';
import { type MadeSettlement, SETTLE_MS } from './memory-calls.js';

interface CallsUnderTest {
  readonly catalogue: CatalogueWriter & Pick<CatalogueReader, 'page'>;
  readonly calls: CallWriter & CallReader;
  /** The history has it; the same id again is a later state of it. */
  settle(settlements: readonly MadeSettlement[]): Promise<void>;
}

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** An address made of a name of hex digits. */
const who = (name: string): Address => `0x${name.padStart(40, '0')}`;
const HONEST = who('a0');
const RING = who('b0');
/** Payees that many buy from. */
const KNOWN = ['c1', 'c2', 'c3', 'c4', 'c5'].map(who);

/** What every book of calls promises, in memory or in PostgreSQL. */
export function callsContract(name: string, make: () => Promise<CallsUnderTest>): void {
  describe(`quality from calls, ${name}`, () => {
    let one: CallsUnderTest;
    let now: number;
    let made: number;
    beforeEach(async () => {
      one = await make();
      now = NOON;
      made = 0;
    });

    const call = (
      payer: Address,
      payTo: Address,
      daysAgo = 0,
      more: Partial<MadeSettlement> = {},
    ): MadeSettlement => {
      made += 1;
      return {
        id: idOf(`${made}`),
        payer,
        payTo,
        state: 'finalized',
        claimedAt: now - daysAgo * DAY_MS - HOUR_MS - made,
        ...more,
      };
    };
    /** Settles, indexes and links calls, as the indexer does it. */
    async function sell(...calls: readonly MadeSettlement[]): Promise<void> {
      await one.settle(calls);
      const paid = calls.filter(({ state }) => state === 'finalized' || state === 'included');
      await one.catalogue.update(
        paid.map(({ payTo, claimedAt: at }) => ({
          paid: aPaid({ payTo, at }),
          declared: { listing: aListing() },
        })),
      );
      await one.calls.link(
        56,
        calls.map(({ id }) => ({ settlementId: id, listing: aListing() })),
        new Date(now),
      );
    }
    const rate = () =>
      new QualityScorer(
        one.calls,
        { now: () => now, steady: () => now, sleep: () => Promise.resolve() },
        {
          info: () => undefined,
          error: (trouble: unknown) => {
            throw trouble;
          },
        },
      ).round();
    const entries = () => one.catalogue.page({ since: new Date(0) }, { offset: 0 }, 99);
    async function entryOf(payTo: Address): Promise<CatalogueEntry> {
      const found = (await entries()).find((entry) => entry.payTo === payTo);
      if (found === undefined) throw new Error('there is no such entry');
      return found;
    }
    const qualityOf = async (payTo: Address) => (await entryOf(payTo)).quality;
    /** Five payees, each known by three buyers of its own. */
    const market = () =>
      KNOWN.flatMap((payee, n) => [1, 2, 3].map((m) => call(who(`d${n}${m}`), payee, m)));

    it('counts what was paid, by whom, and how it went', async () => {
      await sell(
        call(who('1'), HONEST, 3),
        call(who('1'), HONEST, 1),
        call(who('2'), HONEST, 2),
        call(who('2'), HONEST, 2, { state: 'reverted' }),
        call(who('2'), HONEST, 2, { state: 'withdrawn' }),
      );
      expect(await qualityOf(HONEST)).toBeUndefined();
      await rate();
      expect(await qualityOf(HONEST)).toMatchObject({
        l30DaysTotalCalls: 3,
        l30DaysUniquePayers: 2,
        l30DaysRepeatPayers: 1,
        l30DaysExcludedCalls: 0,
        l30DaysSuccessRate: 0.75,
        l30DaysMedianSettleMs: SETTLE_MS,
        lastCalledAt: new Date(NOON - DAY_MS - HOUR_MS - 2 + SETTLE_MS).toISOString(),
      });
    });

    it('counts a settlement once, however often it is learnt', async () => {
      const calls = [call(who('1'), HONEST), call(who('2'), HONEST)];
      await sell(...calls);
      await sell(...calls);
      await rate();
      expect(await qualityOf(HONEST)).toMatchObject({ l30DaysTotalCalls: 2 });
    });

    it('takes out what a reorg took back, within a minute', async () => {
      const young = { claimedAt: NOON - 2000, state: 'included' } as const;
      const taken = call(who('2'), HONEST, 0, young);
      await sell(call(who('1'), HONEST), taken);
      await rate();
      expect(await qualityOf(HONEST)).toMatchObject({ l30DaysTotalCalls: 2 });
      await one.settle([{ ...taken, state: 'queued' }]);
      now += 61_000;
      await rate();
      expect(await qualityOf(HONEST)).toMatchObject({
        l30DaysTotalCalls: 1,
        l30DaysUniquePayers: 1,
        l30DaysSuccessRate: 1,
      });
    });

    it('counts what is archived late at its own time', async () => {
      await sell(call(who('1'), HONEST));
      await rate();
      now += HOUR_MS;
      await sell(call(who('2'), HONEST, 29), call(who('3'), HONEST, 31));
      await rate();
      expect(await qualityOf(HONEST)).toMatchObject({ l30DaysUniquePayers: 2 });
    });

    it('lets what is older than thirty days go, with no call to remind of it', async () => {
      await sell(call(who('1'), HONEST, 29), call(who('2'), HONEST, 1));
      await rate();
      now += 2 * DAY_MS;
      await rate();
      expect(await qualityOf(HONEST)).toMatchObject({ l30DaysUniquePayers: 1 });
      now += 30 * DAY_MS;
      await rate();
      expect(await qualityOf(HONEST)).toMatchObject({ l30DaysUniquePayers: 0, score: 0 });
      expect(await one.calls.takeDue(new Date(now + 99 * DAY_MS), new Date(now), 9)).toEqual([]);
    });

    it('loses a part of its score with time', async () => {
      await sell(call(who('1'), HONEST));
      await rate();
      const before = (await qualityOf(HONEST))?.score ?? 0;
      now += 10 * DAY_MS;
      await rate();
      expect((await qualityOf(HONEST))?.score).toBeCloseTo(before / 2, 5);
    });

    it('does not count what a payee pays to itself, and whom it paid', async () => {
      await sell(
        // The payee paid 1, which paid 2, which bought and paid 3.
        call(RING, who('1'), 80),
        call(who('1'), who('2')),
        call(who('2'), who('3')),
        ...[RING, who('1'), who('2'), who('3'), who('4')].map((payer) => call(payer, RING)),
      );
      await rate();
      expect(await qualityOf(RING)).toMatchObject({
        l30DaysTotalCalls: 1,
        l30DaysUniquePayers: 1,
        l30DaysExcludedCalls: 4,
      });
    });

    it('does not let a ring of 32 wallets rise above a handful of buyers that others know', async () => {
      const wallets = Array.from({ length: 32 }, (_, n) => who(`e${n + 10}`));
      const friends = ['f1', 'f2', 'f3'].map(who);
      await sell(
        ...market(),
        ...KNOWN.flatMap((payee, n) => [
          call(who(`${n + 1}`), payee, 5),
          call(who(`${n + 1}`), HONEST, 1),
          call(who(`${n + 1}`), HONEST, 4),
        ]),
        // The ring buys every day, and from other payees of its own, each wallet from others of them.
        ...wallets.flatMap((wallet, n) => [
          ...[0, 1, 2, 3, 4, 5, 6, 7].map((day) => call(wallet, RING, day)),
          ...friends.filter((_, bit) => (n >> bit) & 1).map((payee) => call(wallet, payee, 2)),
        ]),
      );
      while ((await rate()) === 0);
      const [honest, ring] = [await entryOf(HONEST), await entryOf(RING)];
      expect(ring.quality).toMatchObject({ l30DaysTotalCalls: 256, l30DaysUniquePayers: 32 });
      expect(honest.position.score).toBeGreaterThan(3 * ring.position.score);
      const order = (await entries()).map(({ payTo }) => payTo);
      expect(order.indexOf(HONEST)).toBe(0);
      expect(order.indexOf(RING)).toBeGreaterThan(0);
    });

    it('knows a payer by payees that three others bought from', async () => {
      await sell(...market(), call(who('1'), KNOWN[0] ?? RING), call(who('1'), who('f1')));
      await sell(call(who('1'), HONEST), call(who('2'), who('f1')));
      const found = await one.calls.otherPayees(
        [who('1'), who('2')],
        [HONEST],
        [who('1')],
        new Date(0),
      );
      expect([...found]).toEqual([[who('1'), [KNOWN[0]]]]);
      const inside = ['1', 'd01'].map(who);
      expect((await one.calls.otherPayees([who('1')], [HONEST], inside, new Date(0))).size).toBe(0);
    });

    it('knows a payee by its earlier buyers, however much one bought since', async () => {
      const much = Array.from({ length: 30 }, () => call(who('1'), KNOWN[0] ?? RING));
      await sell(...['d1', 'd2', 'd3'].map((buyer) => call(who(buyer), KNOWN[0] ?? RING, 2)));
      await sell(...much);
      const found = await one.calls.otherPayees([who('1')], [HONEST], [who('1')], new Date(0));
      expect([...found]).toEqual([[who('1'), [KNOWN[0]]]]);
    });

    it('goes on page by page in the order of scores', async () => {
      await sell(...market());
      await sell(...['1', '2', '3'].map((buyer) => call(who(buyer), HONEST)));
      while ((await rate()) === 0);
      const read: Address[] = [];
      let next = await one.catalogue.page({ since: new Date(0) }, { offset: 0 }, 2);
      while (next.length > 0) {
        read.push(...next.map(({ payTo }) => payTo));
        const after = next.at(-1)?.position ?? { score: 0, paidAt: 0, id: '' };
        next = await one.catalogue.page({ since: new Date(0) }, { after }, 2);
      }
      expect(read).toEqual((await entries()).map(({ payTo }) => payTo));
      expect(new Set(read).size).toBe(6);
    });

    it('gives an entry to one rater, and back if that one dies', async () => {
      await sell(call(who('1'), HONEST));
      const [at, until] = [new Date(now), new Date(now + 60_000)];
      const [taken, again] = [
        await one.calls.takeDue(at, until, 9),
        await one.calls.takeDue(at, until, 9),
      ];
      expect([taken.length, again.length]).toEqual([1, 0]);
      expect(await one.calls.takeDue(until, new Date(now + 120_000), 9)).toEqual(taken);
    });

    it('rates an entry again that got a call while it was rated', async () => {
      await sell(call(who('1'), HONEST));
      await rate();
      now += 7 * HOUR_MS;
      const takenUntil = new Date(now + 60_000);
      const [entry] = await one.calls.takeDue(new Date(now), takenUntil, 9);
      const quality = await qualityOf(HONEST);
      if (entry === undefined || quality === undefined) throw new Error('nothing is due');
      await sell(call(who('2'), HONEST));
      const dueAt = new Date(now + 6 * HOUR_MS);
      await one.calls.rate(entry, { quality, ratedAt: new Date(now), takenUntil, dueAt });
      now += 60_000;
      await rate();
      expect(await qualityOf(HONEST)).toMatchObject({ l30DaysUniquePayers: 2 });
    });

    it('passes over what it does not know', async () => {
      const unknown = call(who('1'), HONEST);
      await one.calls.link(56, [{ settlementId: unknown.id, listing: aListing() }], new Date(now));
      await one.settle([unknown]);
      await one.calls.link(56, [{ settlementId: unknown.id, listing: aListing() }], new Date(now));
      await one.calls.link(56, [], new Date(now));
      expect(await one.calls.takeDue(new Date(now), new Date(now), 9)).toEqual([]);
    });
  });
}
