import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import type pg from 'pg';
import type { SandboxPostgres } from '../../sandbox/postgres.js';
import { listKey, outboxKey } from '../../src/settlement/ledger/keys.js';
import { beginAudit } from './chain-audit.js';
import type { Drain, Reconciled, Settled, Sizes } from './history-report.js';
import { type Answered, runLoad, settleProblem } from './load.js';
import { pidOf, watchProcessors } from './processor-time.js';
import { type BenchStage, CHAIN_ID, OUR_SIGNER } from './stage.js';

const RECONCILE = fileURLToPath(new URL('../../dist/history/reconcile.js', import.meta.url));
/** An archiver that has caught up leaves no more than it takes at a time. */
const CAUGHT_UP = 200;
const LOOK_MS = 10;
/** Beside a drain: few enough to cost little, and so many that the newest entry is always another one. */
const TRICKLE_PER_SECOND = 20;
const PERMIT2_PART = 5;

interface ArchivingParts {
  readonly stage: BenchStage;
  readonly postgres: SandboxPostgres;
  /** Settles, and does not archive. */
  readonly url: string;
  readonly problems: string[];
}

/** Settles, one in five by Permit2, and waits until all of it is final. */
export async function settleMany(
  { stage, url, problems }: ArchivingParts,
  settlements: number,
  concurrency: number,
): Promise<Settled> {
  const { factory, client } = stage;
  const permit2 = Math.floor(settlements / PERMIT2_PART);
  const kinds = [
    { kind: 'permit2' as const, count: permit2 },
    { kind: 'eip3009' as const, count: settlements - permit2 },
  ];
  let [seconds, completed] = [0, 0];
  for (const { kind, count } of kinds) {
    const bodies = factory.make(kind, count);
    const audit = await beginAudit(client, factory, kind, [OUR_SIGNER.address]);
    const answers: Answered[] = [];
    const result = await runLoad({
      url,
      path: '/settle',
      concurrency,
      bodies,
      problemOf: settleProblem,
      onAnswer: (answer) => answers.push(answer),
    });
    if (result.failed > 0)
      problems.push(`${result.failed} failed ${JSON.stringify(result.failures)}`);
    problems.push(...(await audit.findings(answers)));
    seconds += result.seconds;
    completed += result.completed;
  }
  await allFinal(stage.redis.url);
  return { settlements: completed, perSecond: completed / seconds, concurrency };
}

async function allFinal(redisUrl: string): Promise<void> {
  const redis = new Redis(redisUrl);
  try {
    while ((await redis.zcard(listKey(CHAIN_ID, 'live'))) > 0) await pause(100);
  } finally {
    redis.disconnect();
  }
}

/** Starts one archiver on what has gathered, and ends it when it has caught up. */
export async function drain(
  { stage, postgres, url, problems }: ArchivingParts,
  settlements: number,
  beside: Drain['beside'],
): Promise<Drain> {
  const redis = new Redis(stage.redis.url);
  const gathered = await outboxOf(redis);
  const trickle = beside === 'settles' ? beginTrickle(stage, url) : undefined;
  const archiver = await stage.ours({
    ROLES: 'history',
    SIGNER_KEYS: '',
    DATABASE_URL: postgres.url,
  });
  try {
    const first = await outboxWhen(redis, ({ oldest }) => oldest !== gathered.oldest);
    const ends = watchProcessors({
      archiver: [pidOf(archiver)],
      postgres: [pidOf(postgres), ...childrenOf(pidOf(postgres))],
      redis: [pidOf(stage.redis)],
    });
    const begun = performance.now();
    const last = await outboxWhen(redis, ({ waiting }) => waiting <= CAUGHT_UP);
    const seconds = (performance.now() - begun) / 1000;
    const cores = ends();
    const entries = last.added - last.waiting - (first.added - first.waiting);
    problems.push(...((await trickle?.end()) ?? []));
    // Reconciliation later needs all of it archived.
    await allFinal(stage.redis.url);
    await outboxWhen(redis, ({ waiting }) => waiting === 0);
    return {
      beside,
      entries,
      seconds,
      cores,
      settlements: Math.round((entries * settlements) / gathered.waiting),
    };
  } finally {
    await trickle?.end();
    await archiver.stop();
    redis.disconnect();
  }
}

interface OutboxCount {
  readonly waiting: number;
  /** Ever. */
  readonly added: number;
  readonly oldest: string | undefined;
}

async function outboxOf(redis: Redis): Promise<OutboxCount> {
  const flat = (await redis.xinfo('STREAM', outboxKey(CHAIN_ID))) as readonly unknown[];
  const valueOf = (name: string): unknown => flat[flat.indexOf(name) + 1];
  const first = valueOf('first-entry') as readonly [string] | null;
  return {
    waiting: Number(valueOf('length')),
    added: Number(valueOf('entries-added')),
    oldest: first?.[0],
  };
}

async function outboxWhen(
  redis: Redis,
  isSo: (count: OutboxCount) => boolean,
): Promise<OutboxCount> {
  for (;;) {
    const count = await outboxOf(redis);
    if (isSo(count)) return count;
    await pause(LOOK_MS);
  }
}

/** A few settles a second, until they are ended: then what is noted never ends either, as in a day's work. */
function beginTrickle(stage: BenchStage, url: string): { end(): Promise<readonly string[]> } {
  let isOver = false;
  const problems: string[] = [];
  const run = async (): Promise<void> => {
    while (!isOver) {
      const { failed, failures } = await runLoad({
        url,
        path: '/settle',
        concurrency: 2 * TRICKLE_PER_SECOND,
        problemOf: settleProblem,
        bodies: stage.factory.make('eip3009', TRICKLE_PER_SECOND),
        pacePerSecond: TRICKLE_PER_SECOND,
      });
      if (failed > 0) problems.push(`beside a drain ${failed} failed ${JSON.stringify(failures)}`);
    }
  };
  const running = run();
  return {
    end: async () => {
      isOver = true;
      await running;
      return problems;
    },
  };
}

/** PostgreSQL has a process for each connection, and a few of its own. */
export function childrenOf(pid: number): readonly number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
    return text.split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

/** The command, as an operator runs it, over everything that was settled here. */
export async function reconcile(
  { stage, postgres, problems }: ArchivingParts,
  settlements: number,
): Promise<Reconciled> {
  const begun = performance.now();
  const child = spawn(process.execPath, [RECONCILE], {
    env: { PATH: process.env['PATH'] ?? '', ...stage.settings({ DATABASE_URL: postgres.url }) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (text: Buffer) => (output += text.toString()));
  }
  const exitCode = await new Promise<number>((resolve) => {
    child.on('exit', (code) => {
      resolve(code ?? -1);
    });
  });
  const seconds = (performance.now() - begun) / 1000;
  // The node forgets old states; what cannot be checked is no difference.
  if (exitCode !== 0 && exitCode !== 2)
    problems.push(`reconcile ended with ${exitCode}: ${output}`);
  const read = Number(/(\d+) settlements/.exec(output)?.[1] ?? 0);
  if (read < settlements) problems.push(`reconcile read ${read} of ${settlements} settlements`);
  return { settlements: read, seconds, exitCode };
}

/** Of the tables that grow with settlements, over all months. */
export async function sizesOf(pool: pg.Pool): Promise<Sizes> {
  const { rows } = await pool.query<{
    readonly parent: string;
    readonly index: string | null;
    readonly bytes: string;
  }>(
    `with tables as (
      select relid, case when relid = 'x402.settlement_ids'::regclass then 'settlement_ids' else 'settlements' end
        as parent
      from (select relid from pg_partition_tree('x402.settlements') where isleaf
        union all select 'x402.settlement_ids'::regclass) as leaf)
    select parent, null as index, sum(pg_table_size(relid)) as bytes from tables group by parent
    union all
    select parent, coalesce(whole.relname, own.relname), sum(pg_relation_size(indexrelid))
    from tables join pg_index on indrelid = relid join pg_class own on own.oid = indexrelid
      left join pg_inherits on inhrelid = indexrelid left join pg_class whole on whole.oid = inhparent
    group by 1, 2`,
  );
  const { rows: counted } = await pool.query<{ readonly rows: string }>(
    'select count(*) as rows from x402.settlements',
  );
  const table = (parent: string): number =>
    Number(rows.find((row) => row.parent === parent && row.index === null)?.bytes ?? 0);
  return {
    rows: Number(counted[0]?.rows ?? 0),
    table: table('settlements'),
    idTable: table('settlement_ids'),
    indexes: Object.fromEntries(
      rows.flatMap(({ index, bytes }) => (index === null ? [] : [[index, Number(bytes)] as const])),
    ),
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
