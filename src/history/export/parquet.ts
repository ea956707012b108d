import type { SchemaElement } from 'hyparquet';
import type { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import type { Settlement } from '../../settlement/ledger/queries/settlement-queries.js';
import {
  COLUMN_NAMES,
  type ColumnType,
  EXPORT_COLUMNS,
  type ExportRow,
  exportRowOf,
} from './export-columns.js';

type Primitive = Pick<SchemaElement, 'type' | 'converted_type'>;

const PRIMITIVES: Readonly<Record<ColumnType, Primitive>> = {
  // No decimal of Parquet that readers take is wide enough for an amount.
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  flag: { type: 'BOOLEAN' },
  small: { type: 'INT32' },
  large: { type: 'INT64' },
  time: { type: 'INT64', converted_type: 'TIMESTAMP_MILLIS' },
};

const SCHEMA: SchemaElement[] = [
  { name: 'settlements', num_children: COLUMN_NAMES.length },
  ...COLUMN_NAMES.map((name): SchemaElement => {
    return { name, repetition_type: 'OPTIONAL', ...PRIMITIVES[EXPORT_COLUMNS[name]] };
  }),
];

/**
 * Apache Parquet, a group of rows for each page. Larger groups would make smaller files, and hold up every other
 * request of the process for longer. Of each group some 10 KB are kept until the end, where the file names it.
 */
export async function* parquetOf(
  pages: AsyncIterable<readonly Settlement[]>,
): AsyncGenerator<Buffer, void> {
  // For those who export: what is loaded stays in memory.
  const { ByteWriter, ParquetWriter } = await import('hyparquet-writer');
  const writer = new ByteWriter();
  const file = new ParquetWriter({ writer, schema: SCHEMA, statistics: false });
  for await (const page of pages) {
    if (page.length === 0) continue;
    await file.write(groupOf(page.map(exportRowOf)));
    yield taken(writer);
  }
  await file.finish();
  yield taken(writer);
}

function groupOf(rows: readonly ExportRow[]): Parameters<ParquetWriter['write']>[0] {
  return {
    rowGroupSize: rows.length,
    columnData: COLUMN_NAMES.map((name) => ({
      name,
      data: rows.map((row) => row[name] ?? null),
      // One page a group needs no index.
      offsetIndex: false,
    })),
  };
}

/** What was written since; the writer goes on with its buffer, and counts on. */
function taken(writer: ByteWriter): Buffer {
  const bytes = Buffer.from(writer.getBytes());
  writer.index = 0;
  return bytes;
}
