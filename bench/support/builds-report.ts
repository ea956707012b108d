import { type Machine, machineLine, versionsLine } from './machine.js';
import { processorMsOf } from './processor-time.js';
import { ascending, percentile, type Spread, spreadOf } from './statistics.js';
import { figure, textTable } from './text-table.js';
import { rangeOf } from './verify-report.js';

/** One run of one build. */
export interface BuildRun {
  readonly perSecond: number;
  readonly completed: number;
  /** Processor time of the service, ms; `undefined` where it cannot be read. */
  readonly processorMs: number | undefined;
  /** Processor time of its Redis, ms; likewise. */
  readonly redisMs: number | undefined;
  /** Milliseconds. */
  readonly latencies: readonly number[];
}

/** One kind of work, each round of this build compared with the other's of the same round. */
export interface BuildRow {
  readonly work: string;
  readonly thisPerSecond: Spread;
  readonly otherPerSecond: Spread;
  readonly timesOther: Spread;
  /** Processor time for a payment, over all rounds, in parts of the other's. */
  readonly processorTimesOther: number | undefined;
  /** Milliseconds of processor time for a payment: of the service and of Redis. */
  readonly processor: Readonly<Record<'this' | 'other', ProcessorMs>>;
  readonly p99: Readonly<Record<'this' | 'other', number>>;
}

interface ProcessorMs {
  readonly service: number | undefined;
  readonly redis: number | undefined;
}

/** What `npm run bench:builds` found. */
export interface BuildsReport {
  readonly name: 'builds';
  readonly at: string;
  readonly seed: string;
  readonly machine: Machine;
  /** The folder of the other build, or `history`. */
  readonly against: string;
  readonly rounds: number;
  readonly rows: readonly BuildRow[];
  readonly problems: readonly string[];
}

export function buildRow(
  work: string,
  ours: readonly BuildRun[],
  others: readonly BuildRun[],
): BuildRow {
  const [mine, its] = [processorMsOf(ours), processorMsOf(others)];
  const processor = (runs: readonly BuildRun[]): ProcessorMs => ({
    service: processorMsOf(runs),
    redis: processorMsOf(
      runs.map(({ completed, redisMs }) => ({ completed, processorMs: redisMs })),
    ),
  });
  const p99 = (runs: readonly BuildRun[]): number =>
    percentile(ascending(runs.flatMap(({ latencies }) => latencies)), 0.99);
  return {
    work,
    thisPerSecond: spreadOf(ours.map(({ perSecond }) => perSecond)),
    otherPerSecond: spreadOf(others.map(({ perSecond }) => perSecond)),
    timesOther: spreadOf(
      ours.map(({ perSecond }, round) => perSecond / (others[round]?.perSecond ?? NaN)),
    ),
    processorTimesOther: mine === undefined || its === undefined ? undefined : mine / its,
    processor: { this: processor(ours), other: processor(others) },
    p99: { this: p99(ours), other: p99(others) },
  };
}

export function printBuildsReport(report: BuildsReport): void {
  const { machine, seed, against, rounds, problems } = report;
  console.log(
    `\nThis build against ${against === 'history' ? 'itself without a history' : against}`,
  );
  console.log(
    `\n${machineLine(machine)}\n${versionsLine(machine)}\nseed ${seed}, ${rounds} rounds\n`,
  );
  console.log(
    textTable(
      [
        'work',
        'this/s',
        'other/s',
        'times',
        'spread',
        'CPU times',
        'CPU+Redis ms',
        'other',
        'p99 ms',
        'other',
      ],
      report.rows.map((row) => [
        row.work,
        figure(row.thisPerSecond.median),
        figure(row.otherPerSecond.median),
        row.timesOther.median.toFixed(2),
        rangeOf(row.timesOther),
        row.processorTimesOther?.toFixed(2) ?? '?',
        ...[row.processor.this, row.processor.other].map(
          ({ service, redis }) => `${service?.toFixed(2) ?? '?'}+${redis?.toFixed(2) ?? '?'}`,
        ),
        figure(row.p99.this),
        figure(row.p99.other),
      ]),
    ),
  );
  for (const problem of problems) console.log(`WRONG: ${problem}`);
  console.log(problems.length === 0 ? '\nno failures' : '\nFAILED');
}
