import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Started, startProgram } from './processes.js';

export interface SandboxRedis extends Started {
  readonly port: number;
  readonly url: string;
  readonly dir: string;
}

/** The program; another that speaks the same protocol, such as Valkey's, by `REDIS_SERVER`. */
export const REDIS_SERVER = process.env['REDIS_SERVER'] ?? 'redis-server';

/**
 * A private Redis as the service wants it: every write on disk before it is answered, nothing evicted.
 *
 * @param dir - keeps the data for a later start; a folder of its own, removed at the end, when absent.
 * @param more - arguments besides.
 */
export async function startRedis(
  port: number,
  dir?: string,
  more: readonly string[] = [],
): Promise<SandboxRedis> {
  const folder = dir ?? mkdtempSync(join(tmpdir(), 'x402-redis-'));
  const started = await startProgram(
    REDIS_SERVER,
    [
      '--port',
      String(port),
      '--bind',
      '127.0.0.1',
      '--dir',
      folder,
      '--appendonly',
      'yes',
      '--appendfsync',
      'always',
      '--save',
      '',
      '--maxmemory-policy',
      'noeviction',
      ...more,
    ],
    (output) => output.includes('Ready to accept connections'),
  );
  return {
    ...started,
    port,
    url: `redis://127.0.0.1:${port}`,
    dir: folder,
    stop: async (signal) => {
      await started.stop(signal);
      if (dir === undefined) rmSync(folder, { recursive: true, force: true });
    },
  };
}
