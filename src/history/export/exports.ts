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

/** Settlements per page. An export has one page in memory, whatever its length. */
const PAGE = 1000;
/** Exports at once. Each holds a database connection while it reads a page. */
const AT_ONCE = 4;
const OF_ONE_KEY = 2;

/** A file in production. */
export interface Export {
  readonly contentType: string;
  readonly fileName: string;
  /** Produced while it is read. If the archive fails, so does the iteration: the file is then incomplete. */
  readonly bytes: AsyncIterable<Buffer>;
}

/** Exports of settlements, newest first, read page by page. */
@Injectable()
export class Exports {
  readonly #running = new Map<string, number>();

  constructor(
    @Inject(ARCHIVE_READERS)
    private readonly readers: { readonly exports?: Pick<SettlementReader, 'page'> },
  ) {}

  /**
   * Reserves a place for an export, and releases it at the end.
   *
   * @param owner - of the API key; one owner cannot take all places.
   * @param use - runs the export, after its first page was read.
   * @throws CodedError before `use` is called; afterwards errors of `use`.
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

/** Between two pages no connection and no snapshot is held, so a slow client does not load the database. */
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

/** One line of JSON for each settlement, in the form of the look-up. */
async function* ndjsonOf(
  pages: AsyncIterable<readonly Settlement[]>,
): AsyncGenerator<Buffer, void> {
  for await (const page of pages) {
    yield Buffer.from(page.map((one) => `${JSON.stringify(statusOf(one))}\n`).join(''));
  }
}

/** Spreadsheets take cells that begin with these characters for formulas. */
const FORMULA = /^[=+\-@\t\r]/;

/** CSV by RFC 4180: a header line, and one line for each settlement. */
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

/** An id may begin with a hyphen. The apostrophe makes a spreadsheet read it as text. */
export function cellOf(text: string): string {
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
