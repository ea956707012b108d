import { beforeEach, describe, expect, it } from '@jest/globals';
import type { CatalogueWriter } from '../catalogue.js';
import { aLesson, NOON, OTHER_PAYEE, PAYEE, RESOURCE } from '../lesson.builder.js';
import { entryIdNamed } from '../postgres/entry-rows.js';
import type { Noted } from './memory-moderation.builder.js';
import type { ModerationStore } from './moderation-store.js';
import {
  type Report,
  REPORT_BOUNDS,
  type ReportedPlace,
  type ReportStore,
} from './report-store.js';

export interface ReportsUnderTest {
  readonly reports: ReportStore;
  readonly store: ModerationStore;
  readonly writer: CatalogueWriter;
  audit(): Promise<readonly Noted[]>;
}

/** What every store of reports promises, in memory or in PostgreSQL. */
export function reportsContract(name: string, make: () => Promise<ReportsUnderTest>): void {
  describe(`reports, ${name}`, () => {
    let one: ReportsUnderTest;
    beforeEach(async () => {
      one = await make();
    });

    const add = (more: Partial<Report> = {}, bounds: Partial<typeof REPORT_BOUNDS> = {}) =>
      one.reports.add(aReport(more), { ...REPORT_BOUNDS, ...bounds });
    const idsOpen = async () => (await one.reports.open(9)).map(({ id }) => id);
    const dismiss = (report: Report) =>
      one.reports.dismiss(
        { id: idOf(report), reason: 'nothing found', by: 'night-shift', at: new Date(NOON) },
        REPORT_BOUNDS,
      );

    it('finds what anybody is shown, by its URL or one that its template stands for', async () => {
      await one.writer.learn([
        aLesson({ resource: 'https://a.example.org/:id', exampleUrl: 'https://a.example.org/7' }),
        aLesson({}, { payTo: OTHER_PAYEE, at: NOON + 1 }),
        aLesson({}, { chainId: 97, at: NOON + 2 }),
      ]);
      const found = async (place: Partial<ReportedPlace>, since = 0) =>
        (
          await one.reports.entriesAt(
            { resource: RESOURCE, payTo: undefined, chainId: undefined, ...place },
            new Date(since),
            9,
          )
        ).map(({ chainId, payTo, call }) => [chainId, payTo, call]);
      const [mine, theirs] = [
        [97, PAYEE, 'GET'],
        [56, OTHER_PAYEE, 'GET'],
      ];
      expect(await found({})).toEqual([mine, theirs]);
      expect(await found({ payTo: OTHER_PAYEE })).toEqual([theirs]);
      expect(await found({ chainId: 97 })).toEqual([mine]);
      expect(await found({ resource: 'https://a.example.org/7' })).toEqual([[56, PAYEE, 'GET']]);
      expect(await found({ resource: 'https://a.example.org/8' })).toEqual([]);
      expect(await found({}, NOON + 10_000)).toEqual([]);
      const denial = { reason: 'spam', by: 'night-shift', at: new Date(NOON) };
      await one.store.deny({ kind: 'payee', value: PAYEE, ...denial }, 9);
      expect(await found({})).toEqual([theirs]);
    });

    it('counts what is open by entry, the most first, with the newest words', async () => {
      const other = aReport({ entry: { ...aReport().entry, call: 'POST' } });
      await add({ entry: other.entry, words: 'lone' });
      await add({ kind: 'malware', words: 'first' });
      await add({ reporter: who(2), words: 'second', at: new Date(NOON + 1000) });
      const [most, least] = await one.reports.open(9);
      expect(most).toEqual({
        ...{ id: idOf(aReport()), entry: aReport().entry, host: 'shop.example.com', count: 2 },
        ...{ counts: { malware: 1, misleading: 1 }, firstAt: new Date(NOON) },
        lastAt: new Date(NOON + 1000),
        newest: [
          { kind: 'misleading', words: 'second', at: new Date(NOON + 1000) },
          { kind: 'malware', words: 'first', at: new Date(NOON) },
        ],
      });
      expect(least).toMatchObject({ id: idOf(other), count: 1 });
      expect(await one.reports.open(1)).toHaveLength(1);
    });

    it('takes one of a reporter about an entry, also after it was closed', async () => {
      expect(await add()).toBe('added');
      expect(await add({ kind: 'malware' })).toBe('again');
      expect(await add({ entry: { ...aReport().entry, payTo: OTHER_PAYEE } })).toBe('added');
      await dismiss(aReport());
      expect(await add()).toBe('again');
      expect(await add({ reporter: who(2) })).toBe('added');
    });

    it('takes no more than it may of a reporter, of an entry and of all', async () => {
      const elsewhere = { ...aReport().entry, call: 'POST' };
      await add();
      expect(await add({ entry: elsewhere }, { ofReporter: 1 })).toBe('reporter_full');
      expect(await add({ reporter: who(2) }, { ofEntry: 1 })).toBe('entry_full');
      expect(await add({ reporter: who(2), entry: elsewhere }, { open: 1 })).toBe('full');
      expect(await one.reports.open(9)).toHaveLength(1);
      await dismiss(aReport());
      expect(await add({ reporter: who(2), entry: elsewhere }, { open: 1 })).toBe('added');
    });

    it('closes what is open about an entry once, and notes it', async () => {
      const other = aReport({ entry: { ...aReport().entry, call: 'POST' } });
      await add();
      await add({ reporter: who(2) });
      await add({ entry: other.entry });
      expect(await dismiss(aReport())).toBe(2);
      expect(await dismiss(aReport())).toBe(0);
      expect(await idsOpen()).toEqual([idOf(other)]);
      expect(await one.audit()).toEqual([
        {
          ...{ by: 'night-shift', action: 'catalogue_reports_dismissed' },
          ...{ subject: `entry:${idOf(aReport())}`, reason: 'nothing found' },
        },
      ]);
    });

    it('closes what is open about a payee or a host that is denied', async () => {
      const [mine, theirs, elsewhere] = [
        aReport(),
        aReport({ entry: { ...aReport().entry, payTo: OTHER_PAYEE } }),
        aReport({ entry: { ...aReport().entry, resource: 'https://a.example.org/' } }),
      ];
      for (const report of [mine, theirs, elsewhere]) await add(report);
      const denial = { reason: 'spam', by: 'night-shift', at: new Date(NOON) };
      await one.store.deny({ kind: 'payee', value: OTHER_PAYEE, ...denial }, 9);
      expect(new Set(await idsOpen())).toEqual(new Set([idOf(mine), idOf(elsewhere)]));
      await one.store.deny({ kind: 'host', value: 'shop.example.com', ...denial }, 9);
      expect(await idsOpen()).toEqual([idOf(elsewhere)]);
    });
  });
}

const who = (number: number): Buffer => Buffer.from([number]);
const idOf = ({ entry }: Report): string => entryIdNamed(entry).toString('hex');

function aReport(more: Partial<Report> = {}): Report {
  return {
    entry: { chainId: 56, payTo: PAYEE, type: 'http', resource: RESOURCE, call: 'GET' },
    ...{ kind: 'misleading', words: '', at: new Date(NOON), reporter: who(1) },
    ...more,
  };
}
