import { type Machine, machineLine, versionsLine } from './machine.js';
import { ascending, percentile, type Spread, spreadOf } from './statistics.js';
import { figure, textTable } from './text-table.js';
import { known, rangeOf, type Table } from './verify-report.js';

/** One run of one facilitator. */
export interface BesideRun {
  readonly who: string;
  readonly concurrency: number;
  readonly perSecond: number;
  readonly completed: number;
  readonly failed: number;
  readonly failures: Readonly<Record<string, number>>;
  readonly seconds: number;
  /** Milliseconds, of what was answered as it should be. */
  readonly latencies: readonly number[];
  /** Seconds of processor time: of the program and all it has started, and of Redis. */
  readonly processorSeconds: number | undefined;
  readonly redisSeconds: number | undefined;
  /** Memory of the program and all it has started when the run ended, MiB. */
  readonly residentMiB: number | undefined;
  /** Of all transactions that it told. */
  readonly gas: number | undefined;
}

/** All rounds of one facilitator at one concurrency. */
interface BesideRow {
  readonly who: string;
  readonly concurrency: number;
  readonly perSecond: Spread;
  readonly p50: number;
  readonly p99: number;
  readonly failed: number;
  readonly asked: number;
  /** For each 1000 payments that were answered as they should be; `undefined` where it cannot be read. */
  readonly processorSeconds: number | undefined;
  readonly redisSeconds: number | undefined;
  readonly residentMiB: number | undefined;
  readonly gas: number | undefined;
}

/** What `--beside` found. */
export interface BesideReport {
  readonly name: 'beside';
  readonly at: string;
  readonly path: '/verify' | '/settle';
  readonly seed: string;
  readonly machine: Machine;
  readonly rounds: number;
  readonly busyLoops: number;
  readonly rows: readonly BesideRow[];
  /** The problems of the others. */
  readonly notes: readonly string[];
  readonly problems: readonly string[];
}

export function besideRows(runs: readonly BesideRun[]): readonly BesideRow[] {
  const groups = new Map<string, BesideRun[]>();
  for (const run of runs) {
    const key = `${run.concurrency} ${run.who}`;
    groups.set(key, [...(groups.get(key) ?? []), run]);
  }
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const latencies = ascending(group.flatMap((run) => run.latencies));
    const completed = sum(group.map((run) => run.completed));
    const each = (values: readonly (number | undefined)[], per: number): number | undefined =>
      completed === 0 || values.includes(undefined)
        ? undefined
        : (sum(values.map((value) => value ?? 0)) / completed) * per;
    const resident = group.flatMap(({ residentMiB }) => residentMiB ?? []);
    const failed = sum(group.map((run) => run.failed));
    return [
      {
        who: first.who,
        concurrency: first.concurrency,
        failed,
        asked: completed + failed,
        perSecond: spreadOf(group.map(({ perSecond }) => perSecond)),
        p50: percentile(latencies, 0.5),
        p99: percentile(latencies, 0.99),
        processorSeconds: each(
          group.map((run) => run.processorSeconds),
          1000,
        ),
        redisSeconds: each(
          group.map((run) => run.redisSeconds),
          1000,
        ),
        residentMiB: resident.length === 0 ? undefined : Math.max(...resident),
        gas: each(
          group.map((run) => run.gas),
          1,
        ),
      },
    ];
  });
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

export function besideTable(rows: readonly BesideRow[]): Table {
  return [
    [
      'at once',
      'who',
      'per second',
      'spread',
      'p50 ms',
      'p99 ms',
      'failed',
      'CPU s per 1000',
      'Redis s per 1000',
      'gas each',
      'MiB',
    ],
    rows.map((row) => [
      String(row.concurrency),
      row.who,
      figure(row.perSecond.median),
      rangeOf(row.perSecond),
      figure(row.p50),
      figure(row.p99),
      `${row.failed} of ${row.asked}`,
      known(row.processorSeconds),
      known(row.redisSeconds),
      row.gas === undefined ? '' : row.gas.toFixed(0),
      row.residentMiB === undefined ? '' : row.residentMiB.toFixed(0),
    ]),
  ];
}

export function printBesideReport(report: BesideReport): void {
  const { path, machine, seed, rounds, rows, notes, problems } = report;
  console.log(`\n${path} of EIP-3009 payments, in alternation\n`);
  console.log(`${machineLine(machine)}; ${report.busyLoops} busy loops beside it`);
  console.log(`${versionsLine(machine)}\nseed ${seed}; ${rounds} rounds\n`);
  console.log(textTable(...besideTable(rows)));
  if (notes.length > 0) console.log('');
  for (const note of notes) console.log(note);
  for (const problem of problems) console.log(`WRONG: ${problem}`);
  console.log(problems.length === 0 ? '\nno failures of ours' : '\nFAILED');
}
