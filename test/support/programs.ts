import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
export const INSTALL_MS = 300_000;

export type Env = Readonly<Record<string, string>>;

export interface Finished {
  readonly status: number;
  readonly output: string;
}

/** Runs a program to its end, with these settings and no others. */
export async function run(
  command: string,
  args: readonly string[],
  env: Env = {},
  { input = '', cwd = ROOT }: { readonly input?: string; readonly cwd?: string } = {},
): Promise<Finished> {
  const child = spawn(command, args, {
    cwd,
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let output = '';
  const keep = (chunk: Buffer): void => {
    output += chunk.toString();
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  // A program that reads nothing may end before it is written to.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const status = await new Promise<number>((resolve) => {
    child.on('close', (code) => {
      resolve(code ?? 1);
    });
  });
  return { status, output };
}

/**
 * The folder of programs of a Python that has what a list requires; installed once for each version of
 * the list.
 */
export function pythonWith(requirements: string): string {
  const digest = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 12);
  const folder = join(ROOT, 'node_modules', '.cache', `python-${digest}`);
  const programs = join(folder, 'bin');
  const done = join(folder, 'installed');
  if (existsSync(done)) return programs;
  const steps: readonly (readonly [string, readonly string[]])[] = [
    ['python3', ['-m', 'venv', '--clear', folder]],
    [join(programs, 'python'), ['-m', 'pip', 'install', '--quiet', '-r', requirements]],
  ];
  for (const [command, args] of steps) {
    const { status, stderr } = spawnSync(command, args, { encoding: 'utf8', timeout: INSTALL_MS });
    if (status !== 0) throw new Error(`${command} ${args.join(' ')}\n${stderr}`);
  }
  writeFileSync(done, '');
  return programs;
}
