import { Redis } from 'ioredis';
import { transactionOf } from './support/chain-audit.js';
import { readArguments } from './support/command-line.js';
import { type Cost, type CostReport, printCostReport } from './support/cost-report.js';
import { CountingProxy } from './support/counting-proxy.js';
import { gasOf } from './support/gas.js';
import {
  type Answered,
  type LoadOptions,
  runLoad,
  settleProblem,
  verifyProblem,
} from './support/load.js';
import { describeMachine } from './support/machine.js';
import { BenchStage, CHAIN_ID } from './support/stage.js';

/**
 * `npm run bench:cost`: what a payment costs in Redis commands, RPC calls and gas, alone and under
 * load. Counts, not times: they are the same on any machine except for the sizes of the batches.
 */
interface Case {
  readonly path: '/verify' | '/settle';
  readonly concurrency: number;
  readonly count: number;
}

const CASES: readonly Case[] = [
  { path: '/verify', concurrency: 1, count: 300 },
  { path: '/verify', concurrency: 32, count: 3000 },
  { path: '/settle', concurrency: 1, count: 12 },
  { path: '/settle', concurrency: 32, count: 320 },
  { path: '/settle', concurrency: 300, count: 2400 },
];
const IDLE_SECONDS = 5;

const options = readArguments(1);
const machine = describeMachine();
const stage = await BenchStage.build(options.seed);
const proxy = await CountingProxy.start(stage.anvil.url);
const redis = new Redis(stage.redis.url);
const problems: string[] = [];

/** Calls from clients: scripts count once, what they do inside does not. */
async function redisCommands(): Promise<{ readonly scripts: number; readonly inside: number }> {
  const stats = await redis.info('commandstats');
  const callsOf = (name: string): number =>
    Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
  const all = [...stats.matchAll(/cmdstat_[^:]+:calls=(\d+)/g)].map(([, calls]) => Number(calls));
  return {
    scripts: callsOf('evalsha') + callsOf('eval'),
    inside: all.reduce((sum, calls) => sum + calls, 0),
  };
}

async function costOf({ path, concurrency, count }: Case, url: string): Promise<Cost> {
  const answers: Answered[] = [];
  const load: LoadOptions = {
    url,
    path,
    concurrency,
    bodies: stage.factory.make('eip3009', count),
    problemOf: path === '/verify' ? verifyProblem : settleProblem,
    onAnswer: (answer) => answers.push(answer),
  };
  const before = await redisCommands();
  proxy.take();
  const { failed, failures, seconds } = await runLoad(load);
  if (failed > 0) problems.push(`${path}: ${failed} failed ${JSON.stringify(failures)}`);
  const rpc = proxy.take();
  const after = await redisCommands();
  const gas = path === '/settle' ? await gasOf(stage.client, answers) : [];
  const transactions = new Set(path === '/settle' ? answers.map(transactionOf) : []).size;
  const each = (value: number): number => value / count;
  return {
    path,
    concurrency,
    seconds,
    redisScripts: each(after.scripts - before.scripts),
    redisCommands: each(after.inside - before.inside),
    rpcRequests: each(rpc.requests),
    rpcCalls: each(Object.values(rpc.calls).reduce((sum, calls) => sum + calls, 0)),
    byMethod: Object.fromEntries(
      Object.entries(rpc.calls).map(([method, calls]) => [method, each(calls)]),
    ),
    transactions: each(transactions),
    gas: each(gas.reduce((sum, one) => sum + one.gas, 0)),
  };
}

try {
  const service = await stage.ours({ [`RPC_URLS_${CHAIN_ID}`]: proxy.url });
  await costOf({ path: '/settle', concurrency: 32, count: 128 }, service.url);
  await new Promise((resolve) => setTimeout(resolve, 2000));
  const idleBefore = await redisCommands();
  proxy.take();
  await new Promise((resolve) => setTimeout(resolve, IDLE_SECONDS * 1000));
  const idleRpc = proxy.take();
  const idleAfter = await redisCommands();
  const costs: Cost[] = [];
  for (const one of CASES) costs.push(await costOf(one, service.url));
  const report: CostReport = {
    name: 'cost',
    at: new Date().toISOString(),
    seed: options.seed,
    machine,
    idle: {
      redisCommands: (idleAfter.inside - idleBefore.inside) / IDLE_SECONDS,
      rpcRequests: idleRpc.requests / IDLE_SECONDS,
    },
    costs,
    problems,
  };
  printCostReport(report);
  options.save(report);
  process.exitCode = problems.length === 0 ? 0 : 1;
} finally {
  redis.disconnect();
  await stage.stop();
  await proxy.stop();
}
