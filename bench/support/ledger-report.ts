import { type Machine, machineLine, versionsLine } from './machine.js';
import type { Spread } from './statistics.js';
import { figure } from './text-table.js';
import { rangeOf } from './verify-report.js';

export interface MemoryPoint {
  readonly settlements: number;
  readonly serviceMiB: number;
  readonly redisMiB: number;
}

interface AddedTime {
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

/** What `npm run bench:ledger` found. */
export interface LedgerReport {
  readonly name: 'ledger';
  readonly at: string;
  readonly seed: string;
  readonly machine: Machine;
  /** Of the long run. */
  readonly settlements: number;
  /** In the large ledger. */
  readonly tombstones: number;
  /** With Redis's own share of each key. */
  readonly tombstoneBytes: number;
  /** All that is kept of a finished settlement, by how Redis grew over the long run. */
  readonly finishedBytes: number;
  /** A settlement while it is worked on. */
  readonly liveRecordBytes: number;
  readonly detailsBytes: number;
  readonly points: readonly MemoryPoint[];
  /** Growth per 10 000 settlements over the second half of the long run. */
  readonly serviceSlopeMiB: number;
  readonly redisSlopeMiB: number;
  readonly added: {
    readonly small: AddedTime;
    readonly large: AddedTime;
    readonly p99Ratio: Spread;
  };
  readonly problems: readonly string[];
}

export function ledgerFacts(report: LedgerReport): readonly string[] {
  const { added, points, tombstones, settlements } = report;
  const [first, last] = [points[0], points.at(-1)];
  return [
    `A tombstone takes ${report.tombstoneBytes.toFixed(0)} bytes of Redis, the details beside it ${report.detailsBytes.toFixed(0)}, a finished settlement with all that is kept of it ${report.finishedBytes.toFixed(0)}, a live record ${report.liveRecordBytes.toFixed(0)}`,
    `Added time beside ${tombstones} tombstones: p50 ${figure(added.large.p50)} ms, p99 ${figure(added.large.p99)} ms; beside 1000: p50 ${figure(added.small.p50)} ms, p99 ${figure(added.small.p99)} ms; p99 round against round ${figure(added.p99Ratio.median)} times (${rangeOf(added.p99Ratio)})`,
    `Memory of the process over ${settlements} settlements: ${figure(first?.serviceMiB ?? 0)} MiB after the first ${first?.settlements ?? 0}, ${figure(last?.serviceMiB ?? 0)} MiB at the end; ${report.serviceSlopeMiB.toFixed(2)} MiB for each 10 000 in the second half`,
    `Redis: ${figure(first?.redisMiB ?? 0)} MiB to ${figure(last?.redisMiB ?? 0)} MiB; ${report.redisSlopeMiB.toFixed(2)} MiB for each 10 000 in the second half`,
  ];
}

export function printLedgerReport(report: LedgerReport): void {
  const { machine, seed, problems } = report;
  console.log(`\nLedger\n\n${machineLine(machine)}\n${versionsLine(machine)}\nseed ${seed}\n`);
  console.log(ledgerFacts(report).join('\n'));
  for (const problem of problems) console.log(`WRONG: ${problem}`);
  console.log(problems.length === 0 ? '\nno failures' : '\nFAILED');
}
