import { type Machine, machineLine, versionsLine } from './machine.js';
import { processorMsOf } from './processor-time.js';
import { ascending, percentile, type Spread, spreadOf } from './statistics.js';
import { figure, textTable } from './text-table.js';
import { rangeOf, type Table } from './verify-report.js';

/** The compared settings. Two are the same: the difference between them is noise. */
export const SETTINGS = ['open', 'open, a second one', 'keys on', 'keys and limits on'] as const;
export type Setting = (typeof SETTINGS)[number];

/** One run of one service. */
export interface AccessRun {
  readonly perSecond: number;
  readonly completed: number;
  /** Processor time of the service, ms; `undefined` where it cannot be read. */
  readonly processorMs: number | undefined;
  /** Milliseconds, of every request that was answered as it should be. */
  readonly latencies: readonly number[];
  readonly failed: number;
}

/** All rounds of one service at one concurrency, each compared with the open service of its round. */
interface AccessCell {
  readonly setting: Setting;
  readonly concurrency: number;
  readonly perSecond: Spread;
  readonly timesOpen: Spread;
  /** Of all rounds together, for each verify: a run is too short for the clock of the system. */
  readonly processorMs: number | undefined;
  readonly processorTimesOpen: number | undefined;
  readonly p50: number;
  readonly p99: number;
  readonly failed: number;
}

/** What `npm run bench:access` found. */
export interface AccessReport {
  readonly name: 'access';
  readonly at: string;
  readonly seed: string;
  readonly machine: Machine;
  readonly rounds: number;
  /** Processor time of the check of one key, without HTTP around it. */
  readonly keyCheckMicros: number;
  readonly cells: readonly AccessCell[];
  readonly problems: readonly string[];
}

/** @param open - the runs of the open service, of the same rounds. */
export function accessCell(
  setting: Setting,
  concurrency: number,
  runs: readonly AccessRun[],
  open: readonly AccessRun[],
): AccessCell {
  const latencies = ascending(runs.flatMap((run) => run.latencies));
  const [processorMs, openMs] = [processorMsOf(runs), processorMsOf(open)];
  return {
    setting,
    concurrency,
    perSecond: spreadOf(runs.map(({ perSecond }) => perSecond)),
    timesOpen: spreadOf(
      runs.map(({ perSecond }, round) => perSecond / (open[round]?.perSecond ?? NaN)),
    ),
    processorMs,
    processorTimesOpen:
      processorMs === undefined || openMs === undefined ? undefined : processorMs / openMs,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
    failed: runs.reduce((sum, { failed }) => sum + failed, 0),
  };
}

export function accessTable({ cells }: AccessReport): Table {
  return [
    [
      'service',
      'at once',
      'per second',
      'spread',
      'times open',
      'spread',
      'CPU ms each',
      'times open',
      'p50 ms',
      'p99 ms',
      'failed',
    ],
    cells.map((cell) => [
      cell.setting,
      String(cell.concurrency),
      figure(cell.perSecond.median),
      rangeOf(cell.perSecond),
      figure(cell.timesOpen.median),
      rangeOf(cell.timesOpen),
      cell.processorMs?.toFixed(3) ?? '?',
      cell.processorTimesOpen?.toFixed(2) ?? '?',
      figure(cell.p50),
      figure(cell.p99),
      String(cell.failed),
    ]),
  ];
}

export function accessFact({ keyCheckMicros, rounds }: AccessReport): string {
  return `The check of a key alone takes ${figure(keyCheckMicros)} µs of processor time; ${rounds} rounds`;
}

export function printAccessReport(report: AccessReport): void {
  const { machine, seed, problems } = report;
  console.log(`\nAccess\n\n${machineLine(machine)}\n${versionsLine(machine)}\nseed ${seed}\n`);
  console.log(textTable(...accessTable(report)));
  console.log(`\n${accessFact(report)}`);
  for (const problem of problems) console.log(`WRONG: ${problem}`);
  console.log(problems.length === 0 ? '\nno failures' : '\nFAILED');
}
