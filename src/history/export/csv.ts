import type { Settlement } from '../../settlement/ledger/queries/settlement-queries.js';
import { COLUMN_NAMES, exportRowOf } from './export-columns.js';

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
