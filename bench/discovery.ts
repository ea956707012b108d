import type pg from 'pg';
import { startPostgres } from '../sandbox/postgres.js';
import { freePort } from '../sandbox/processes.js';
import type { Service } from '../sandbox/service.js';
import { PostgresCalls } from '../src/discovery/postgres/postgres-calls.js';
import { QualityScorer } from '../src/discovery/quality/quality-scorer.js';
import { connectDatabase } from '../src/history/postgres/database.js';
import { migrate } from '../src/history/postgres/migrator.js';
import { Partitions } from '../src/history/postgres/partitions.js';
import { systemClock } from '../src/platform/concurrency/clock.js';
import { Secret } from '../src/platform/config/secret.js';
import { catalogueReadings } from './support/catalogue-reading.js';
import {
  type Beside,
  type CatalogueReport,
  LOSS_ALLOWED,
  lostTo,
  type PacedSettles,
  printCatalogueReport,
  type Rated,
} from './support/catalogue-report.js';
import { fillCatalogue, type LargeCatalogue } from './support/catalogue-rows.js';
import { readArguments } from './support/command-line.js';
import { childrenOf } from './support/history-archiving.js';
import { readAll, type Reading } from './support/history-reading.js';
import { type LoadResult, runLoad, settleProblem } from './support/load.js';
import { describeMachine } from './support/machine.js';
import { pidOf } from './support/processor-time.js';
import { BenchStage } from './support/stage.js';
import { ascending, percentile } from './support/statistics.js';
import { type Answering, type TimedGets, timeGets } from './support/timed-gets.js';

/**
 * `npm run bench:discovery -- --entries 200000`: fills a catalogue, times what is asked of it, the rounds of its rater,
 * and what questions cost the settles beside them. `--entries 20000 --requests 100 --settlements 300` is quick.
 */
const LEVELS = [1, 8];
const CONCURRENCY = 300;
/** Settlements of an entry on the average. */
const CALLS_OF_ENTRY = 3;
const RATED_AT_ONCE = 20;
const DAY_MS = 86_400_000;
const MONTH_DAYS = 30;
/** A fourth of the memory of a small server; the rest of its settings are PostgreSQL's own. */
const SERVER = ['shared_buffers=1GB', 'max_wal_size=4GB'];

const options = readArguments(3, {
  entries: 200_000,
  requests: 1000,
  settlements: 3000,
  /** Questions a second beside settles. */
  asks: 20,
});
const { sizes, seed, rounds } = options;
const machine = describeMachine();
const problems: string[] = [];
const postgres = await startPostgres(await freePort(), SERVER);
const stage = await BenchStage.build(seed);
const { db, pool } = connectDatabase(new Secret(postgres.url));

try {
  await migrate(pool);
  const nowMs = Date.now() - 3_600_000;
  await new Partitions(pool, undefined).makeFor(
    Array.from({ length: MONTH_DAYS + 1 }, (_, day) => new Date(nowMs - day * DAY_MS)),
  );
  const { entries, requests } = sizes;
  const catalogue: LargeCatalogue = { seed, entries, calls: CALLS_OF_ENTRY * entries, nowMs };
  const filled = await fillCatalogue(postgres.url, catalogue, (written) => {
    if (written % 20_000 === 0) console.log(`  ${written} of ${entries} entries`);
  });
  const ratings = await rateSome();
  const readings = await catalogueReadings(catalogue, pool, requests);
  const api = await stage.ours({ ROLES: 'api', DATABASE_URL: postgres.url });
  const read = await readAll(answeringOf(api), readings, LEVELS);
  await api.stop();
  problems.push(...read.problems);
  const targets = new Map(readings.map(({ what, targetMs }) => [what, targetMs]));
  const beside = await settleBeside(readings);

  const report: CatalogueReport = {
    name: 'discovery',
    at: new Date().toISOString(),
    seed,
    machine,
    postgres: await versionOf(pool),
    filled: { entries, calls: catalogue.calls, ...filled },
    reads: read.cells.map((cell) => {
      const targetMs = targets.get(cell.what);
      return { ...cell, ...(targetMs !== undefined && { targetMs }) };
    }),
    ratings,
    beside,
    problems,
  };
  printCatalogueReport(report);
  options.save(report);
  process.exitCode = problems.length === 0 ? 0 : 1;
} finally {
  await db.destroy();
  await stage.stop();
  await postgres.stop('SIGKILL');
}

function answeringOf(service: Service): Answering {
  const server = pidOf(postgres);
  return {
    url: service.url,
    programs: () => ({ service: [pidOf(service)], postgres: [server, ...childrenOf(server)] }),
  };
}

async function versionOf(database: pg.Pool): Promise<string> {
  const { rows } = await database.query<{ readonly server_version: string }>('show server_version');
  return /^\S+/.exec(rows[0]?.server_version ?? '')?.[0] ?? 'unknown';
}

/** Rounds of the rater of this build, before any process rates. */
async function rateSome(): Promise<readonly Rated[]> {
  const failures: unknown[] = [];
  const rater = new QualityScorer(new PostgresCalls(db), systemClock, {
    info: () => undefined,
    error: (failure: unknown) => failures.push(failure),
  });
  const timed = async (what: string, order: string, count: number): Promise<Rated> => {
    const { rows } = await pool.query<{ readonly id: Buffer }>(
      `select id from x402.catalogue_entries order by ${order} limit $1`,
      [count * RATED_AT_ONCE],
    );
    const times: number[] = [];
    for (let round = 0; round < count; round += 1) {
      const ids = rows.slice(round * RATED_AT_ONCE, (round + 1) * RATED_AT_ONCE);
      // Due longest of all: the round takes these.
      await pool.query(
        `update x402.catalogue_entries set due_at = 'epoch' where id = any ($1::bytea[])`,
        [ids.map(({ id }) => id)],
      );
      const begun = performance.now();
      await rater.round();
      times.push(performance.now() - begun);
    }
    console.log(`  the rater, ${what}`);
    const sorted = ascending(times);
    return { what, rounds: count, p50: percentile(sorted, 0.5), most: sorted.at(-1) ?? 0 };
  };
  const rated = [
    await timed('entries of the middle', 'id', 25),
    await timed('those with the highest score', 'score desc, last_paid_at desc, id desc', 5),
  ];
  problems.push(...failures.map((error) => `the rater: ${String(error)}`));
  return rated;
}

/** In turns, alone and asked, by one process that settles, archives, rates and answers. */
async function settleBeside(readings: readonly Reading[]): Promise<Beside> {
  const service = await stage.ours({ ROLES: 'api,worker,history', DATABASE_URL: postgres.url });
  const settle = async (count: number, pacePerSecond?: number): Promise<LoadResult> => {
    const result = await runLoad({
      url: service.url,
      path: '/settle',
      concurrency: CONCURRENCY,
      problemOf: settleProblem,
      bodies: stage.factory.make('eip3009', count),
      ...(pacePerSecond !== undefined && { pacePerSecond }),
    });
    if (result.failed > 0)
      problems.push(`${result.failed} settles failed ${JSON.stringify(result.failures)}`);
    return result;
  };
  await settle(Math.min(CONCURRENCY, sizes.settlements));
  const ceiling = (await settle(sizes.settlements)).perSecond;
  const pace = ceiling / 2;
  const paced = async (): Promise<PacedSettles> => {
    const { perSecond, latencies, failed } = await settle(sizes.settlements, pace);
    const sorted = ascending(latencies);
    return {
      perSecond,
      failed,
      p50: percentile(sorted, 0.5),
      p99: percentile(sorted, 0.99),
    };
  };
  const seconds = sizes.settlements / pace;
  // One of each kind after the other, as different people ask.
  const kinds = readings.filter(({ targetMs }) => targetMs !== undefined);
  const gets = Array.from({ length: Math.ceil(seconds * sizes.asks) }, (_, index) => {
    const { gets: own } = kinds[index % kinds.length] ?? { gets: [] };
    return own[Math.floor(index / kinds.length) % own.length];
  }).filter((get) => get !== undefined);
  const ask = (): Promise<TimedGets> =>
    timeGets('beside settles', answeringOf(service), LEVELS.at(-1) ?? 1, gets, sizes.asks);
  const alone: PacedSettles[] = [];
  const asked: PacedSettles[] = [];
  let reads: TimedGets | undefined;
  for (let round = 0; round < rounds; round += 1) {
    alone.push(await paced());
    const [settled, answered] = await Promise.all([paced(), ask()]);
    asked.push(settled);
    problems.push(...answered.problems);
    reads = answered;
    console.log(`  settles, round ${round + 1} of ${rounds}`);
  }
  await service.stop();
  if (reads === undefined) throw new Error('at least one round is needed');
  const beside = { ceiling, pace, asksPerSecond: sizes.asks, alone, asked, reads: reads.cell };
  const lost = lostTo(beside);
  if (lost > LOSS_ALLOWED) problems.push(`settles lost ${(100 * lost).toFixed(1)} %`);
  return beside;
}
