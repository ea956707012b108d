import { readTable } from './history-report.js';
import { type Machine, machineLine, versionsLine } from './machine.js';
import { figure, textTable } from './text-table.js';
import type { ReadCell } from './timed-gets.js';
import type { Table } from './verify-report.js';

/** What `npm run bench:discovery` found. */
export interface CatalogueReport {
  readonly name: 'discovery';
  readonly at: string;
  readonly seed: string;
  readonly machine: Machine;
  /** Its version. */
  readonly postgres: string;
  readonly filled: {
    readonly entries: number;
    readonly calls: number;
    readonly seconds: number;
    /** Of the catalogue with its indexes. */
    readonly mebibytes: number;
  };
  readonly reads: readonly (ReadCell & { readonly targetMs?: number })[];
  readonly ratings: readonly Rated[];
  readonly beside: Beside;
  readonly problems: readonly string[];
}

/** Rounds of the rater, twenty entries each. */
export interface Rated {
  readonly what: string;
  readonly rounds: number;
  /** Milliseconds of one round. */
  readonly p50: number;
  readonly most: number;
}

/** Settles at half of their ceiling, alone and with questions beside them, by one process with all roles. */
export interface Beside {
  /** Settles a second, 300 at once. */
  readonly ceiling: number;
  readonly pace: number;
  readonly asksPerSecond: number;
  readonly alone: readonly PacedSettles[];
  readonly asked: readonly PacedSettles[];
  /** The questions. */
  readonly reads: ReadCell;
}

export interface PacedSettles {
  readonly perSecond: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly failed: number;
}

/** How much of the settles was lost by the questions: 0.05 is five in a hundred. */
export function lostTo({ alone, asked }: Pick<Beside, 'alone' | 'asked'>): number {
  const mean = (runs: readonly PacedSettles[]): number =>
    runs.reduce((sum, { perSecond }) => sum + perSecond, 0) / Math.max(1, runs.length);
  const before = mean(alone);
  return before === 0 ? 1 : Math.max(0, 1 - mean(asked) / before);
}

export const LOSS_ALLOWED = 0.05;

export function catalogueTable({ reads }: Pick<CatalogueReport, 'reads'>): Table {
  return readTable({ reads });
}

export function besideTable({ beside }: Pick<CatalogueReport, 'beside'>): Table {
  const rowsOf = (what: string, runs: readonly PacedSettles[]): string[][] =>
    runs.map((run, index) => [
      `${what}, run ${index + 1}`,
      figure(run.perSecond),
      figure(run.p50),
      figure(run.p99),
      String(run.failed),
    ]);
  return [
    ['settles at half of their ceiling', 'a second', 'p50 ms', 'p99 ms', 'failed'],
    [
      ...rowsOf('alone', beside.alone),
      ...rowsOf(`${beside.asksPerSecond} questions a second beside them`, beside.asked),
    ],
  ];
}

export function catalogueFacts(report: CatalogueReport): readonly string[] {
  const { postgres, filled, ratings, beside } = report;
  const { reads } = beside;
  return [
    `PostgreSQL ${postgres}; ${filled.entries} entries and ${filled.calls} settlements of them, written in ${figure(filled.seconds)} s; the catalogue takes ${figure(filled.mebibytes)} MiB with its indexes`,
    ...ratings.map(
      ({ what, rounds, p50, most }) =>
        `The rater, ${what}: a round of twenty in ${figure(p50)} ms (median of ${rounds}, at most ${figure(most)})`,
    ),
    `One process with all roles settles ${figure(beside.ceiling)} a second; at ${figure(beside.pace)} a second ${beside.asksPerSecond} questions a second beside them cost ${figure(100 * lostTo(beside))} % of the settles (wanted: less than ${100 * LOSS_ALLOWED} %), and were answered in ${figure(reads.p50)} ms (p99 ${figure(reads.p99)} ms)`,
  ];
}

export function printCatalogueReport(report: CatalogueReport): void {
  const { machine, seed, problems } = report;
  console.log(`\nCatalogue\n\n${machineLine(machine)}\n${versionsLine(machine)}\nseed ${seed}\n`);
  console.log(catalogueFacts(report).join('\n'));
  for (const table of [catalogueTable(report), besideTable(report)]) {
    console.log(`\n${textTable(...table)}`);
  }
  for (const problem of problems) console.log(`WRONG: ${problem}`);
  console.log(problems.length === 0 ? '\nno failures' : '\nFAILED');
}
