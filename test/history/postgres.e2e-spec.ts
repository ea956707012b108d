import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { afterEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { restartPostgres, type SandboxPostgres, startPostgres } from '../../sandbox/postgres.js';
import { eventually } from '../support/http.js';

/** Processes whose command line or parent leads to this data folder. */
function processesOf({ dir }: SandboxPostgres): readonly string[] {
  const all = execFileSync('ps', ['-eo', 'pid=,ppid=,args='], { encoding: 'utf8' }).split('\n');
  const server = all.filter((line) => line.includes(`${dir}/data`));
  const pids = new Set(server.map((line) => line.trim().split(/\s+/)[0]));
  return all.filter((line) => {
    const [pid, parent] = line.trim().split(/\s+/);
    return pids.has(pid) || pids.has(parent);
  });
}

async function query(url: string, text: string): Promise<readonly unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}

describe('the PostgreSQL of sandbox and tests', () => {
  let postgres: SandboxPostgres | undefined;
  afterEach(() => postgres?.stop());

  it('keeps what was committed over a crash, and leaves neither process nor folder', async () => {
    const first = await startPostgres();
    postgres = first;
    await query(first.url, 'create table kept as select 42 as answer');
    await first.crash();
    await eventually('no process', () => processesOf(first).length === 0);
    postgres = await restartPostgres(first);
    expect(await query(postgres.url, 'select answer from kept')).toEqual([{ answer: 42 }]);
    const last = postgres;
    // A client that stays does not keep it.
    const client = new pg.Client({ connectionString: last.url });
    client.on('error', () => undefined);
    await client.connect();
    await last.stop('SIGTERM');
    await eventually('no process', () => processesOf(last).length === 0);
    expect(existsSync(last.dir)).toBe(false);
  });

  it('lets nobody in without its password', async () => {
    postgres = await startPostgres();
    const url = new URL(postgres.url);
    url.password = 'guessed';
    await expect(query(url.href, 'select 1')).rejects.toThrow(/password/);
  });
});
