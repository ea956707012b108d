import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { startPostgres } from '../../sandbox/postgres.js';
import { eventually } from '../support/http.js';
import { ROOT } from '../support/programs.js';

/** A process of its own, as what is tested is that it lives on. */
const PROGRAM = `
  import { sql } from 'kysely';
  import { connectDatabase } from '${join(ROOT, 'dist/history/postgres/database.js')}';
  import { Secret } from '${join(ROOT, 'dist/platform/config/secret.js')}';
  const { db } = connectDatabase(new Secret(process.env.URL));
  console.log('asking');
  await sql\`select pg_sleep(60)\`.execute(db).catch(() => console.log('refused'));
  setTimeout(() => console.log('alive'), 300);
`;

it('a connection that is lost while it is used fails its question, and not the process', async () => {
  const postgres = await startPostgres();
  const child = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM], {
    cwd: ROOT,
    env: { URL: postgres.url },
  });
  let output = '';
  const noted = (piece: Buffer): void => {
    output += piece.toString();
  };
  child.stdout.on('data', noted);
  child.stderr.on('data', noted);
  const exit = new Promise((resolve) => child.once('exit', resolve));
  try {
    await eventually('it asks', () => output.includes('asking'));
    await new Promise((resolve) => setTimeout(resolve, 1000));
    await postgres.crash();
    await eventually('it lives', () => output.includes('alive') || child.exitCode !== null);
    expect(output).toBe('asking\nrefused\nalive\n');
    child.kill();
    await exit;
  } finally {
    child.kill('SIGKILL');
    await postgres.stop();
  }
});
