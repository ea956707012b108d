import type { Machine } from './machine.js';
import { figure, textTable } from './text-table.js';

/** What `npm run bench:soak` found. */
export interface SoakReport {
  readonly name: 'soak';
  readonly at: string;
  readonly seed: string;
  readonly machine: Machine;
  readonly minutes: number;
  /** Asked for, per second: half of the ceiling. */
  readonly verifyRate: number;
  readonly settleRate: number;
  readonly samples: readonly Sample[];
  /** Growth per minute over the second half, when caches and pools are full. */
  readonly slopes: Readonly<Record<string, number>>;
  readonly problems: readonly string[];
}

/** One slice of time. */
export interface Sample {
  readonly minute: number;
  readonly verified: number;
  readonly settled: number;
  readonly verifyP50: number;
  readonly verifyP99: number;
  readonly settleP50: number;
  readonly settleP99: number;
  readonly serviceMiB: number;
  readonly redisMiB: number;
  /** What Redis holds for each settlement so far, details and tombstone. */
  readonly redisBytesEach: number;
}

export function soakFacts({
  minutes,
  verifyRate,
  settleRate,
  samples,
  slopes,
}: SoakReport): string[] {
  const [first, last] = [samples[0], samples.at(-1)];
  const verified = samples.reduce((sum, sample) => sum + sample.verified, 0);
  const settled = samples.reduce((sum, sample) => sum + sample.settled, 0);
  return [
    `${minutes} minutes at ${figure(verifyRate)} verifies and ${figure(settleRate)} settles a second: ${verified} verified, ${settled} settled`,
    `Verify p50 ${figure(first?.verifyP50 ?? 0)} ms at the start, ${figure(last?.verifyP50 ?? 0)} ms at the end; settle p50 ${figure(first?.settleP50 ?? 0)} ms and ${figure(last?.settleP50 ?? 0)} ms`,
    `Memory of the process ${figure(first?.serviceMiB ?? 0)} MiB and ${figure(last?.serviceMiB ?? 0)} MiB, of Redis ${figure(first?.redisMiB ?? 0)} MiB and ${figure(last?.redisMiB ?? 0)} MiB, ${figure(last?.redisBytesEach ?? 0)} bytes for each settlement`,
    `Growth a minute over the second half: ${Object.entries(slopes)
      .map(([name, slope]) => `${name} ${slope.toFixed(2)}`)
      .join('; ')}`,
  ];
}

export function printSoakReport(report: SoakReport): void {
  const { samples, problems } = report;
  console.log(
    textTable(
      [
        'minute',
        'verified',
        'p50 ms',
        'p99 ms',
        'settled',
        'p50 ms',
        'p99 ms',
        'service MiB',
        'Redis MiB',
        'bytes each',
      ],
      samples.map((sample) => [
        sample.minute.toFixed(2),
        sample.verified,
        figure(sample.verifyP50),
        figure(sample.verifyP99),
        sample.settled,
        figure(sample.settleP50),
        figure(sample.settleP99),
        figure(sample.serviceMiB),
        figure(sample.redisMiB),
        figure(sample.redisBytesEach),
      ]),
    ),
  );
  console.log(`\n${soakFacts(report).join('\n')}\n`);
  for (const problem of problems) console.log(`WRONG: ${problem}`);
  console.log(problems.length === 0 ? 'no failures' : 'FAILED');
}
