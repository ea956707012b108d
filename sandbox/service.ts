import { fileURLToPath } from 'node:url';
import { type Started, startProgram } from './processes.js';

export interface Service extends Started {
  readonly url: string;
  /** Everything it has printed so far. */
  log(): string;
}

const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url));

/** Starts the built service with these settings and no others. */
export async function startService(
  port: number,
  settings: Readonly<Record<string, string>>,
  nodeOptions: readonly string[] = [],
): Promise<Service> {
  let log = '';
  const started = await startProgram(
    process.execPath,
    [...nodeOptions, MAIN],
    () => answers(`http://127.0.0.1:${port}/health/live`),
    {
      env: { PATH: process.env['PATH'] ?? '', HOST: '127.0.0.1', PORT: String(port), ...settings },
      onOutput: (text) => {
        log += text;
      },
    },
  );
  return { ...started, url: `http://127.0.0.1:${port}`, log: () => log };
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).ok;
  } catch {
    return false;
  }
}
