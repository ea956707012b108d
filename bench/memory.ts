import { Redis } from 'ioredis';
import pg from 'pg';
import { startPostgres } from '../sandbox/postgres.js';
import { freePort } from '../sandbox/processes.js';
import { listKey, outboxKey } from '../src/settlement/ledger/keys.js';
import { beginAudit } from './support/chain-audit.js';
import { readArguments } from './support/command-line.js';
import { type Answered, runLoad, settleProblem } from './support/load.js';
import { describeMachine } from './support/machine.js';
import {
  type MemoryReport,
  type MemorySample,
  printMemoryReport,
  type Rest,
} from './support/memory-report.js';
import { memoryMiBOf, pidOf } from './support/processor-time.js';
import { usedBytes } from './support/redis-memory.js';
import { BenchStage, CHAIN_ID, OUR_SIGNER } from './support/stage.js';

/**
 * `npm run bench:memory -- --settlements 200000 --pace 250 --minutes 1`: settles at an even pace with a history, and
 * looks at the memory of Redis meanwhile. Finished settlements are evicted `HOT_MINUTES` later, so it stops growing.
 */
const SLICE_SECONDS = 15;
const CONCURRENCY = 600;
const SAMPLE_MS = 2000;
/** Of the node, in blocks: half a minute. With all of them it takes more memory than the machine has. */
const STATES = 64;
/** Beyond `HOT_MINUTES`: until the last one is final, archived, and looked at. */
const PATIENCE_SECONDS = 120;

const options = readArguments(1, { settlements: 200_000, pace: 250, minutes: 1 });
const { sizes, seed } = options;
const machine = describeMachine();
const problems: string[] = [];
const postgres = await startPostgres(await freePort());
const stage = await BenchStage.build(seed, { statesMost: STATES });
const redis = new Redis(stage.redis.url);

const samples: MemorySample[] = [];
const answers: Answered[] = [];

async function coolingAndWaiting(): Promise<readonly [cooling: number, waiting: number]> {
  return Promise.all([redis.zcard(listKey(CHAIN_ID, 'cooling')), redis.xlen(outboxKey(CHAIN_ID))]);
}

try {
  const service = await stage.ours({
    ROLES: 'api,worker,history',
    DATABASE_URL: postgres.url,
    HOT_MINUTES: String(sizes.minutes),
  });
  const audit = await beginAudit(stage.client, stage.factory, 'eip3009', [OUR_SIGNER.address]);
  const before = (await usedBytes(redis)) / 2 ** 20;
  const begun = performance.now();
  const sample = async (): Promise<void> => {
    const [cooling, waiting] = await coolingAndWaiting();
    samples.push({
      seconds: (performance.now() - begun) / 1000,
      settled: answers.length,
      cooling,
      waiting,
      redisMiB: (await usedBytes(redis)) / 2 ** 20,
      serviceMiB: memoryMiBOf(pidOf(service)) ?? 0,
    });
  };
  const sampling = setInterval(() => void sample().catch(() => undefined), SAMPLE_MS);
  const slice = sizes.pace * SLICE_SECONDS;
  for (let done = 0; done < sizes.settlements; done += slice) {
    const { failed, failures } = await runLoad({
      url: service.url,
      path: '/settle',
      concurrency: CONCURRENCY,
      bodies: stage.factory.make('eip3009', Math.min(slice, sizes.settlements - done)),
      pacePerSecond: sizes.pace,
      problemOf: settleProblem,
      onAnswer: (answer) => answers.push(answer),
    });
    if (failed > 0) problems.push(`${failed} failed ${JSON.stringify(failures)}`);
    const { redisMiB = 0 } = samples.at(-1) ?? {};
    console.log(`  ${answers.length} of ${sizes.settlements}, Redis ${redisMiB.toFixed(1)} MiB`);
  }
  await sample();
  clearInterval(sampling);
  problems.push(...(await audit.findings(answers)));

  const report: MemoryReport = {
    name: 'memory',
    at: new Date().toISOString(),
    seed,
    machine,
    hotMinutes: sizes.minutes,
    perSecond: sizes.pace,
    samples,
    rest: await restOf(before),
    problems,
  };
  const { archived, cooling } = report.rest;
  if (archived !== answers.length) problems.push(`${archived} of ${answers.length} were archived`);
  if (cooling > 0) problems.push(`${cooling} settlements have not left`);
  printMemoryReport(report);
  options.save(report);
  process.exitCode = problems.length === 0 ? 0 : 1;
} finally {
  redis.disconnect();
  await stage.stop();
  await postgres.stop('SIGKILL');
}

/** Waits until everything that was settled has left, or should have. */
async function restOf(redisMiBBefore: number): Promise<Rest> {
  const begun = performance.now();
  const seconds = (): number => (performance.now() - begun) / 1000;
  let [cooling, waiting] = await coolingAndWaiting();
  while (cooling + waiting > 0 && seconds() < sizes.minutes * 60 + PATIENCE_SECONDS) {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    [cooling, waiting] = await coolingAndWaiting();
  }
  return {
    seconds: seconds(),
    cooling,
    redisMiBBefore,
    keys: await redis.dbsize(),
    redisMiB: (await usedBytes(redis)) / 2 ** 20,
    archived: await finalInArchive(),
  };
}

async function finalInArchive(): Promise<number> {
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  try {
    const { rows } = await client.query<{ readonly count: string }>(
      `select count(*) from x402.settlements where state = 'finalized' and is_paid and sale = 'sold'`,
    );
    return Number(rows[0]?.count ?? 0);
  } finally {
    await client.end();
  }
}
