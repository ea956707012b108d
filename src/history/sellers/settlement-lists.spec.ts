import { describe, expect, it } from '@jest/globals';
import type { Address } from 'viem';
import { aRecorded, CLAIMED_AT, idOf } from '../../../test/builders/history/recorded-settlement.js';
import {
  MemorySettlementReader,
  rowNamed as row,
} from '../../../test/builders/history/sellers/settlement-reader.js';
import { readQuery } from '../../../test/builders/platform/http/dto.js';
import { SettlementQueryDto } from '../../facilitator/status/dto/settlement-query.dto.js';
import type { CodedError } from '../../platform/http/coded-error.js';
import { statusOf } from '../../settlement/ledger/queries/settlement-status.js';
import { ArchiveError } from '../archive.js';
import { rowOf, type SettlementRow } from '../settlement-row.js';
import { settlementOf } from './archived-settlement.js';
import { SettlementLists } from './settlement-lists.js';

const SHOP: Address = `0x${'c3'.repeat(20)}`;
const OTHER: Address = `0x${'d4'.repeat(20)}`;
const MINE = new Set([SHOP]);
const THEIRS = new Set([OTHER]);

const addressBytes = (address = OTHER) => Buffer.from(address.slice(2), 'hex');

async function problemOf(work: Promise<unknown>): Promise<[number, string, string]> {
  try {
    await work;
  } catch (error) {
    const { status, code, message } = error as CodedError;
    return [status, code, message];
  }
  throw new Error('it was answered');
}

describe('a settlement of the archive', () => {
  it.each(['finalized', 'broadcast', 'reverted'] as const)(
    'is shown as the ledger showed it: %s',
    (state) => {
      const recorded = aRecorded('a', state);
      const { view, details, blockHash, times } = recorded;
      const made = rowOf(56, 1, {
        kind: 'recorded',
        id: view.id,
        version: { ms: 1, sequence: 1 },
        settlement: recorded,
      });
      const shown = statusOf(settlementOf({ ...made, chain_id: '56' }));
      const known = details && { ...details, blockHash, times: { ...details.times, ...times } };
      expect(shown).toEqual(statusOf({ isLive: false, view, details: known }));
    },
  );

  it('is shown without its payment where the ledger had lost it', () => {
    const made = row('a', 0, { scheme: null, asset: null, pay_to: null, payer: null });
    expect(statusOf(settlementOf({ ...made, chain_id: '56' }))).not.toHaveProperty('payment');
  });
});

describe('a list of settlements', () => {
  const all = (): SettlementRow[] => [
    row('a', 0),
    row('b', 1, { state: 'reverted', is_paid: false }),
    // Of one moment: their ids decide.
    ...['c', 'd', 'e'].map((name) => row(name, 2)),
    row('strange', 3, { pay_to: addressBytes() }),
    row('f', 4, { chain_id: 97, asset: addressBytes() }),
  ];
  const lists = (rows = all()) => {
    const found = new SettlementLists({ lists: new MemorySettlementReader(rows) });
    return {
      page: async (query: object, payees: ReadonlySet<Address>) =>
        found.page(await readQuery(SettlementQueryDto, query), payees),
    };
  };
  const idsIn = ({ settlements }: Awaited<ReturnType<SettlementLists['page']>>) =>
    settlements.map(({ settlementId }) => settlementId);
  const moment = [...['c', 'd', 'e'].map(idOf)].sort((a, b) =>
    Buffer.compare(Buffer.from(b, 'base64url'), Buffer.from(a, 'base64url')),
  );
  const everything = [idOf('f'), ...moment, idOf('b'), idOf('a')];

  it("has the newest first, and only the payee's own", async () => {
    const page = await lists().page({}, MINE);
    expect(idsIn(page)).toEqual(everything);
    expect(page).not.toHaveProperty('nextCursor');
    expect(idsIn(await lists().page({}, THEIRS))).toEqual([idOf('strange')]);
  });

  it.each([1, 2, 3, 6])(
    'is the same in pages of %d, whatever is added meanwhile',
    async (limit) => {
      const rows = all();
      const seen: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await lists(rows).page(
          { limit: String(limit), ...(cursor !== undefined && { cursor }) },
          MINE,
        );
        expect(page.settlements.length).toBeLessThanOrEqual(limit);
        seen.push(...idsIn(page));
        cursor = page.nextCursor;
        rows.push(row(`new ${rows.length}`, 10 + rows.length));
      } while (cursor !== undefined);
      expect(seen).toEqual(everything);
    },
  );

  it.each([
    [{ state: 'reverted' }, ['b']],
    [{ network: 'eip155:97' }, ['f']],
    [{ asset: `0x${'D4'.repeat(20)}` }, ['f']],
    [{ payTo: `0x${'C3'.repeat(20)}`, state: 'reverted' }, ['b']],
    [{ to: new Date(CLAIMED_AT + 1).toISOString() }, ['a']],
    [{ from: new Date(CLAIMED_AT + 4).toISOString() }, ['f']],
    [{ from: '2026-11-22' }, []],
    [{ from: '2026-11-21', to: '2026-11-21T13:30:00.001+01:00' }, ['a']],
  ])('%j', async (query, names) => {
    expect(idsIn(await lists().page(query, MINE))).toEqual(names.map(idOf));
  });

  it('of a payee that the key does not see is refused, known or not', async () => {
    for (const payTo of [OTHER, `0x${'00'.repeat(20)}`]) {
      expect((await problemOf(lists().page({ payTo }, MINE))).slice(0, 2)).toEqual([
        403,
        'forbidden',
      ]);
    }
  });

  it.each([
    [{ from: 'yesterday' }, 'from must be a day'],
    [{ from: '2026-02-30' }, 'from must be a day'],
    [{ from: '2026-11-21T12:00:00' }, 'from must be a day'],
    [{ from: '1700000000' }, 'from must be a day'],
    [{ to: '1969-12-31' }, 'to must be a day'],
    [{ to: '2026-13-01' }, 'to must be a day'],
    [{ from: '2026-11-21', to: '2026-11-21' }, '`from` must be before `to`'],
    [{ from: ['2026-11-21', '2026-11-22'] }, 'from must be given once'],
    [{ state: 'paid' }, 'state must be one of'],
    [{ asset: 'USDT' }, 'asset must be an address'],
    [{ network: 'bsc' }, 'network must be a CAIP-2 name'],
    [{ limit: '0' }, 'limit must be a whole number, 1 to 500'],
    [{ limit: '501' }, 'limit must be a whole number, 1 to 500'],
    [{ limit: '1e2' }, 'limit must be a whole number, 1 to 500'],
    [{ payees: '0x' }, 'unknown parameter'],
    [{ from: 'x402_secret', state: 'x402_secret' }, 'from must be a day'],
  ])('is not one by %j', async (query: object, message) => {
    const [status, code, text] = await problemOf(lists().page(query, MINE));
    expect([status, code]).toEqual([400, 'invalid_query']);
    expect(text).toContain(message);
    expect(text).not.toContain('x402_secret');
  });

  it('takes no cursor but its own', async () => {
    const query = { limit: '1', state: 'finalized' };
    const { nextCursor = '' } = await lists().page(query, MINE);
    expect(idsIn(await lists().page({ ...query, cursor: nextCursor }, MINE))).toHaveLength(1);
    const bytes = Buffer.from(nextCursor, 'base64url');
    const flipped = (at: number) => {
      const copy = Buffer.from(bytes);
      copy.writeUInt8((bytes[at] ?? 0) ^ 1, at);
      return copy.toString('base64url');
    };
    const forged = [
      '',
      'x',
      `${nextCursor}=`,
      `${nextCursor}A`,
      nextCursor.slice(0, -1),
      '%',
      flipped(0),
      flipped(bytes.length - 1),
      'A'.repeat(1024),
      bytes.toString('hex'),
      Buffer.from(bytes).fill(0xff, 1, 7).toString('base64url'),
    ];
    for (const cursor of forged) {
      const problem = await problemOf(lists().page({ ...query, cursor }, MINE));
      expect([cursor.slice(0, 100), ...problem.slice(0, 2)]).toEqual([
        cursor.slice(0, 100),
        400,
        'invalid_cursor',
      ]);
    }
    // Of another query; the number on a page is not a part of it.
    const other = await problemOf(lists().page({ limit: '1', cursor: nextCursor }, MINE));
    expect(other[1]).toBe('invalid_cursor');
    const larger = await lists().page({ ...query, limit: '9', cursor: nextCursor }, MINE);
    expect(larger.settlements).toHaveLength(4);
  });

  it("shows only the payee's own, even with a forged cursor", async () => {
    const { nextCursor = '' } = await lists().page({ limit: '1' }, MINE);
    const bytes = Buffer.from(nextCursor, 'base64url');
    bytes.writeUIntBE(CLAIMED_AT * 2, 1, 6);
    const anywhere = bytes.toString('base64url');
    expect(idsIn(await lists().page({ cursor: anywhere }, MINE))).toEqual(everything);
    const stranger = await lists().page({ cursor: anywhere }, THEIRS);
    expect(idsIn(stranger)).toEqual([idOf('strange')]);
  });

  it('reports an outage of the archive, and does not hide a fault of this service', async () => {
    const failing = (error: Error) =>
      new SettlementLists({ lists: { page: () => Promise.reject(error) } }).page({}, MINE);
    const away = new ArchiveError('database_unreachable', 'ECONNREFUSED');
    expect((await problemOf(failing(away))).slice(0, 2)).toEqual([503, 'history_unavailable']);
    await expect(failing(new TypeError('broken'))).rejects.toThrow(TypeError);
  });

  it('is not there without a history', async () => {
    const [status, code] = await problemOf(new SettlementLists({}).page({}, MINE));
    expect([status, code]).toEqual([501, 'history_off']);
  });
});
