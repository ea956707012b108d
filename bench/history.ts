import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '../sandbox/postgres.js';
import { freePort } from '../sandbox/processes.js';
import { connectDatabase } from '../src/history/postgres/database.js';
import { Partitions } from '../src/history/postgres/partitions.js';
import { Secret } from '../src/platform/config/secret.js';
import { readArguments } from './support/command-line.js';
import { childrenOf, drain, reconcile, settleMany, sizesOf } from './support/history-archiving.js';
import {
  countTotals,
  exportAll,
  randomOf,
  readAll,
  readBooks,
  readingsOf,
  sellersOf,
} from './support/history-reading.js';
import { type HistoryReport, printHistoryReport } from './support/history-report.js';
import { fillHistory, type LargeHistory, spanOf } from './support/history-rows.js';
import { describeMachine } from './support/machine.js';
import { pidOf } from './support/processor-time.js';
import { BenchStage } from './support/stage.js';

/**
 * `npm run bench:history -- --rows 5000000`: settles for real, lets one archiver work off what has gathered,
 * reconciles it, fills the history with copies, and times those who read it. `--rows 50000 --settlements 500` is quick.
 */
const MONTHS = 5;
const CONCURRENCY = 300;
const LEVELS = [1, 8];
const FILLING = 2;
const DAY_MS = 86_400_000;
/** A fourth of the memory of a small server; the rest of its settings are PostgreSQL's own. */
const SERVER = ['shared_buffers=1GB', 'max_wal_size=4GB'];

const options = readArguments(1, {
  rows: 5_000_000,
  settlements: 20_000,
  requests: 4000,
});
const { sizes, seed } = options;
const machine = describeMachine();
const problems: string[] = [];
const folder = mkdtempSync(join(tmpdir(), 'x402-bench-'));
const postgres = await startPostgres(await freePort(), SERVER);
const stage = await BenchStage.build(seed);
const { db, pool } = connectDatabase(new Secret(postgres.url));

try {
  const service = await stage.ours({ DATABASE_URL: postgres.url });
  const parts = { stage, postgres, url: service.url, problems };
  await settleMany(parts, Math.min(500, sizes.settlements), 100);
  await drain(parts, sizes.settlements, 'nothing');

  const first = await settleMany(parts, sizes.settlements, CONCURRENCY);
  console.log(`  ${first.settlements} settled`);
  const quiet = await drain(parts, first.settlements, 'nothing');
  const second = await settleMany(parts, sizes.settlements, CONCURRENCY);
  console.log(`  ${second.settlements} settled`);
  const busy = await drain(parts, second.settlements, 'settles');
  const settled = {
    settlements: first.settlements + second.settlements,
    perSecond: (first.perSecond + second.perSecond) / 2,
    concurrency: CONCURRENCY,
  };
  const reconciled = await reconcile(parts, settled.settlements);
  await service.stop();
  console.log(`  ${reconciled.settlements} reconciled`);
  const archivedSizes = await sizesOf(pool);

  const history: LargeHistory = { seed, rows: sizes.rows, ...spanOf(Date.now(), MONTHS) };
  await makeMonths(history);
  const filled = await fillHistory(postgres.url, history, FILLING, (rows) => {
    if (rows % 500_000 === 0) console.log(`  ${rows} of ${sizes.rows} rows`);
  });
  const largeSizes = await sizesOf(pool);

  const random = randomOf(`${seed} sellers`);
  const sellers = sellersOf(history, random);
  const keysFile = join(folder, 'keys.json');
  writeFileSync(keysFile, JSON.stringify({ version: 1, keys: sellers.records }));
  const api = await stage.ours({
    ROLES: 'api',
    DATABASE_URL: postgres.url,
    API_KEYS_FILE: keysFile,
  });
  const readings = await readingsOf(history, sellers, postgres.url, sizes.requests);
  const server = pidOf(postgres);
  const programs = () => ({ service: [pidOf(api)], postgres: [server, ...childrenOf(server)] });
  const read = await readAll({ url: api.url, programs }, readings, LEVELS);
  problems.push(...read.problems);
  const targets = new Map(readings.map(({ what, targetMs }) => [what, targetMs]));
  const totals = await countTotals(api.url, history, sellers);
  const exports = await exportAll(api.url, sellers.largest, (rows) => rows > 0);
  const day = Math.floor((history.fromMs + history.toMs) / 2 / DAY_MS) * DAY_MS;
  const books = await readBooks(postgres.url, day);
  const { rows: version } = await pool.query<{ readonly server_version: string }>(
    'show server_version',
  );

  const report: HistoryReport = {
    name: 'history',
    at: new Date().toISOString(),
    seed,
    machine,
    postgres: /^\S+/.exec(version[0]?.server_version ?? '')?.[0] ?? 'unknown',
    settled,
    drains: [quiet, busy],
    reconciled,
    archivedSizes,
    sizes: largeSizes,
    filled: { rows: history.rows, seconds: filled.seconds, months: MONTHS + 1 },
    reads: read.cells.map((cell) => {
      const targetMs = targets.get(cell.what);
      return { ...cell, ...(targetMs !== undefined && { targetMs }) };
    }),
    totals,
    exports,
    books,
    problems,
  };
  printHistoryReport(report);
  options.save(report);
  process.exitCode = problems.length === 0 ? 0 : 1;
} finally {
  await db.destroy();
  await stage.stop();
  await postgres.stop('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
}

async function makeMonths({ fromMs, toMs }: LargeHistory): Promise<void> {
  const days = Math.ceil((toMs - fromMs) / DAY_MS);
  await new Partitions(pool, undefined).makeFor(
    Array.from({ length: days + 1 }, (_, day) => new Date(Math.min(toMs, fromMs + day * DAY_MS))),
  );
}
