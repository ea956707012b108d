import type { Cell, Ratio } from './comparison.js';
import { FULL_BATCH, type GasUse } from './gas.js';
import type { Machine } from './machine.js';
import { figure, textTable } from './text-table.js';
import { cellTable, printHead, ratioTable, type Table } from './verify-report.js';

/** Gas of the calls that one channel paid, from its deposit to the payout. */
export interface ChannelGas {
  readonly calls: number;
  readonly transactions: number;
  /** For each paid call. */
  readonly gasEach: number;
  /** Calls that the stock client was paid for in a second, one after another. */
  readonly callsPerSecond: number;
}

/** What `npm run bench:channels` found. */
export interface ChannelsReport {
  readonly name: 'channels';
  readonly at: string;
  readonly seed: string;
  readonly machine: Machine;
  readonly cells: readonly Cell[];
  readonly ratios: readonly Ratio[];
  readonly channels: readonly ChannelGas[];
  /** Of payments by `exact` to one payee. */
  readonly exact: Pick<GasUse, 'batched' | 'items'>;
  /** Empty when every answer was right. */
  readonly problems: readonly string[];
  readonly seconds: number;
}

export function channelGasTable({ channels, exact }: ChannelsReport): Table {
  return [
    ['calls of one channel', 'calls a second', 'transactions', 'gas each', 'of exact in batches'],
    channels.map(({ calls, callsPerSecond, transactions, gasEach }) => [
      String(calls),
      figure(callsPerSecond),
      String(transactions),
      figure(gasEach),
      `${((gasEach / exact.batched) * 100).toFixed(2)} %`,
    ]),
  ];
}

export function exactFact({ exact: { items, batched } }: ChannelsReport): string {
  return `Payments by \`exact\` (EIP-3009) in batches of ${FULL_BATCH} or more, ${items.toFixed(1)} on average: ${batched.toFixed(0)} gas each`;
}

export function printChannelsReport(report: ChannelsReport): void {
  const { machine, seed, cells, ratios, problems } = report;
  printHead('Channels', machine, seed, cells[0]?.runs.length ?? 0);
  console.log(`${textTable(...cellTable(cells))}\n`);
  console.log(`${textTable(...ratioTable(ratios))}\n`);
  console.log(textTable(...channelGasTable(report)));
  console.log(`\n${exactFact(report)}`);
  for (const problem of problems) console.log(`WRONG: ${problem}`);
  console.log(
    `\n${report.seconds.toFixed(0)} s; ${problems.length === 0 ? 'no failures' : 'FAILED'}`,
  );
}
