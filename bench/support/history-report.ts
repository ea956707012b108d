import { type Machine, machineLine, versionsLine } from './machine.js';
import type { Busyness } from './processor-time.js';
import { figure, textTable } from './text-table.js';
import type { ReadCell } from './timed-gets.js';
import { busynessLine, type Table } from './verify-report.js';

/** What `npm run bench:history` found. */
export interface HistoryReport {
  readonly name: 'history';
  readonly at: string;
  readonly seed: string;
  readonly machine: Machine;
  /** Its version. */
  readonly postgres: string;
  readonly settled: Settled;
  readonly drains: readonly Drain[];
  readonly reconciled: Reconciled;
  readonly filled: Fill;
  readonly archivedSizes: Sizes;
  readonly sizes: Sizes;
  readonly reads: readonly (ReadCell & { readonly targetMs?: number })[];
  readonly totals: readonly Counted[];
  readonly exports: readonly Exported[];
  readonly books: BooksRead;
  readonly problems: readonly string[];
}

/** Really settled, on the local chain, with what was to be archived noted and nothing archived meanwhile. */
export interface Settled {
  readonly settlements: number;
  readonly perSecond: number;
  readonly concurrency: number;
}

/** One archiver working off what had gathered. */
export interface Drain {
  /** What else happened. */
  readonly beside: 'nothing' | 'settles';
  /** Changes that were noted. */
  readonly entries: number;
  /** How many settlements they were of. */
  readonly settlements: number;
  readonly seconds: number;
  readonly cores: Busyness;
}

export interface Reconciled {
  readonly settlements: number;
  readonly seconds: number;
  readonly exitCode: number;
}

interface Fill {
  readonly rows: number;
  readonly seconds: number;
  readonly months: number;
}

/** Bytes of the tables that grow with settlements. */
export interface Sizes {
  readonly rows: number;
  readonly table: number;
  readonly idTable: number;
  /** By name. */
  readonly indexes: Readonly<Record<string, number>>;
}

export interface Counted {
  readonly what: string;
  readonly settlements: number;
  readonly ms: number;
}

export interface Exported {
  readonly format: string;
  readonly rows: number;
  readonly seconds: number;
  /** Until the first byte. */
  readonly firstMs: number;
  readonly mebibytes: number;
}

/** The part of the database in the reconciliation of a day. */
export interface BooksRead {
  readonly settlements: number;
  readonly seconds: number;
  /** Of one page. */
  readonly cell: ReadCell;
}

export function bytesEach({ rows, table, idTable, indexes }: Sizes): {
  readonly tables: number;
  readonly indexes: number;
  readonly all: number;
} {
  const ofIndexes = Object.values(indexes).reduce((sum, one) => sum + one, 0);
  return {
    tables: (table + idTable) / rows,
    indexes: ofIndexes / rows,
    all: (table + idTable + ofIndexes) / rows,
  };
}

/** Settlements a second that an archiver keeps up with. */
export function archivedPerSecond({ settlements, seconds }: Drain): number {
  return settlements / seconds;
}

export function readTable({ reads }: Pick<HistoryReport, 'reads'>): Table {
  return [
    [
      'asked',
      'at once',
      'answers',
      'per second',
      'p50 ms',
      'p99 ms',
      'most ms',
      'CPU ms each: service',
      'PostgreSQL',
      'target of p99',
    ],
    reads.map((cell) => [
      cell.what,
      String(cell.concurrency),
      String(cell.requests),
      figure(cell.perSecond),
      figure(cell.p50),
      figure(cell.p99),
      figure(cell.most),
      ...['service', 'postgres'].map((name) => figure(cell.processorMs[name] ?? 0)),
      cell.targetMs === undefined
        ? ''
        : `${cell.targetMs} ms: ${cell.p99 < cell.targetMs ? 'met' : 'missed'}`,
    ]),
  ];
}

export function indexTable({ sizes }: Pick<HistoryReport, 'sizes'>): Table {
  const { rows, table, idTable, indexes } = sizes;
  const all: (readonly [string, number])[] = [
    ['rows of `settlements`', table],
    ['rows of `settlement_ids`', idTable],
    ...Object.entries(indexes)
      .sort(([, a], [, b]) => b - a)
      .map(([name, bytes]) => [`index \`${name}\``, bytes] as const),
  ];
  return [['what', 'bytes a row'], all.map(([name, bytes]) => [name, (bytes / rows).toFixed(0)])];
}

export function exportTable({ exports, totals }: Pick<HistoryReport, 'exports' | 'totals'>): Table {
  return [
    ['asked', 'settlements', 'seconds', 'settlements a second', 'MiB', 'first byte, ms'],
    [
      ...exports.map((one) => [
        `export, ${one.format}`,
        String(one.rows),
        figure(one.seconds),
        figure(one.rows / one.seconds),
        figure(one.mebibytes),
        figure(one.firstMs),
      ]),
      ...totals.map(({ what, settlements, ms }) => [
        `totals: ${what}`,
        String(settlements),
        figure(ms / 1000),
        figure((settlements / ms) * 1000),
        '',
        '',
      ]),
    ],
  ];
}

export function historyFacts(report: HistoryReport): readonly string[] {
  const { postgres, settled, drains, reconciled, filled, archivedSizes, sizes, books } = report;
  const each = bytesEach(sizes);
  return [
    `PostgreSQL ${postgres}; ${settled.settlements} settlements were settled at ${figure(settled.perSecond)} a second, ${settled.concurrency} at once, with what is to be archived noted and nothing archived beside it`,
    ...drains.map((drain) => {
      const perSecond = archivedPerSecond(drain);
      return `One archiver, ${drain.beside} beside it: ${drain.entries} changes of ${drain.settlements} settlements in ${figure(drain.seconds)} s, ${figure(drain.entries / drain.seconds)} changes and ${figure(perSecond)} settlements a second, ${figure(perSecond / settled.perSecond)} times the settle rate; cores busy: ${busynessLine(drain.cores)}`;
    }),
    `\`npm run reconcile\` over ${reconciled.settlements} of them: ${figure(reconciled.seconds)} s, ${figure(reconciled.settlements / reconciled.seconds)} settlements a second, exit code ${reconciled.exitCode}`,
    `${filled.rows} rows over ${filled.months} months, copied from these by the database in ${figure(filled.seconds)} s, ${figure(filled.rows / filled.seconds)} a second`,
    `A row of ${sizes.rows} takes ${figure(each.all)} bytes: ${figure(each.tables)} in the tables and ${figure(each.indexes)} in indexes. A row of the ${archivedSizes.rows} that were archived before them, change by change, took ${figure(bytesEach(archivedSizes).all)}`,
    `What a reconciliation reads of one day beside them: ${books.settlements} settlements in ${figure(books.seconds)} s, a page of 500 in ${figure(books.cell.p50)} ms (p99 ${figure(books.cell.p99)} ms)`,
  ];
}

export function printHistoryReport(report: HistoryReport): void {
  const { machine, seed, problems } = report;
  console.log(`\nHistory\n\n${machineLine(machine)}\n${versionsLine(machine)}\nseed ${seed}\n`);
  console.log(historyFacts(report).join('\n'));
  for (const table of [readTable(report), exportTable(report), indexTable(report)]) {
    console.log(`\n${textTable(...table)}`);
  }
  for (const problem of problems) console.log(`WRONG: ${problem}`);
  console.log(problems.length === 0 ? '\nno failures' : '\nFAILED');
}
