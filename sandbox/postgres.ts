import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { freePort, type Started, startProgram } from './processes.js';

export interface SandboxPostgres extends Started {
  readonly port: number;
  /** Of a database of its own, with user and password. */
  readonly url: string;
  readonly dir: string;
  readonly settings: readonly string[];
  /** Ends it as a power cut would, without a checkpoint, and leaves none of its processes behind. */
  crash(): Promise<void>;
}

interface Place {
  readonly port: number;
  readonly dir: string;
  readonly password: string;
  /** Of the server, each `name=value`. */
  readonly settings: readonly string[];
}

const USER = 'x402';
const DATABASE = 'x402';
/** Where Debian keeps its servers, a folder for each major version; they are not on PATH. */
const DEBIAN = '/usr/lib/postgresql';

/** Small: a database that is tried out has little in it. */
const SETTINGS = ['shared_buffers=32MB', 'max_connections=50'];

/**
 * A private PostgreSQL on the loopback interface, as durable as its defaults.
 *
 * @param settings - of the server beyond the sandbox's, each `name=value`.
 */
export async function startPostgres(
  port?: number,
  settings: readonly string[] = [],
): Promise<SandboxPostgres> {
  const dir = mkdtempSync(join(tmpdir(), 'x402-postgres-'));
  try {
    const place = {
      port: port ?? (await freePort()),
      dir,
      password: randomBytes(16).toString('hex'),
      settings,
    };
    createCluster(place);
    const postgres = await run(place);
    await createDatabase(place);
    return postgres;
  } catch (error) {
    rmSync(dir, { recursive: true, force: true });
    throw error;
  }
}

/** Starts it again on the data it left, at the same port. */
export async function restartPostgres(stopped: SandboxPostgres): Promise<SandboxPostgres> {
  const { port, dir, url, settings } = stopped;
  return run({ port, dir, password: new URL(url).password, settings });
}

async function run({ port, dir, password, settings }: Place): Promise<SandboxPostgres> {
  const started = await startProgram(
    serverProgram('postgres'),
    [
      '-D',
      join(dir, 'data'),
      '-p',
      String(port),
      '-h',
      '127.0.0.1',
      // No socket file: the port is known to this process alone.
      '-k',
      '',
      // Of two of one name the later counts.
      ...[...SETTINGS, ...settings].flatMap((one) => ['-c', one]),
    ],
    (output) => output.includes('database system is ready to accept connections'),
    { cwd: dir, ...asServerUser() },
  );
  // SIGINT does not wait for clients. SIGKILL would leave the processes of the server behind: SIGQUIT
  // ends them all at once, and what is on disk is as after a crash.
  const crash = (): Promise<void> => started.stop('SIGQUIT');
  return {
    ...started,
    port,
    url: `postgres://${USER}:${password}@127.0.0.1:${port}/${DATABASE}`,
    dir,
    settings,
    crash,
    stop: async (signal = 'SIGINT') => {
      await started.stop(
        signal === 'SIGKILL' ? 'SIGQUIT' : signal === 'SIGTERM' ? 'SIGINT' : signal,
      );
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** Where a program of the server is: on PATH, else the newest in Debian's folder. */
function serverProgram(name: 'initdb' | 'postgres'): string {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN) : [];
  const newestFirst = versions.sort((a, b) => Number(b) - Number(a));
  const folders = [
    ...(process.env['PATH'] ?? '').split(delimiter),
    ...newestFirst.map((version) => join(DEBIAN, version, 'bin')),
  ];
  const found = folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
  if (found === undefined) {
    throw new Error(`${name} of PostgreSQL was found neither on PATH nor in ${DEBIAN}`);
  }
  return found;
}

/** The server refuses to run as root: then it runs as Debian's user for it, or as an account without rights. */
function asServerUser(): { readonly uid?: number; readonly gid?: number } {
  if (process.getuid?.() !== 0) return {};
  for (const user of ['postgres', 'nobody']) {
    const [uid, gid] = ['-u', '-g'].map((flag) => {
      const { status, stdout } = spawnSync('id', [flag, user], { encoding: 'utf8' });
      return status === 0 ? Number(stdout) : undefined;
    });
    if (uid !== undefined && gid !== undefined) return { uid, gid };
  }
  throw new Error(
    'PostgreSQL does not run as root, and there is neither a user postgres nor nobody',
  );
}

function createCluster({ dir, password }: Place): void {
  const user = asServerUser();
  const passwordFile = join(dir, 'password');
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (user.uid !== undefined && user.gid !== undefined) {
    for (const path of [dir, passwordFile]) chownSync(path, user.uid, user.gid);
  }
  const { status, stderr, error } = spawnSync(
    serverProgram('initdb'),
    [
      '-D',
      join(dir, 'data'),
      '-U',
      USER,
      '--pwfile',
      passwordFile,
      '--auth',
      'scram-sha-256',
      '--encoding',
      'UTF8',
      '--locale',
      'C',
      '--no-sync',
    ],
    { cwd: dir, encoding: 'utf8', ...user },
  );
  rmSync(passwordFile);
  if (status !== 0) throw new Error(`initdb failed: ${error?.message ?? stderr}`);
}

async function createDatabase({ port, password }: Place): Promise<void> {
  const { Client } = (await import('pg')).default;
  const client = new Client({
    host: '127.0.0.1',
    port,
    user: USER,
    password,
    database: 'postgres',
  });
  await client.connect();
  try {
    await client.query(`create database ${DATABASE}`);
  } finally {
    await client.end();
  }
}
