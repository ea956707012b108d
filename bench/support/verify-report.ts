import type { Baseline } from './baselines.js';
import type { Cell, Ratio } from './comparison.js';
import { type Machine, machineLine, versionsLine } from './machine.js';
import type { Busyness } from './processor-time.js';
import type { Spread } from './statistics.js';
import { figure, textTable } from './text-table.js';

/** Throughput through one port with one and with two processes behind it. */
export interface Scaling {
  readonly one: Spread;
  readonly two: Spread;
  readonly factor: Spread;
  /** With two. */
  readonly busyness: Busyness;
}

/** What `npm run bench:verify` found. */
export interface VerifyReport {
  readonly name: 'verify';
  readonly at: string;
  readonly seed: string;
  readonly machine: Machine;
  readonly cells: readonly Cell[];
  readonly baselines: readonly Baseline[];
  /** While EIP-3009 was verified at concurrency 32. */
  readonly busyness: Busyness;
  readonly scaling: Scaling;
  readonly ratios: readonly Ratio[];
  /** Empty when every answer was right. */
  readonly problems: readonly string[];
  readonly seconds: number;
}

export type Table = readonly [head: readonly string[], rows: readonly (readonly string[])[]];

export function cellTable(cells: readonly Cell[]): Table {
  return [
    [
      'payment',
      'at once',
      'who',
      'per second',
      'spread',
      'p50 ms',
      'p95 ms',
      'p99 ms',
      'failed',
      'CPU ms each',
    ],
    cells.map((cell) => [
      cell.kind,
      String(cell.concurrency),
      cell.contestant,
      figure(cell.perSecond.median),
      rangeOf(cell.perSecond),
      figure(cell.p50),
      figure(cell.p95),
      figure(cell.p99),
      String(cell.failed),
      known(cell.processorMs),
    ]),
  ];
}

export function baselineTable(baselines: readonly Baseline[]): Table {
  return [
    ['alone', 'per second', 'ms each'],
    baselines.map(({ name, perSecond }) => [name, figure(perSecond), figure(1000 / perSecond)]),
  ];
}

export function ratioTable(ratios: readonly Ratio[]): Table {
  return [
    [
      'payment',
      'at once',
      'throughput, times the reference',
      'spread',
      'our p99 / its p50',
      'its CPU time / ours',
    ],
    ratios.map(({ kind, concurrency, throughput, p99OverItsP50, processorTime }) => [
      kind,
      String(concurrency),
      figure(throughput.median),
      rangeOf(throughput),
      figure(p99OverItsP50),
      known(processorTime),
    ]),
  ];
}

export function known(value: number | undefined): string {
  return value === undefined ? '' : figure(value);
}

export function rangeOf({ least, most }: Spread): string {
  return `${figure(least)}-${figure(most)}`;
}

export function busynessLine(busyness: Busyness): string {
  return Object.entries(busyness)
    .map(([name, cores]) => `${name} ${cores.toFixed(2)}`)
    .join(', ');
}

export function printHead(title: string, machine: Machine, seed: string, rounds: number): void {
  console.log(`\n${title}\n`);
  console.log(machineLine(machine));
  console.log(versionsLine(machine));
  console.log(`seed ${seed}; median of ${rounds} rounds; ours and the reference in alternation\n`);
}

export function printVerifyReport(report: VerifyReport): void {
  const { machine, seed, cells, baselines, busyness, scaling, ratios, problems } = report;
  printHead('Verify', machine, seed, cells[0]?.runs.length ?? 0);
  console.log(textTable(...cellTable(cells)));
  console.log(`\nCores busy with EIP-3009 at 32: ${busynessLine(busyness)}\n`);
  console.log(textTable(...baselineTable(baselines)));
  console.log(
    `\nBehind one port, EIP-3009 at 32: one process ${figure(scaling.one.median)}/s, two ${figure(scaling.two.median)}/s;` +
      ` ${figure(scaling.factor.median)} times (${rangeOf(scaling.factor)})`,
  );
  console.log(`Cores busy with two: ${busynessLine(scaling.busyness)} of ${machine.cores}\n`);
  for (const problem of problems) console.log(`WRONG: ${problem}`);
  console.log(textTable(...ratioTable(ratios)));
  console.log(
    `\n${report.seconds.toFixed(0)} s; ${problems.length === 0 ? 'no failures' : 'FAILED'}`,
  );
}
