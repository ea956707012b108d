import { existsSync } from 'node:fs';
import type { Address } from 'viem';
import { sandboxAccount } from '../sandbox/accounts.js';
import { startPostgres } from '../sandbox/postgres.js';
import { freePort } from '../sandbox/processes.js';
import { startRedis } from '../sandbox/redis.js';
import { productionMain, type Service } from '../sandbox/service.js';
import {
  type BuildRow,
  buildRow,
  type BuildRun,
  type BuildsReport,
  printBuildsReport,
} from './support/builds-report.js';
import { beginAudit } from './support/chain-audit.js';
import { readArguments } from './support/command-line.js';
import { type Answered, runLoad, settleProblem, verifyProblem } from './support/load.js';
import { describeMachine } from './support/machine.js';
import type { Kind } from './support/payment-factory.js';
import { pidOf, watchProcessors } from './support/processor-time.js';
import { BenchStage, OUR_SIGNER } from './support/stage.js';

/**
 * `npm run bench:builds -- DIR`: this build against the one in another clone (its `dist/`), in alternation on
 * one chain, so that a change of speed is seen beside the noise of the machine. `-- history` compares this
 * build without a history with itself with one. `--only "/settle eip3009 at 300"` does that work alone. `--node`
 * and `--node-options` are of this build alone: `-- . --node PROGRAM` compares two versions of Node. So is
 * `--set NAME=VALUE`: `-- . --set TRACES_PERCENT=5` says what a setting costs.
 */
interface Work {
  readonly path: '/verify' | '/settle';
  readonly kind: Kind;
  readonly concurrency: number;
  /** For verifies; a settle ends when all are settled. */
  readonly seconds?: number;
  readonly waves?: number;
}

const ALL: readonly Work[] = [
  { path: '/verify', kind: 'eip3009', concurrency: 1, seconds: 0.8 },
  { path: '/verify', kind: 'eip3009', concurrency: 32, seconds: 0.8 },
  { path: '/verify', kind: 'eip3009', concurrency: 128, seconds: 0.8 },
  { path: '/verify', kind: 'permit2', concurrency: 32, seconds: 0.8 },
  { path: '/settle', kind: 'eip3009', concurrency: 100, waves: 4 },
  { path: '/settle', kind: 'permit2', concurrency: 100, waves: 3 },
  { path: '/settle', kind: 'eip3009', concurrency: 300, waves: 4 },
  { path: '/settle', kind: 'eip3009', concurrency: 1000, waves: 2 },
];
const RESERVE = 1.6;
const RESERVE_LEAST = 300;

type Side = 'this' | 'other';
const SIDES: readonly Side[] = ['this', 'other'];

const options = readArguments(7, {}, undefined, ['only', 'node', 'node-options', 'set']);
const [against] = options.positional;
if (against === undefined) throw new Error('name the folder of another clone, or "history"');
const otherMain = against === 'history' ? undefined : productionMain(against);
if (otherMain !== undefined && !existsSync(otherMain)) {
  throw new Error(`${otherMain} is not there: run "npm ci && npm run build" in that clone`);
}

const nameOf = ({ path, kind, concurrency }: Work): string => `${path} ${kind} at ${concurrency}`;
const { only, node, 'node-options': nodeOptions, set } = options.texts;
const WORK = ALL.filter((work) => only.length === 0 || only.includes(nameOf(work)));

const machine = describeMachine();
const stage = await BenchStage.build(options.seed);
const redis = await startRedis(await freePort());
const postgres = against === 'history' ? await startPostgres(await freePort()) : undefined;
const problems: string[] = [];
const rates = new Map<string, number>();

const signers: Readonly<Record<Side, Address>> = {
  this: OUR_SIGNER.address,
  other: sandboxAccount(3).address,
};

function settingOf(text: string): [name: string, value: string] {
  const at = text.indexOf('=');
  if (at < 1) throw new Error('--set takes NAME=VALUE');
  return [text.slice(0, at), text.slice(at + 1)];
}

async function startBoth(): Promise<Readonly<Record<Side, Service>>> {
  const ours = await stage.ours(
    {
      ...(postgres !== undefined && { DATABASE_URL: postgres.url, ROLES: 'api,worker,history' }),
      ...Object.fromEntries(set.map(settingOf)),
    },
    nodeOptions.flatMap((text) => text.split(' ')),
    undefined,
    node.at(-1),
  );
  const other = await stage.ours(
    { REDIS_URL: redis.url, SIGNER_KEYS: sandboxAccount(3).key },
    [],
    otherMain,
  );
  return { this: ours, other };
}

async function measure(side: Side, service: Service, work: Work): Promise<BuildRun> {
  const { path, kind, concurrency, seconds, waves = 1 } = work;
  const rateKey = `${side} ${path} ${kind} ${concurrency}`;
  const count =
    seconds === undefined
      ? concurrency * waves
      : Math.ceil((rates.get(rateKey) ?? 1500) * seconds * RESERVE) + RESERVE_LEAST;
  const bodies = stage.factory.make(kind, count, { facilitator: signers[side] });
  const isSettle = path === '/settle';
  const answers: Answered[] = [];
  const audit = isSettle
    ? await beginAudit(stage.client, stage.factory, kind, [signers[side]])
    : undefined;
  const ends = watchProcessors({
    it: [pidOf(service)],
    redis: [pidOf(side === 'this' ? stage.redis : redis)],
  });
  const result = await runLoad({
    url: service.url,
    path,
    concurrency,
    bodies,
    ...(seconds !== undefined && { seconds }),
    problemOf: isSettle ? settleProblem : verifyProblem,
    onAnswer: (answer) => answers.push(answer),
  });
  const { it: cores, redis: redisCores } = ends();
  rates.set(rateKey, Math.max(rates.get(rateKey) ?? 0, result.perSecond));
  const found = [
    ...((await audit?.findings(answers)) ?? []),
    ...Object.entries(result.failures).map(([why, times]) => `${times} failed: ${why}`),
  ];
  problems.push(...found.map((finding) => `${side} ${path} ${kind} at ${concurrency}: ${finding}`));
  return {
    perSecond: result.perSecond,
    completed: result.completed,
    processorMs: cores === undefined ? undefined : cores * result.seconds * 1000,
    redisMs: redisCores === undefined ? undefined : redisCores * result.seconds * 1000,
    latencies: result.latencies,
  };
}

try {
  const services = await startBoth();
  const runs = new Map<string, BuildRun[]>();
  for (const work of [ALL[1], ALL[4]]) {
    for (const side of SIDES) if (work) await measure(side, services[side], work);
  }
  for (let round = 0; round < options.rounds; round += 1) {
    for (const [index, work] of WORK.entries()) {
      // Who goes first changes with each round.
      for (const side of round % 2 === 0 ? SIDES : SIDES.toReversed()) {
        const key = `${index} ${side}`;
        const run = await measure(side, services[side], work);
        runs.set(key, [...(runs.get(key) ?? []), run]);
      }
    }
    console.log(`  round ${round + 1} of ${options.rounds}`);
  }
  const rows: BuildRow[] = WORK.map((work, index) =>
    buildRow(nameOf(work), runs.get(`${index} this`) ?? [], runs.get(`${index} other`) ?? []),
  );
  const report: BuildsReport = {
    name: 'builds',
    at: new Date().toISOString(),
    seed: options.seed,
    machine,
    against,
    rounds: options.rounds,
    rows,
    problems,
  };
  printBuildsReport(report);
  options.save(report);
  process.exitCode = problems.length === 0 ? 0 : 1;
} finally {
  await stage.stop();
  await redis.stop('SIGKILL');
  await postgres?.stop('SIGKILL');
}
