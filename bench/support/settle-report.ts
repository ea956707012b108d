import type { Baseline } from './baselines.js';
import type { Cell, Contestant, Ratio } from './comparison.js';
import { FULL_BATCH, type GasUse } from './gas.js';
import type { Machine } from './machine.js';
import type { Busyness } from './processor-time.js';
import type { Spread } from './statistics.js';
import { figure, textTable } from './text-table.js';
import {
  busynessLine,
  known,
  printHead,
  rangeOf,
  ratioTable,
  type Table,
} from './verify-report.js';

/** What two worker processes with two signers did together, at concurrency 300. */
export interface TwoWorkers {
  readonly perSecond: number;
  readonly transactions: number;
  /** Of each signer; their sum is the number of transactions, or some nonce was wasted. */
  readonly noncesUsed: readonly number[];
  readonly failed: number;
}

/** What `npm run bench:settle` found. */
export interface SettleReport {
  readonly name: 'settle';
  readonly at: string;
  readonly seed: string;
  readonly machine: Machine;
  /** Seconds, as asked of the chain and as its blocks came. */
  readonly blockTime: number;
  readonly measuredBlockTime: number;
  readonly cells: readonly Cell[];
  /** While ours settled at concurrency 300. */
  readonly busyness: Busyness;
  /** Milliseconds at concurrency 1: arrival to broadcast, and block to answer. */
  readonly added: Readonly<Record<Contestant, Spread>>;
  readonly bare: Baseline;
  readonly two: TwoWorkers;
  readonly gas: readonly GasUse[];
  readonly ratios: readonly Ratio[];
  /** Empty when every answer was right. */
  readonly problems: readonly string[];
  readonly seconds: number;
}

/** Nothing that waits for a block can be faster than one block for each place in the line. */
function boundOf(concurrency: number, blockTime: number): number {
  return concurrency / blockTime;
}

export function settleTable({ cells, blockTime }: SettleReport): Table {
  return [
    [
      'payment',
      'at once',
      'who',
      'per second',
      'spread',
      'bound',
      'of bound',
      'p50 ms',
      'p95 ms',
      'p99 ms',
      'failed',
      'CPU ms each',
    ],
    cells.map((cell) => {
      const bound = boundOf(cell.concurrency, blockTime);
      return [
        cell.kind,
        String(cell.concurrency),
        cell.contestant,
        figure(cell.perSecond.median),
        rangeOf(cell.perSecond),
        figure(bound),
        `${((cell.perSecond.median / bound) * 100).toFixed(0)} %`,
        figure(cell.p50),
        figure(cell.p95),
        figure(cell.p99),
        String(cell.failed),
        known(cell.processorMs),
      ];
    }),
  ];
}

export function gasTable(gas: readonly GasUse[]): Table {
  return [
    ['gas of a settlement', 'payees', 'alone', `in batches of ${FULL_BATCH}+`, 'part', 'mean size'],
    gas.map(({ method, payees, single, batched, items }) => [
      method,
      payees,
      single.toFixed(0),
      batched.toFixed(0),
      `${((batched / single) * 100).toFixed(1)} %`,
      items.toFixed(1),
    ]),
  ];
}

/** Lines of text for what is not a table. */
export function settleFacts(report: SettleReport): readonly string[] {
  const { added, bare, two, cells, busyness, machine } = report;
  const most = cells.find(
    ({ contestant, concurrency }) => contestant === 'ours' && concurrency === 1000,
  );
  const nonces = two.noncesUsed.join(' + ');
  return [
    `Added time at concurrency 1 (arrival to broadcast and block to answer), median: ours ${figure(added.ours.median)} ms (${rangeOf(added.ours)}), reference ${figure(added.reference.median)} ms (${rangeOf(added.reference)})`,
    `${bare.name}: ${figure(bare.perSecond)}/s; ours at 1000 is ${figure(((most?.perSecond.median ?? 0) / bare.perSecond) * 100)} % of it`,
    `Two worker processes at 300: ${figure(two.perSecond)}/s, ${two.failed} failed, ${nonces} account nonces for ${two.transactions} transactions`,
    `Cores busy with EIP-3009 at 300: ${busynessLine(busyness)} of ${machine.cores}`,
    `Blocks came every ${report.measuredBlockTime.toFixed(3)} s`,
  ];
}

export function printSettleReport(report: SettleReport): void {
  const { machine, seed, cells, gas, ratios, problems } = report;
  printHead('Settle', machine, seed, cells[0]?.runs.length ?? 0);
  console.log(textTable(...settleTable(report)));
  console.log(`\n${settleFacts(report).join('\n')}\n`);
  console.log(`${textTable(...gasTable(gas))}\n`);
  for (const problem of problems) console.log(`WRONG: ${problem}`);
  console.log(textTable(...ratioTable(ratios)));
  console.log(
    `\n${report.seconds.toFixed(0)} s; ${problems.length === 0 ? 'no failures' : 'FAILED'}`,
  );
}
