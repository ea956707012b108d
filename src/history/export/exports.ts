import { Inject, Injectable } from '@nestjs/common';
import type { Address } from 'viem';
import { CodedError } from '../../platform/http/coded-error.js';
import type { Settlement } from '../../settlement/ledger/queries/settlement-queries.js';
import { statusOf } from '../../settlement/ledger/queries/settlement-status.js';
import { ExportQueryDto } from '../sellers/dto/settlement-filter.dto.js';
import { fromArchive, historyOff, notYours } from '../sellers/history-problems.js';
import { filterOf, type SettlementFilter } from '../sellers/settlement-filter.js';
import {
  ARCHIVE_READERS,
  type ListedSettlement,
  type SettlementReader,
} from '../sellers/settlement-reader.js';
import { COLUMN_NAMES, exportRowOf } from './export-columns.js';

const FORMATS = {
  csv: { contentType: 'text/csv; charset=utf-8; header=present', encode: csvOf },
  ndjson: { contentType: 'application/x-ndjson', encode: ndjsonOf },
} as const satisfies Record<ExportQueryDto['format'], object>;

/** Settlements that are read at a time: what an export has in memory, however long it is. */
const PAGE = 1000;
/** Each holds a connection of the database while it reads a page. */
const AT_ONCE = 4;
const OF_ONE_KEY = 2;

/** A file that is being made. */
export interface Export {
  readonly contentType: string;
  readonly fileName: string;
  /** Made as it is taken. Fails where the archive does: what was taken is then no whole file. */
  readonly bytes: AsyncIterable<Buffer>;
}

/** Files of settlements, newest first, made page by page while they are read. */
@Injectable()
export class Exports {
  readonly #running = new Map<string, number>();

  constructor(
    @Inject(ARCHIVE_READERS)
    private readonly readers: { readonly exports?: Pick<SettlementReader, 'page'> },
  ) {}

  /**
   * Takes a place for an export, and gives it back when it is over, however it ends.
   *
   * @param owner - of the API key: one owner does not take all places.
   * @param use - has the export to itself. The first page was read by then.
   * @throws CodedError before `use` is called; then what `use` throws.
   */
  async run(
    owner: string,
    query: ExportQueryDto,
    payees: ReadonlySet<Address>,
    use: (one: Export) => Promise<void>,
  ): Promise<void> {
    const reader = this.readers.exports;
    if (reader === undefined) throw historyOff();
    const filter = filterOf(query, payees);
    if (filter === undefined) throw notYours();
    this.#begin(owner);
    try {
      const first = await fromArchive(reader.page(filter, undefined, PAGE));
      const { format } = query;
      const { contentType, encode } = FORMATS[format];
      const bytes = encode(pagesOf(reader, filter, first));
      await use({ contentType, fileName: `settlements.${format}`, bytes });
    } finally {
      this.#end(owner);
    }
  }

  #begin(owner: string): void {
    const own = this.#running.get(owner) ?? 0;
    const all = [...this.#running.values()].reduce((sum, count) => sum + count, 0);
    if (own >= OF_ONE_KEY || all >= AT_ONCE) {
      throw new CodedError(429, 'export_busy', 'Too many exports are running. Try again later.');
    }
    this.#running.set(owner, own + 1);
  }

  #end(owner: string): void {
    const left = (this.#running.get(owner) ?? 0) - 1;
    if (left > 0) this.#running.set(owner, left);
    else this.#running.delete(owner);
  }
}

/** No connection and no snapshot is held between two pages, so a slow client costs the database nothing. */
async function* pagesOf(
  reader: Pick<SettlementReader, 'page'>,
  filter: SettlementFilter,
  first: readonly ListedSettlement[],
): AsyncGenerator<readonly Settlement[], void> {
  let page = first;
  for (;;) {
    yield page.map(({ settlement }) => settlement);
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    page = await reader.page(filter, last.position, PAGE);
  }
}

/** A line of JSON for each settlement, in the form of the look-up. */
async function* ndjsonOf(
  pages: AsyncIterable<readonly Settlement[]>,
): AsyncGenerator<Buffer, void> {
  for await (const page of pages) {
    yield Buffer.from(page.map((one) => `${JSON.stringify(statusOf(one))}\n`).join(''));
  }
}

/** A spreadsheet takes a cell that begins so for a formula. */
const FORMULA = /^[=+\-@\t\r]/;

/** RFC 4180: a header, and a line for each settlement. */
export async function* csvOf(
  pages: AsyncIterable<readonly Settlement[]>,
): AsyncGenerator<Buffer, void> {
  yield Buffer.from(lineOf(COLUMN_NAMES));
  for await (const page of pages) {
    const lines = page.map((settlement) => {
      const row = exportRowOf(settlement);
      return lineOf(COLUMN_NAMES.map((name) => textOf(row[name])));
    });
    yield Buffer.from(lines.join(''));
  }
}

function lineOf(cells: readonly string[]): string {
  return `${cells.map(cellOf).join(',')}\r\n`;
}

function textOf(value: string | boolean | number | bigint | Date | undefined): string {
  if (value === undefined) return '';
  return value instanceof Date ? value.toISOString() : String(value);
}

/** An id may begin with a hyphen: an apostrophe before it tells a spreadsheet that it is text. */
export function cellOf(text: string): string {
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
