import { fork } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { packService } from '../support/packed-service.js';
import { SeededRandom } from '../support/seeded-random.js';
import { playChannelRun } from './channels/run.js';
import { anyOf, type Fault } from './faults/index.js';
import { ofCluster } from './faults/of-cluster.js';
import { budget } from './faults/of-money.js';
import { ofQueue } from './faults/of-queue.js';
import { ofSentinels } from './faults/of-sentinels.js';
import { ofSlowBlocks } from './faults/of-slow-blocks.js';
import { fatBatch, hostileTokens } from './faults/of-tokens.js';
import { drawOne, faultsOf } from './history/faults.js';
import { History } from './history/history.js';
import { playHistoryEnd, playHistoryRun } from './history/run.js';
import { QueueRedis } from './queue-redis.js';
import { type Counted, learnFlow, type Played, playRun } from './run.js';
import { Stage } from './stage.js';
import { Tally } from './tally.js';
import { lanesRunLow } from './treasury.js';

/**
 * Randomised runs on long-lived deployments, until the asked number is done.
 *
 * npm run test:chaos -- [--runs 200] [--seed N] [--only RUN] [--restart] [--keep-going] [--jobs 2]
 * [--fault 'reply|replica'] [--history] [--sentinel] [--cluster] [--queue-redis] [--treasury]
 * [--slow-blocks] [--channels]
 *
 * With `--history` the deployment has a PostgreSQL and two archivers, the faults are theirs too,
 * and the archive and the deliveries to sellers are compared as well.
 *
 * With `--sentinel` Redis is a primary and two replicas behind three Sentinels, real ones: what
 * goes wrong is theirs, and of the processes. Steps of the ledger are not known by name then, for
 * no proxy is in between. With `--cluster` the same with a Redis Cluster of three primaries and
 * their replicas.
 *
 * With `--treasury` an account refills the lanes, which run low in each run besides.
 *
 * With `--slow-blocks` a block comes every six seconds, and one of two nodes lies about what the
 * next ones hold.
 *
 * With `--channels` sellers are paid by channels: buyers fill them and start to withdraw, managers claim, have
 * themselves paid and give back, beside each other and once more, and strangers copy what they send.
 *
 * With `--queue-redis` the queues have a Redis of their own, which is killed, frozen, emptied or
 * restored in each run besides.
 *
 * Each job plays its share of the runs on a deployment of its own. A sequence that was broken off
 * goes on where it stopped. The first run that fails ends it, unless it is to keep going. With the
 * environment variable CHAOS_MUTANT the report says which planted bug this build has.
 */
const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '200' },
    seed: { type: 'string' },
    only: { type: 'string' },
    restart: { type: 'boolean', default: false },
    'keep-going': { type: 'boolean', default: false },
    jobs: { type: 'string', default: '2' },
    job: { type: 'string' },
    /** Plays one fault a run, of a kind that this regular expression matches. */
    fault: { type: 'string' },
    history: { type: 'boolean', default: false },
    sentinel: { type: 'boolean', default: false },
    cluster: { type: 'boolean', default: false },
    'queue-redis': { type: 'boolean', default: false },
    treasury: { type: 'boolean', default: false },
    'slow-blocks': { type: 'boolean', default: false },
    channels: { type: 'boolean', default: false },
  },
});

interface Progress {
  readonly seed: number;
  readonly done: number;
}

/** What a job tells the one that started it. */
type JobEvent =
  | { readonly kind: 'played'; readonly run: number; readonly lines: readonly string[] }
  | {
      readonly kind: 'failed';
      readonly run: number;
      readonly lines: readonly string[];
      readonly logs: string;
    }
  | { readonly kind: 'tally'; readonly counts: Readonly<Record<string, number>> }
  | { readonly kind: 'broken'; readonly lines: readonly string[] };

const CACHE = join('node_modules', '.cache');
/** What this deployment has besides. */
const PARTS = (
  ['history', 'sentinel', 'cluster', 'queue-redis', 'treasury', 'slow-blocks', 'channels'] as const
).filter((part) => values[part]);
const MODE = ['chaos', ...PARTS].join('-').replace(' ', '-');
const PROGRESS = join(CACHE, `${MODE}.json`);
const JOBS_TIMEOUT_MS = 90_000;

/** Each run has a seed of its own, so that any of them can be had again alone. */
const diceOf = (seed: number, run: number): SeededRandom => new SeededRandom(seed * 100_003 + run);

function drawFaults(stage: Stage, random: SeededRandom, run: number): readonly Fault[] {
  const others = drawOthers(stage, random, run);
  const more = stage.queue === undefined ? others : [...others, ofQueue(random)];
  // The count of what lanes spend assumes that they are not refilled; a lane without a key is never
  // refilled.
  return stage.hasTreasury
    ? [...more.filter((fault) => fault !== budget && fault.areLanesTaken !== true), lanesRunLow]
    : more;
}

function drawOthers(stage: Stage, random: SeededRandom, run: number): readonly Fault[] {
  const { fault, history, sentinel, cluster } = values;
  const draw = (): readonly Fault[] => {
    if (sentinel) return ofSentinels(random);
    if (cluster) return ofCluster(random);
    if (values['slow-blocks']) return ofSlowBlocks(random);
    if (values.channels) return ofChannels(stage, random);
    return history ? faultsOf(stage, random, run) : anyOf(stage, random);
  };
  if (fault === undefined) return draw();
  for (let tries = 0; tries < 10_000; tries += 1) {
    const [drawn] = history ? [drawOne(stage, random)] : draw();
    if (drawn !== undefined && new RegExp(fault).test(drawn.kind)) return [drawn];
  }
  throw new Error(`no fault is called ${fault}`);
}

/** Those of payments in other tokens play no part, and what lanes spend is counted for payments. */
function ofChannels(stage: Stage, random: SeededRandom): readonly Fault[] {
  for (;;) {
    const drawn = anyOf(stage, random);
    if (!drawn.some((fault) => [budget, hostileTokens, fatBatch].includes(fault))) return drawn;
  }
}

async function playOne(
  stage: Stage,
  seed: number,
  run: number,
): Promise<{
  readonly played: Played<Counted>;
  readonly faults: readonly Fault[];
  readonly title: string;
}> {
  const random = diceOf(seed, run);
  const faults = drawFaults(stage, random, run);
  const payments = values.history ? random.between(2, 5) : random.between(2, 8);
  const startedAt = Date.now();
  const names = faults.map(({ name }) => name).join('; ');
  const playing: Promise<Played<Counted>> = values.history
    ? playHistoryRun(stage, random, { name: `run ${run}`, payments, faults })
    : values.channels
      ? playChannelRun(stage, random, { shops: random.pick([1, 1, 2]), faults })
      : playRun(stage, random, { payments, faults, bringApprovals: true });
  const played = await playing.catch((error: unknown): Played<Counted> => ({
    deals: [],
    violations: [`it broke off: ${String(error)}`],
  }));
  const seconds = ((Date.now() - startedAt) / 1000).toFixed(1);
  const end = played.violations.length === 0 ? 'ok' : 'FAILED';
  const what = values.channels ? `${played.deals.length} actions` : `${payments} payments`;
  const title = `run ${run}: ${what}, ${names}: ${end} ${seconds} s`;
  return { played, faults, title };
}

/** Plays every run of its share on one deployment, and tells its parent. */
async function work(seed: number, runs: readonly number[]): Promise<void> {
  const tell = (news: JobEvent): void => {
    process.send?.(news);
  };
  const tally = new Tally();
  let stage = await build(seed);
  let hasFailed = false;
  const leaving = new AbortController();
  // The end of the sequence ends this process; no child may stay behind.
  const leave = (): void => {
    leaving.abort();
    void stage.stop().finally(() => process.exit(1));
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, leave);
  process.once('disconnect', leave);
  try {
    for (const run of runs) {
      const { played, faults, title } = await playOne(stage, seed, run);
      // It broke off as its deployment was taken away, and nothing is known of it.
      if (leaving.signal.aborted) await new Promise<never>(() => undefined);
      tally.add(faults, played.deals);
      const reached = stage.fleet.reached.splice(0);
      if (values.history) tally.addReached(reached);
      const lines = [title, ...stage.notes.map((note) => `  (${note})`)];
      if (played.violations.length === 0) {
        tell({ kind: 'played', run, lines });
        continue;
      }
      lines.push(...played.violations.map((violation) => `  ${violation}`));
      tell({ kind: 'failed', run, lines, logs: stage.logs() });
      if (!values['keep-going']) {
        hasFailed = true;
        break;
      }
      // What one failure leaves behind must not be the next one's.
      await stage.stop();
      stage = await build(seed);
    }
    if (values.history && !hasFailed) {
      const found = await playHistoryEnd(stage);
      if (found.length > 0) tell({ kind: 'broken', lines: ['at the end:', ...found] });
    }
    const open = await jobsLeft(stage);
    if (open.length > 0) tell({ kind: 'broken', lines: [`queue tools show ${open.join(', ')}`] });
  } finally {
    await stage.stop();
  }
  tell({ kind: 'tally', counts: tally.counts() });
}

async function build(seed: number): Promise<Stage> {
  const history = values.history ? await History.start(new SeededRandom(seed)) : undefined;
  const main = await packService();
  const stage = await Stage.build({
    main,
    redis: values.sentinel ? 'sentinel' : values.cluster ? 'cluster' : undefined,
    queue: values['queue-redis'] ? await QueueRedis.start() : undefined,
    hasTreasury: values.treasury,
    hasSlowBlocks: values['slow-blocks'],
    ...(history !== undefined && { history }),
  });
  try {
    stage.flow = await learnFlow(stage, new SeededRandom(seed));
    return stage;
  } catch (error) {
    await stage.stop();
    throw error;
  }
}

/** Jobs of a process that died are seen as such after a while. */
async function jobsLeft(stage: Stage): Promise<readonly string[]> {
  const deadline = Date.now() + JOBS_TIMEOUT_MS;
  for (;;) {
    const open = await stage.openJobs();
    if (open.length === 0 || Date.now() > deadline) return open;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

function readProgress(): Progress | undefined {
  if (values.restart || !existsSync(PROGRESS)) return undefined;
  return JSON.parse(readFileSync(PROGRESS, 'utf8')) as Progress;
}

function writeProgress(progress: Progress): void {
  mkdirSync(dirname(PROGRESS), { recursive: true });
  writeFileSync(PROGRESS, JSON.stringify(progress));
}

async function lead(): Promise<number> {
  const progress = values.only === undefined ? readProgress() : undefined;
  const given = values.seed === undefined ? undefined : Number(values.seed);
  const isContinued = progress !== undefined && (given === undefined || given === progress.seed);
  const seed = given ?? progress?.seed ?? Math.floor(Math.random() * 1_000_000);
  const only = values.only === undefined ? undefined : Number(values.only);
  const first = only ?? (isContinued ? progress.done + 1 : 1);
  const last = only ?? Number(values.runs);
  const mutant = process.env['CHAOS_MUTANT'];
  const subject = mutant === undefined ? '' : `mutant ${mutant}, `;
  console.log(`${subject}seed ${seed}, runs ${first} to ${last}`);
  await packService();
  const startedAt = Date.now();
  const jobs = Math.max(1, Math.min(Number(values.jobs), last - first + 1));
  const done = new Set<number>();
  const failed: number[] = [];
  const tally = new Tally();
  let finished = first - 1;
  const hear = (news: JobEvent): void => {
    if (news.kind === 'tally') {
      tally.merge(news.counts);
      return;
    }
    for (const line of news.lines) console.log(line);
    if (news.kind === 'broken') {
      failed.push(0);
      return;
    }
    done.add(news.run);
    if (news.kind === 'failed') {
      failed.push(news.run);
      const file = join(CACHE, `${MODE}-${seed}-${news.run}.log`);
      writeFileSync(file, news.logs);
      console.log(
        `  Again with: npm run test:chaos -- ${PARTS.map((part) => `--${part} `).join('')}--seed ${seed} --only ${news.run}. Logs: ${file}`,
      );
      return;
    }
    while (done.has(finished + 1) && !failed.includes(finished + 1)) finished += 1;
    if (only === undefined) writeProgress({ seed, done: finished });
  };
  const exits = Array.from({ length: jobs }, (_, job) =>
    startJob({ seed, first, last, jobs, job }, hear),
  );
  const codes = await Promise.all(exits);
  console.log(tally.report());
  const seconds = (Date.now() - startedAt) / 1000;
  const each = (seconds / Math.max(1, done.size)).toFixed(1);
  console.log(
    `${done.size} runs, ${failed.length} failed, ${seconds.toFixed(0)} s, ${each} s a run`,
  );
  if (failed.length > 0) console.log(`failed: ${failed.join(' ')}`);
  return failed.length === 0 && codes.every((code) => code === 0) ? 0 : 1;
}

interface Share {
  readonly seed: number;
  readonly first: number;
  readonly last: number;
  readonly jobs: number;
  readonly job: number;
}

function startJob(share: Share, hear: (news: JobEvent) => void): Promise<number> {
  return new Promise((resolve) => {
    const child = fork(
      fileURLToPath(import.meta.url),
      [...process.argv.slice(2), '--job', JSON.stringify(share)],
      { execArgv: process.execArgv },
    );
    child.on('message', (news) => {
      hear(news as JobEvent);
    });
    child.on('exit', (code) => {
      resolve(code ?? 1);
    });
  });
}

if (values.job === undefined) {
  process.exit(await lead());
} else {
  const { seed, first, last, jobs, job } = JSON.parse(values.job) as Share;
  const runs: number[] = [];
  for (let run = first + job; run <= last; run += jobs) runs.push(run);
  await work(seed, runs);
  process.exit(0);
}
