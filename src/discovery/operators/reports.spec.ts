import { beforeEach, describe, expect, it } from '@jest/globals';
import { ArchiveError } from '../../history/archive.js';
import { codeOf } from '../../platform/http/coded-error.builder.js';
import { aLesson, NOON, OTHER_PAYEE, PAYEE, RESOURCE } from '../lesson.builder.js';
import { MemoryCatalogue } from '../memory-catalogue.builder.js';
import { MemoryModeration } from './memory-moderation.builder.js';
import { REPORT_BOUNDS, type ReportStore } from './report-store.js';
import { Reports } from './reports.js';

const DAY_MS = 86_400_000;
const REPORT = { resource: `${RESOURCE}?city=7`, kind: 'not_answering' };

describe('reports', () => {
  let catalogue: MemoryCatalogue;
  let store: MemoryModeration;
  let now: number;
  let reports: Reports;
  const make = (of: ReportStore | undefined): Reports =>
    new Reports({ store: of, allow: new Set(), expiryMs: 30 * DAY_MS, now: () => now });

  beforeEach(async () => {
    catalogue = new MemoryCatalogue();
    store = new MemoryModeration(catalogue);
    now = NOON + 5000;
    reports = make(store);
    await catalogue.learn([aLesson()]);
  });

  it('says what was understood, and keeps words without tags and what is not seen', async () => {
    const words = 'It <b>asks</b>\nfor my key\u202E';
    expect(await reports.accept({ ...REPORT, words }, '1.2.3.4')).toEqual({
      ...{ code: 'reported', message: expect.any(String), network: 'eip155:56', payTo: PAYEE },
      ...{ type: 'http', resource: RESOURCE, call: 'GET', kind: 'not_answering' },
    });
    const [reported] = await store.open(9);
    expect(reported?.newest).toEqual([
      { kind: 'not_answering', words: 'It asks for my key', at: new Date(now) },
    ]);
  });

  it('takes one a day of an address, and of an IPv6 network', async () => {
    const code = (address: string) => codeOf(reports.accept(REPORT, address));
    await reports.accept(REPORT, '2001:db8::1');
    expect(await code('2001:db8::2')).toEqual([409, 'already_reported']);
    await reports.accept(REPORT, '2001:db8:0:1::1');
    now += DAY_MS;
    await reports.accept(REPORT, '2001:db8::1');
    expect((await store.open(9))[0]?.count).toBe(3);
  });

  it('asks for the payee where several are paid for a resource', async () => {
    await catalogue.learn([aLesson({}, { payTo: OTHER_PAYEE })]);
    await expect(reports.accept(REPORT, '1.2.3.4')).rejects.toMatchObject({
      ...{ status: 400, code: 'invalid_report', message: expect.stringContaining('payTo') },
    });
    const { payTo } = await reports.accept({ ...REPORT, payTo: OTHER_PAYEE }, '1.2.3.4');
    expect(payTo).toBe(OTHER_PAYEE);
  });

  it('knows nothing that is not shown to anybody', async () => {
    const code = (more: object) => codeOf(reports.accept({ ...REPORT, ...more }, '1.2.3.4'));
    for (const more of [{ resource: 'https://b.example.org/' }, { payTo: OTHER_PAYEE }]) {
      expect(await code(more)).toEqual([404, 'entry_unknown']);
    }
    expect(await code({ network: 'eip155:97' })).toEqual([404, 'entry_unknown']);
    now += 40 * DAY_MS;
    expect(await code({})).toEqual([404, 'entry_unknown']);
  });

  it('is bounded for one that reports everything', async () => {
    const payees = Array.from({ length: REPORT_BOUNDS.ofReporter }, (_, index) =>
      aLesson({}, { payTo: `0x${index.toString(16).padStart(40, '0')}` }),
    );
    await catalogue.learn(payees);
    for (const { paid } of payees)
      await reports.accept({ ...REPORT, payTo: paid.payTo }, '1.2.3.4');
    const next = reports.accept({ ...REPORT, payTo: PAYEE }, '1.2.3.4');
    expect(await codeOf(next)).toEqual([429, 'too_many_reports']);
    await reports.accept({ ...REPORT, payTo: PAYEE }, '1.2.3.5');
  });

  it.each([
    ['resource', { resource: '/weather' }],
    ['resource', { resource: undefined }],
    ['resource', { resource: 'http://localhost/' }],
    ['kind', { kind: 'spam' }],
    ['kind', { kind: ['malware'] }],
    ['payTo', { payTo: 'shop' }],
    ['payTo', { payTo: null }],
    ['network', { network: 'solana' }],
    ['network', { network: 56 }],
    ['words', { words: 'x'.repeat(501) }],
    ['words', { words: { a: 1 } }],
  ])('names the field that is wrong: %s in %j', async (field, more) => {
    await expect(reports.accept({ ...REPORT, ...more }, '1.2.3.4')).rejects.toMatchObject({
      ...{ status: 400, code: 'invalid_report', message: expect.stringMatching(`^${field}: `) },
    });
    expect(await store.open(9)).toEqual([]);
  });

  it('is off without a catalogue, and away while the database is', async () => {
    expect(await codeOf(make(undefined).accept(REPORT, '1.2.3.4'))).toEqual([404, 'reports_off']);
    expect(await codeOf(reports.accept('x', undefined))).toEqual([400, 'invalid_report']);
    const failing = new Proxy(store, {
      get: () => () => Promise.reject(new ArchiveError('database_unreachable', '08006')),
    });
    expect(await codeOf(make(failing).accept(REPORT, '1.2.3.4'))).toEqual([
      ...[503, 'catalogue_unavailable'],
    ]);
  });
});
