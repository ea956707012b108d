import { type Machine, machineLine, versionsLine } from './machine.js';
import { figure, textTable } from './text-table.js';
import type { Table } from './verify-report.js';

/** For each payment, with what the service does besides in that time. */
export interface Cost {
  readonly path: '/verify' | '/settle';
  readonly concurrency: number;
  readonly seconds: number;
  /** Round trips that run a script. */
  readonly redisScripts: number;
  /** All commands, those inside of scripts too. */
  readonly redisCommands: number;
  /** HTTP requests to the node; a batch is one. */
  readonly rpcRequests: number;
  readonly rpcCalls: number;
  readonly byMethod: Readonly<Record<string, number>>;
  readonly transactions: number;
  readonly gas: number;
}

/** What `npm run bench:cost` found. */
export interface CostReport {
  readonly name: 'cost';
  readonly at: string;
  readonly seed: string;
  readonly machine: Machine;
  /** Per second, without requests. */
  readonly idle: { readonly redisCommands: number; readonly rpcRequests: number };
  readonly costs: readonly Cost[];
  readonly problems: readonly string[];
}

export function costTable({ costs }: CostReport): Table {
  return [
    [
      'request',
      'at once',
      'Redis scripts',
      'Redis commands',
      'RPC requests',
      'RPC calls',
      'transactions',
      'gas',
    ],
    costs.map((cost) => [
      cost.path,
      String(cost.concurrency),
      figure(cost.redisScripts),
      figure(cost.redisCommands),
      figure(cost.rpcRequests),
      figure(cost.rpcCalls),
      figure(cost.transactions),
      cost.gas.toFixed(0),
    ]),
  ];
}

export function costFacts({ idle, costs }: CostReport): readonly string[] {
  return [
    `Idle, each second: ${figure(idle.redisCommands)} Redis commands, ${figure(idle.rpcRequests)} RPC requests`,
    ...costs.map(({ path, concurrency, byMethod }) => {
      const methods = Object.entries(byMethod)
        .sort(([, a], [, b]) => b - a)
        .map(([method, calls]) => `${method} ${figure(calls)}`);
      return `RPC calls for each ${path} at ${concurrency}: ${methods.join(', ')}`;
    }),
  ];
}

export function printCostReport(report: CostReport): void {
  const { machine, seed, problems } = report;
  console.log(`\nCost\n\n${machineLine(machine)}\n${versionsLine(machine)}\nseed ${seed}\n`);
  console.log(textTable(...costTable(report)));
  console.log(`\n${costFacts(report).join('\n')}\n`);
  for (const problem of problems) console.log(`WRONG: ${problem}`);
  console.log(problems.length === 0 ? 'no failures' : 'FAILED');
}
