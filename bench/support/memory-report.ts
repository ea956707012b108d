import { curvesOf } from './chart.js';
import { type Machine, machineLine, versionsLine } from './machine.js';
import { slopeOf } from './statistics.js';
import { figure, textTable } from './text-table.js';
import type { Table } from './verify-report.js';

/** What `npm run bench:memory` found. */
export interface MemoryReport {
  readonly name: 'memory';
  readonly at: string;
  readonly seed: string;
  readonly machine: Machine;
  readonly hotMinutes: number;
  /** Asked for. */
  readonly perSecond: number;
  readonly samples: readonly MemorySample[];
  /** Once nothing was settled any more, and what may leave has left. */
  readonly rest: Rest;
  readonly problems: readonly string[];
}

export interface MemorySample {
  /** Since the first settlement. */
  readonly seconds: number;
  /** Told so far. */
  readonly settled: number;
  readonly redisMiB: number;
  /** Finished and not gone yet. */
  readonly cooling: number;
  /** Changes that are not archived yet. */
  readonly waiting: number;
  readonly serviceMiB: number;
}

export interface Rest {
  readonly seconds: number;
  readonly cooling: number;
  readonly redisMiB: number;
  /** Before the first settlement. */
  readonly redisMiBBefore: number;
  readonly keys: number;
  readonly archived: number;
}

/** What the curve says. */
interface Steadiness {
  /** MiB for each 10 000 settlements, over the second half. */
  readonly slopeMiB: number;
  /** Least and most of the second half. */
  readonly leastMiB: number;
  readonly mostMiB: number;
  /** What each settlement that has not left takes, of the second half. */
  readonly bytesEach: number;
  /** MiB for each 10 000 settlements while nothing had left. */
  readonly keptSlopeMiB: number;
}

const PER = 10_000;
/** The first seconds, in which connections and buffers are made. */
const SETTLING_IN = 10;

export function steadinessOf({ samples, hotMinutes, rest }: MemoryReport): Steadiness {
  const second = samples.slice(Math.floor(samples.length / 2));
  const early = samples.filter(
    ({ seconds }) => seconds >= SETTLING_IN && seconds < hotMinutes * 60,
  );
  const slope = (of: readonly MemorySample[]): number =>
    slopeOf(of.map(({ settled, redisMiB }) => [settled / PER, redisMiB]));
  const sizes = second.map(({ redisMiB }) => redisMiB);
  const held = second.map(
    ({ redisMiB, cooling }) => ((redisMiB - rest.redisMiBBefore) * 2 ** 20) / cooling,
  );
  return {
    slopeMiB: slope(second),
    leastMiB: Math.min(...sizes),
    mostMiB: Math.max(...sizes),
    bytesEach: held.reduce((sum, one) => sum + one, 0) / held.length,
    keptSlopeMiB: slope(early),
  };
}

export function memoryFacts(report: MemoryReport): readonly string[] {
  const { samples, hotMinutes, rest } = report;
  const last = samples.at(-1);
  const { slopeMiB, leastMiB, mostMiB, bytesEach, keptSlopeMiB } = steadinessOf(report);
  const [settled, seconds] = [last?.settled ?? 0, last?.seconds ?? 0];
  return [
    `${settled} settlements in ${figure(seconds / 60)} minutes, ${figure(settled / seconds)} a second, by one process with all its roles, \`HOT_MINUTES=${hotMinutes}\``,
    `Redis over the second half: ${figure(leastMiB)} to ${figure(mostMiB)} MiB, ${slopeMiB.toFixed(3)} MiB for each 10 000 settlements; ${figure(keptSlopeMiB)} while nothing had left`,
    `A settlement that has not left takes ${bytesEach.toFixed(0)} bytes of it, all that the service keeps besides included`,
    `At most ${Math.max(...samples.map(({ waiting }) => waiting))} changes waited to be archived`,
    `${figure(rest.seconds)} s after the last one: ${figure(rest.redisMiB)} MiB in ${rest.keys} keys (${figure(rest.redisMiBBefore)} MiB before the first), ${rest.cooling} settlements not gone, ${rest.archived} final in the archive`,
  ];
}

const ROWS = 10;

export function memoryTable({ samples }: Pick<MemoryReport, 'samples'>): Table {
  const settled = samples.at(-1)?.settled ?? 0;
  const shown = Array.from({ length: ROWS }, (_, row) =>
    samples.find((sample) => sample.settled >= (settled * (row + 1)) / ROWS),
  ).filter((sample) => sample !== undefined);
  return [
    ['settled', 'minute', 'Redis MiB', 'not gone yet', 'to be archived', 'process MiB'],
    shown.map((sample) => [
      String(sample.settled),
      figure(sample.seconds / 60),
      figure(sample.redisMiB),
      String(sample.cooling),
      String(sample.waiting),
      figure(sample.serviceMiB),
    ]),
  ];
}

export function memoryChart(report: MemoryReport): string {
  const { samples, hotMinutes } = report;
  const { keptSlopeMiB } = steadinessOf(report);
  const most = Math.max(...samples.map(({ redisMiB }) => redisMiB));
  const settled = samples.at(-1)?.settled ?? 0;
  const base = samples[0]?.redisMiB ?? 0;
  // Only as far as the picture goes: it shows the curve, not the height of the other line.
  const end = Math.min(settled, ((most * 1.6 - base) / keptSlopeMiB) * PER);
  return curvesOf(
    `Redis with HOT_MINUTES=${hotMinutes}`,
    {
      x: { title: 'settlements', label: (value) => String(Math.round(value)) },
      y: { title: 'MiB', label: (value) => String(Math.round(value * 10) / 10) },
    },
    [
      {
        name: 'memory in use',
        colour: '#0b6e4f',
        points: samples.map((sample) => [sample.settled, sample.redisMiB] as const),
      },
      {
        name: 'as it grew before the first one left',
        colour: '#b5651d',
        isDashed: true,
        points: [
          [0, base],
          [end, base + (keptSlopeMiB * end) / PER],
        ],
      },
    ],
  );
}

export function printMemoryReport(report: MemoryReport): void {
  const { machine, seed, problems } = report;
  console.log(`\nMemory\n\n${machineLine(machine)}\n${versionsLine(machine)}\nseed ${seed}\n`);
  console.log(textTable(...memoryTable(report)));
  console.log(`\n${memoryFacts(report).join('\n')}`);
  for (const problem of problems) console.log(`WRONG: ${problem}`);
  console.log(problems.length === 0 ? '\nno failures' : '\nFAILED');
}
