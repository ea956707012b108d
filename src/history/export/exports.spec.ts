import { describe, expect, it } from '@jest/globals';
import type { Address } from 'viem';
import { aRecorded, CLAIMED_AT, idOf } from '../../../test/builders/history/recorded-settlement.js';
import {
  MemorySettlementReader,
  rowNamed,
} from '../../../test/builders/history/sellers/settlement-reader.js';
import { codeOf } from '../../../test/builders/platform/http/coded-error.js';
import { readQuery } from '../../../test/builders/platform/http/dto.js';
import type { Settlement } from '../../settlement/ledger/queries/settlement-queries.js';
import { statusOf } from '../../settlement/ledger/queries/settlement-status.js';
import { ArchiveError } from '../archive.js';
import { ExportQueryDto } from '../sellers/dto/settlement-filter.dto.js';
import { COLUMN_NAMES } from './export-columns.js';
import { cellOf, csvOf, Exports } from './exports.js';

const SHOP: Address = `0x${'c3'.repeat(20)}`;
const MINE = new Set([SHOP]);
const SMALL = { format: 'csv', from: '2030-01-01' } as const;
const MOST = (2n ** 256n - 1n).toString();

/** Several pages of the archive, and one row of a stranger. */
const ROWS = [
  ...Array.from({ length: 2500 }, (_, index) => rowNamed(`s${index}`, index)),
  rowNamed('failed', -1, {
    state: 'reverted',
    is_paid: false,
    reason: 'expired',
    block_number: null,
    block_hash: null,
    log_index: null,
    included_at: null,
  }),
  rowNamed('part', -2, { settled_amount: '400' }),
  rowNamed('strange', 7, { pay_to: Buffer.alloc(20, 0xee) }),
];
const NEWEST_FIRST = [
  ...Array.from({ length: 2500 }, (_, index) => idOf(`s${2499 - index}`)),
  idOf('failed'),
  idOf('part'),
];

/** A memory that sorts once. */
function readerOf(rows = ROWS) {
  const memory = new MemorySettlementReader(rows);
  const asked: number[] = [];
  return {
    asked,
    page: (...args: Parameters<MemorySettlementReader['page']>) => {
      asked.push(args[2]);
      return memory.page(...args);
    },
  };
}

async function collected(bytes: AsyncIterable<Buffer>): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of bytes) pieces.push(piece);
  return Buffer.concat(pieces);
}

async function fileOf(
  query: object,
  exports = new Exports({ exports: readerOf() }),
): Promise<Buffer> {
  let file: Buffer = Buffer.alloc(0);
  const asked = await readQuery(ExportQueryDto, query);
  await exports.run('shop', asked, MINE, async ({ bytes }) => {
    file = await collected(bytes);
  });
  return file;
}

describe('an export', () => {
  it('as NDJSON has every settlement once, newest first, as the look-up shows it', async () => {
    const lines = (await fileOf({ format: 'ndjson' })).toString().split('\n');
    expect(lines.pop()).toBe('');
    const read = lines.map((line) => JSON.parse(line) as { settlementId: string });
    expect(read.map(({ settlementId }) => settlementId)).toEqual(NEWEST_FIRST);
    expect(read[0]).toMatchObject({ state: 'finalized', payment: { payTo: SHOP, amount: MOST } });
  });

  it('as CSV has a header, and amounts in full', async () => {
    const lines = (await fileOf({ format: 'csv' })).toString().split('\r\n');
    expect(lines.pop()).toBe('');
    const cells = lines.map((line) => line.split(','));
    expect(cells[0]).toEqual(COLUMN_NAMES);
    expect(cells.slice(1).map(([id]) => id?.replace(/^'/, ''))).toEqual(NEWEST_FIRST);
    expect(new Set(cells.map(({ length }) => length))).toEqual(new Set([COLUMN_NAMES.length]));
    const at = (name: string, row: number) => cells.at(row)?.[COLUMN_NAMES.indexOf(name as never)];
    expect([at('authorized', -1), at('amount', -1)]).toEqual([MOST, '400']);
    expect([at('state', -2), at('amount', -2), at('blockNumber', -2)]).toEqual([
      'reverted',
      '',
      '',
    ]);
    expect([at('amount', 1), at('paid', 1), at('logIndex', 1)]).toEqual([MOST, 'true', '3']);
    expect(at('claimedAt', -1)).toBe(new Date(CLAIMED_AT - 2).toISOString());
  });

  it.each(['csv', 'ndjson'])('of nothing is a whole file too: %s', async (format) => {
    const bytes = await fileOf({ format, from: '2030-01-01' });
    if (format === 'csv') expect(bytes.toString()).toBe(`${COLUMN_NAMES.join(',')}\r\n`);
    if (format === 'ndjson') expect(bytes).toHaveLength(0);
  });

  it('is read no faster than it is taken', async () => {
    const reader = readerOf();
    await new Exports({ exports: reader }).run(
      'shop',
      { format: 'ndjson' },
      MINE,
      async ({ bytes }) => {
        const iterator = bytes[Symbol.asyncIterator]();
        await iterator.next();
        await new Promise(setImmediate);
        // The first page, of three.
        expect(reader.asked).toHaveLength(1);
        await iterator.next();
        expect(reader.asked).toHaveLength(2);
        await iterator.return?.();
      },
    );
    expect(reader.asked).toHaveLength(2);
  });

  it('fails where the archive does, and has no end then', async () => {
    const memory = readerOf();
    let pages = 0;
    const failing = {
      page: (...args: Parameters<MemorySettlementReader['page']>) => {
        pages += 1;
        return pages > 2
          ? Promise.reject(new ArchiveError('database_unreachable', '57P01'))
          : memory.page(...args);
      },
    };
    await expect(fileOf({ format: 'ndjson' }, new Exports({ exports: failing }))).rejects.toThrow(
      ArchiveError,
    );
    // Before the first row is sent, a failure is an error answer.
    const first = new Exports({
      exports: { page: () => Promise.reject(new ArchiveError('database_failed', '')) },
    });
    expect(await codeOf(fileOf({ format: 'csv' }, first))).toEqual([503, 'history_unavailable']);
  });

  it('has a place, of which one key does not take all, and gives it back', async () => {
    const exports = new Exports({ exports: readerOf() });
    const ends: (() => void)[] = [];
    const running: Promise<void>[] = [];
    const start = (owner: string): Promise<void> =>
      new Promise((begun, failed) => {
        const work = exports.run(owner, SMALL, MINE, () => {
          begun();
          return new Promise((end) => ends.push(end));
        });
        work.catch(failed);
        running.push(work);
      });
    await start('shop');
    await start('shop');
    const refused = [429, 'export_busy'];
    expect(await codeOf(fileOf(SMALL, exports))).toEqual(refused);
    await start('a');
    await start('b');
    expect(await codeOf(exports.run('c', SMALL, MINE, never))).toEqual(refused);
    for (const end of ends) end();
    await Promise.all(running);
    expect((await fileOf(SMALL, exports)).length).toBeGreaterThan(100);
    // One that fails gives it back as well.
    for (let count = 0; count < 5; count += 1) {
      const broken = exports.run('shop', SMALL, MINE, () => Promise.reject(new Error('x')));
      await expect(broken).rejects.toThrow('x');
    }
  });

  it.each([
    [{}, [400, 'invalid_query']],
    [{ format: 'xlsx' }, [400, 'invalid_query']],
    [{ format: 'csv', limit: '5' }, [400, 'invalid_query']],
    [{ format: 'csv', from: 'now' }, [400, 'invalid_query']],
    [{ format: 'csv', payTo: `0x${'ee'.repeat(20)}` }, [403, 'forbidden']],
  ])('is refused for %j', async (query: object, wanted) => {
    const exports = new Exports({ exports: readerOf() });
    for (let count = 0; count < 3; count += 1) {
      expect(await codeOf(fileOf(query, exports))).toEqual(wanted);
    }
  });

  it('is not there without a history', async () => {
    const off = new Exports({}).run('shop', { format: 'csv' }, MINE, never);
    expect(await codeOf(off)).toEqual([501, 'history_off']);
  });
});

const never = (): Promise<void> => Promise.reject(new Error('it was begun'));

describe('a cell of a CSV file', () => {
  it.each([
    ['plain', 'plain'],
    ['', ''],
    ['=1+1', "'=1+1"],
    ['+1', "'+1"],
    ['-1', "'-1"],
    ['@SUM(A1)', "'@SUM(A1)"],
    ['\t=1', "'\t=1"],
    ['\r=1', `"'\r=1"`],
    ['a,b', '"a,b"'],
    ['a "b"', '"a ""b"""'],
    ['a\nb', '"a\nb"'],
    ['=HYPERLINK("x","y")', `"'=HYPERLINK(""x"",""y"")"`],
    ['a-b', 'a-b'],
  ])('%j', (text, cell) => {
    expect(cellOf(text)).toBe(cell);
  });

  it('is never a formula, whatever the id of a settlement begins with', async () => {
    const { view, details } = aRecorded('a', 'finalized');
    const settlement: Settlement = {
      isLive: false,
      view: { ...view, id: `-${view.id.slice(1)}` },
      details,
    };
    const file = await collected(csvOf(pagesOf([settlement])));
    expect(file.toString().split('\r\n')[1]).toMatch(/^'-/);
    expect(statusOf(settlement).settlementId).toMatch(/^-/);
  });
});

// eslint-disable-next-line @typescript-eslint/require-await
async function* pagesOf(...pages: (readonly Settlement[])[]) {
  yield* pages;
}
