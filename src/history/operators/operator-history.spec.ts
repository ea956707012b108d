import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Address } from 'viem';
import { MemoryOperatorArchive } from '../../../test/builders/history/operators/operator-archive.js';
import { CLAIMED_AT, idOf } from '../../../test/builders/history/recorded-settlement.js';
import { rowNamed } from '../../../test/builders/history/sellers/settlement-reader.js';
import { codeOf } from '../../../test/builders/platform/http/coded-error.js';
import { readQuery } from '../../../test/builders/platform/http/dto.js';
import type { CodedError } from '../../platform/http/coded-error.js';
import { ArchiveError } from '../archive.js';
import type { Webhook } from '../webhooks/webhook.js';
import {
  AnyDeliveriesDto,
  AuditQueryDto,
  HistorySearchDto,
  HistoryTotalsDto,
  RunQueryDto,
  RunsQueryDto,
  WebhooksQueryDto,
} from './dto/operator-query.dto.js';
import type { AuditRow, ReconciliationRun } from './operator-archive.js';
import { OperatorHistory } from './operator-history.js';

const DAY_MS = 86_400_000;
const NOW = CLAIMED_AT + DAY_MS;
const SHOP: Address = `0x${'c3'.repeat(20)}`;
const PAYER: Address = `0x${'b2'.repeat(20)}`;
const OTHER: Address = `0x${'d4'.repeat(20)}`;
const ofOther = { pay_to: Buffer.alloc(20, 0xd4), payer: Buffer.alloc(20, 0xe5) };
const SINCE = '2026-11-15';
const uuid = (index: number): string =>
  `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;

/** The history as its controller asks it. */
function asked(of: MemoryOperatorArchive | undefined, now = NOW) {
  const answers = new OperatorHistory(of, { now: () => now });
  return {
    settlements: async (query: object) =>
      answers.settlements(await readQuery(HistorySearchDto, query)),
    totals: async (query: object) => answers.totals(await readQuery(HistoryTotalsDto, query)),
    webhooks: async (query: object) => answers.webhooks(await readQuery(WebhooksQueryDto, query)),
    deliveries: async (id: string, query: object) =>
      answers.deliveries(id, await readQuery(AnyDeliveriesDto, query)),
    reconciliations: async (query: object) =>
      answers.reconciliations(await readQuery(RunsQueryDto, query)),
    reconciliation: async (id: string, query: object) =>
      answers.reconciliation(id, await readQuery(RunQueryDto, query)),
    audit: async (query: object) => answers.audit(await readQuery(AuditQueryDto, query)),
  };
}

let archive: MemoryOperatorArchive;
let history: ReturnType<typeof asked>;

beforeEach(() => {
  archive = new MemoryOperatorArchive();
  history = asked(archive);
});

async function messageOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    return (error as CodedError).message;
  }
  throw new Error('it was answered');
}

describe('a search of an operator', () => {
  beforeEach(() => {
    archive.rows.push(
      rowNamed('a', 0),
      rowNamed('b', 1, { ...ofOther, state: 'reverted', is_paid: false }),
      rowNamed('c', 1),
      // The ledger had lost what its payment was.
      rowNamed('lost', 2, { scheme: null, asset: null, pay_to: null, payer: null }),
      rowNamed('old', -100 * DAY_MS),
    );
  });

  const idsOf = async (query: object): Promise<readonly string[]> =>
    (await history.settlements(query)).settlements.map(({ settlementId }) => settlementId);
  const moment = [idOf('b'), idOf('c')].sort((a, b) =>
    Buffer.compare(Buffer.from(b, 'base64url'), Buffer.from(a, 'base64url')),
  );

  it('finds what was paid to anybody, the newest first', async () => {
    expect(await idsOf({ from: SINCE })).toEqual([idOf('lost'), ...moment, idOf('a')]);
    const [found] = (await history.settlements({ from: SINCE })).settlements;
    expect(found).toMatchObject({ source: 'archive' });
  });

  it.each([
    [{ payTo: OTHER }, ['b']],
    [{ payer: `0x${'E5'.repeat(20)}` }, ['b']],
    [{ payTo: OTHER, payer: PAYER }, []],
    [{ from: SINCE, state: 'reverted' }, ['b']],
    [{ payTo: OTHER, scheme: 'exact' }, ['b']],
    [{ payTo: OTHER, scheme: 'upto' }, []],
    [{ payTo: OTHER, action: 'claim' }, []],
    [{ from: SINCE, network: 'eip155:97' }, []],
    [{ from: '2020-01-01', payTo: SHOP, to: SINCE }, ['old']],
    [{ payTo: SHOP, state: 'finalized', to: '2026-11-21T12:30:00.001Z' }, ['a', 'old']],
  ])('%j', async (query: object, names) => {
    expect(await idsOf(query)).toEqual(names.map(idOf));
  });

  it.each([1, 2, 3])('is the same in pages of %d, whatever is added meanwhile', async (limit) => {
    const whole = await idsOf({ from: SINCE });
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const query = { from: SINCE, limit: String(limit), ...(cursor !== undefined && { cursor }) };
      const page = await history.settlements(query);
      seen.push(...page.settlements.map(({ settlementId }) => settlementId));
      cursor = page.nextCursor;
      archive.rows.push(rowNamed(`new ${seen.length}`, 10 + seen.length));
    } while (cursor !== undefined);
    expect(seen).toEqual(whole);
  });

  it('goes on although its time has become too long meanwhile', async () => {
    const from = new Date(NOW - 92 * DAY_MS).toISOString();
    const { nextCursor = '' } = await history.settlements({ from, limit: '1' });
    const later = asked(archive, NOW + 1);
    const query = { from, limit: '1' };
    expect(await codeOf(later.settlements(query))).toEqual([400, 'invalid_query']);
    const page = await later.settlements({ ...query, cursor: nextCursor });
    expect(page.settlements).toHaveLength(1);
  });

  it('takes no cursor of another search', async () => {
    const { nextCursor: cursor } = await history.settlements({ payer: PAYER, limit: '1' });
    expect(cursor).toBeDefined();
    for (const other of [{ payTo: SHOP }, { payer: OTHER }, { payer: PAYER, state: 'queued' }]) {
      const asked = history.settlements({ ...other, limit: '1', cursor });
      expect(await codeOf(asked)).toEqual([400, 'invalid_cursor']);
    }
  });

  it.each([
    [{}, '`from` is required without `payTo` and `payer`'],
    [{ state: 'reverted' }, '`from` is required'],
    [{ from: '2026-08-01' }, '`from` must be at most 92 days before `to`'],
    [{ from: '2020-01-01', to: '2021-01-01' }, '`from` must be at most 92 days before `to`'],
    [{ from: '2026-11-20', to: '2026-11-20' }, '`from` must be before `to`'],
    [{ from: '-1' }, 'from must be a day'],
    [{ from: '99999999999999999999' }, 'from must be a day'],
    [{ payTo: `${SHOP}00` }, 'payTo must be an address'],
    [{ payTo: 'javascript:alert(1)' }, 'payTo must be an address'],
    [{ payer: ['a', 'b'] }, 'payer must be given once'],
    [{ payer: { x: '1' } }, 'payer must be an address'],
    [{ payTo: SHOP, limit: '-1' }, 'limit must be a whole number, 1 to 100'],
    [{ payTo: SHOP, limit: '101' }, 'limit must be a whole number, 1 to 100'],
    [{ payTo: SHOP, limit: '1e99' }, 'limit must be a whole number, 1 to 100'],
    [{ payTo: SHOP, state: 'paid' }, 'state must be one of'],
    [{ payTo: SHOP, network: 'eip155:99999999999999999999' }, 'network must be a CAIP-2'],
    [{ payTo: SHOP, payees: SHOP }, 'unknown parameter'],
  ])('is refused for %j', async (query: object, message) => {
    expect(await codeOf(history.settlements(query))).toEqual([400, 'invalid_query']);
    expect(await messageOf(history.settlements(query))).toContain(message);
  });
});

describe('totals of an operator', () => {
  beforeEach(() => {
    archive.rows.push(
      rowNamed('a', 0, { amount: '7' }),
      rowNamed('b', 1, { ...ofOther, amount: '5' }),
      rowNamed('c', -DAY_MS, { amount: '3' }),
      rowNamed('lost', 2, { scheme: null, asset: null, pay_to: null, payer: null }),
    );
  });

  it('are of all payees, a day each', async () => {
    const { groupBy, totals } = await history.totals({ from: SINCE });
    expect(groupBy).toEqual(['day', 'asset']);
    expect(totals.map(({ day, paid }) => [day, paid])).toEqual([
      ['2026-11-21', { count: '2', amount: '12' }],
      ['2026-11-20', { count: '1', amount: '3' }],
    ]);
  });

  it('are of one payee where it is named, and of a longer time', async () => {
    const asked = { from: '2026-01-01', payTo: SHOP };
    const { totals } = await history.totals({ ...asked, groupBy: 'asset' });
    expect(totals.map(({ paid }) => paid)).toEqual([{ count: '2', amount: '10' }]);
    expect(await codeOf(history.totals({ from: '2026-01-01' }))).toEqual([400, 'invalid_query']);
    expect(await codeOf(history.totals({ ...asked, from: '2025-01-01' }))).toEqual([
      400,
      'invalid_query',
    ]);
  });
});

describe('webhooks of an operator', () => {
  const webhook = (index: number, more: Partial<Webhook> = {}): Webhook => ({
    id: `we_${index}`,
    owner: 'shop',
    url: 'https://shop.example',
    description: '',
    payees: [SHOP],
    events: [],
    secretNames: ['ws_1'],
    createdAt: new Date(0),
    confirmedAt: undefined,
    failingSince: undefined,
    disabled: undefined,
    ...more,
  });
  const state = (one: Webhook) => ({
    webhook: one,
    last: undefined,
    backlog: { waiting: 0, isMore: false, firstDueAt: undefined },
  });

  beforeEach(() => {
    const disabled = { at: new Date(0), reason: 'gone' } as const;
    archive.states.push(
      state(webhook(1)),
      state(webhook(2, { failingSince: new Date(0) })),
      state(webhook(3, { disabled, failingSince: new Date(0), owner: 'other' })),
    );
  });
  const idsOf = async (query: object): Promise<readonly unknown[]> =>
    (await history.webhooks(query)).webhooks.map(({ id }) => id);

  it.each([
    [{}, ['we_1', 'we_2', 'we_3']],
    [{ status: 'enabled' }, ['we_1']],
    [{ status: 'failing' }, ['we_2']],
    [{ status: 'disabled' }, ['we_3']],
    [{ owner: 'other' }, ['we_3']],
    [{ after: 'we_1', limit: '1' }, ['we_2']],
  ])('%j', async (query: object, ids) => {
    expect(await idsOf(query)).toEqual(ids);
  });

  it('say where the next page begins, and on the last page nothing', async () => {
    expect(await history.webhooks({ limit: '2' })).toMatchObject({ next: 'we_2' });
    expect(await history.webhooks({ limit: '3' })).not.toHaveProperty('next');
  });

  it.each([
    [{ status: 'broken' }, 'status must be one of'],
    [{ after: '../x' }, 'after must be the id of a webhook'],
    [{ owner: 'a\u0000b' }, 'owner must be 1 to 128'],
    [{ owner: '' }, 'owner must be 1 to 128'],
  ])('are refused for %j', async (query: object, message) => {
    expect(await messageOf(history.webhooks(query))).toContain(message);
  });

  it('have deliveries, which begin at an event that is known', async () => {
    expect(await history.deliveries('we_1', {})).toEqual({ deliveries: [] });
    expect(await history.deliveries(`we_'; drop`, {})).toBeUndefined();
    const before = `evt_${'a'.repeat(32)}`;
    expect(await codeOf(history.deliveries('we_1', { before }))).toEqual([400, 'invalid_cursor']);
    expect(await codeOf(history.deliveries('we_1', { before: 'x' }))).toEqual([
      400,
      'invalid_query',
    ]);
  });
});

describe('runs of the reconciliation', () => {
  const run = (id: string, chainId = 56): ReconciliationRun => ({
    id,
    chainId,
    startedBy: 'daily',
    from: new Date(0),
    to: new Date(1),
    blocks: undefined,
    settlements: 2,
    transactions: 1,
    counts: { amount_differs: 2 },
    differences: 2,
    startedAt: new Date(2),
    finishedAt: new Date(3),
  });

  beforeEach(() => {
    archive.kept.push(run('1'), run('2', 97), run('3'));
    for (const number of [1, 2, 3]) {
      archive.differences.push({
        runId: '3',
        number,
        name: number === 3 ? 'of_tomorrow' : 'amount_differs',
        isNote: false,
        settlementId: idOf('a'),
        transaction: undefined,
        logIndex: undefined,
        block: '7',
        lane: undefined,
        expected: '<img src=x>',
        found: '6',
      });
    }
  });

  it('come newest first, page by page', async () => {
    const { runs, next } = await history.reconciliations({ limit: '2' });
    expect(runs.map(({ id }) => id)).toEqual(['3', '2']);
    expect(next).toBe('2');
    const rest = await history.reconciliations({ limit: '2', before: '2' });
    expect(rest).toMatchObject({ runs: [{ id: '1', network: 'eip155:56' }] });
    expect(rest).not.toHaveProperty('next');
    expect(await history.reconciliations({ network: 'eip155:97' })).toMatchObject({
      runs: [{ id: '2' }],
    });
  });

  it('name what they found, and say what each name means', async () => {
    const first = await history.reconciliation('3', { limit: '2' });
    expect(first).toMatchObject({
      id: '3',
      differences: 2,
      next: '2',
      found: [
        { name: 'amount_differs', meaning: 'The transfer is of another amount.' },
        { number: 2, expected: '<img src=x>' },
      ],
    });
    const rest = await history.reconciliation('3', { after: '2' });
    expect(rest).toMatchObject({ found: [{ name: 'of_tomorrow' }] });
    expect((rest?.found as object[])[0]).not.toHaveProperty('meaning');
    for (const id of ['4', '0', '-1', '1.5', '9'.repeat(30), 'x']) {
      expect(await history.reconciliation(id, {})).toBeUndefined();
    }
  });

  it.each([{ before: '-1' }, { before: '9'.repeat(19) }, { before: '0' }])(
    'begin nowhere by %j',
    async (query) => {
      expect(await codeOf(history.reconciliations(query))).toEqual([400, 'invalid_query']);
    },
  );

  it.each([{ after: '-1' }, { after: '4294967296' }, { after: '01' }])(
    'have no differences after %j',
    async (query) => {
      expect(await codeOf(history.reconciliation('3', query))).toEqual([400, 'invalid_query']);
    },
  );
});

describe('what operators did', () => {
  const action = (index: number, more: Partial<AuditRow> = {}): AuditRow => ({
    id: uuid(index),
    chainId: 56,
    at: new Date(CLAIMED_AT + index),
    by: 'night-shift',
    action: 'lane_paused',
    subject: `56:${SHOP}`,
    ...more,
  });

  beforeEach(() => {
    archive.audit.push(action(1), action(2, { by: 'day-shift', chainId: 97 }), action(3));
  });

  it('comes newest first, page by page, of whom and when is asked', async () => {
    const first = await history.audit({ limit: '2' });
    expect(first).toMatchObject({ actions: [{ id: uuid(3) }, { id: uuid(2) }], next: uuid(2) });
    expect(await history.audit({ before: uuid(2) })).toMatchObject({
      actions: [{ id: uuid(1), network: 'eip155:56', by: 'night-shift' }],
    });
    expect((await history.audit({ by: 'day-shift' })).actions).toHaveLength(1);
    expect((await history.audit({ subject: `56:${SHOP}` })).actions).toHaveLength(3);
    expect((await history.audit({ to: '2026-11-21' })).actions).toEqual([]);
  });

  it('begins at an action that is known', async () => {
    expect(await codeOf(history.audit({ before: uuid(9) }))).toEqual([400, 'invalid_cursor']);
    expect(await codeOf(history.audit({ before: '1' }))).toEqual([400, 'invalid_query']);
    const turned = { from: '2026-11-22', to: '2026-11-21' };
    expect(await codeOf(history.audit(turned))).toEqual([400, 'invalid_query']);
  });
});

describe('a history', () => {
  const questions = (of: ReturnType<typeof asked>): readonly Promise<unknown>[] => [
    of.settlements({ from: SINCE }),
    of.totals({ from: SINCE }),
    of.webhooks({}),
    of.deliveries('we_1', {}),
    of.reconciliations({}),
    of.reconciliation('1', {}),
    of.audit({}),
  ];

  it.each([
    [new ArchiveError('database_unreachable', 'ECONNREFUSED'), 'history_unavailable'],
    [new ArchiveError('schema_outdated', '42P01'), 'history_unavailable'],
    [new ArchiveError('database_failed', '57014'), 'history_too_slow'],
  ])('that fails is reported: %s', async (trouble, code) => {
    archive.trouble = trouble;
    const codes = await Promise.all(questions(history).map(codeOf));
    expect(codes).toEqual(codes.map(() => [503, code]));
  });

  it('that is missing is reported by every request', async () => {
    const off = asked(undefined);
    const codes = await Promise.all(questions(off).map(codeOf));
    expect(codes).toEqual(codes.map(() => [501, 'history_off']));
  });

  it('does not hide a fault of this service', async () => {
    archive.trouble = new TypeError('a fault');
    await expect(history.audit({})).rejects.toBe(archive.trouble);
  });
});
