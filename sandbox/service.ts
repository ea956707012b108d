import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, type Started, startProgram } from './processes.js';

export interface Service extends Started {
  readonly url: string;
  /** Where it serves its operators: metrics, detailed health, the operator page. */
  readonly opsUrl: string;
  /** Everything it has printed so far. */
  log(): string;
}

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** The built service, file by file. */
export const BUILT_MAIN = join(ROOT, 'dist', 'main.js');
/** The built service, or the same build in another form: the tests start it from one file. */
export const SERVICE_MAIN = process.env['SERVICE_MAIN'] ?? BUILT_MAIN;

/** How `npm run start:prod` starts the build in a clone of this repository. */
function startCommand(clone: string): readonly string[] {
  const text = readFileSync(join(clone, 'package.json'), 'utf8');
  const { scripts } = JSON.parse(text) as {
    readonly scripts: Readonly<Record<'start:prod', string>>;
  };
  return scripts['start:prod'].split(' ');
}

/** The file that `npm run start:prod` starts in a clone: the service as operators run it. */
export function productionMain(clone = ROOT): string {
  return resolve(clone, startCommand(clone).at(-1) ?? '');
}

/** Options of the Node that runs it, with blanks between them: those of `npm run start:prod`, unless others are given. */
const SERVICE_NODE_OPTIONS = (
  process.env['SERVICE_NODE_OPTIONS']?.split(' ') ?? startCommand(ROOT)
).filter((option) => option.startsWith('-'));

/** So many services of a process are kept with their logs; a long run starts thousands. */
const KEPT_SERVICES = 20;

/** The newest services of this process, running or ended. A failed test shows their logs. */
export const startedServices: Pick<Service, 'url' | 'log'>[] = [];

/**
 * Starts the built service, or another build's `main`, with these settings, and with a port for operators unless they say otherwise.
 *
 * @param nodeOptions - behind those of `SERVICE_NODE_OPTIONS`.
 * @param node - the program that runs it.
 */
export async function startService(
  port: number,
  settings: Readonly<Record<string, string>>,
  nodeOptions: readonly string[] = [],
  main = SERVICE_MAIN,
  node = process.execPath,
): Promise<Service> {
  let log = '';
  const url = `http://127.0.0.1:${port}`;
  startedServices.push({ url, log: () => log });
  if (startedServices.length > KEPT_SERVICES) startedServices.shift();
  const opsPort = settings['OPS_PORT'] ?? String(await freePort());
  const started = await startProgram(
    node,
    [...SERVICE_NODE_OPTIONS, ...nodeOptions, main],
    () => answers(`${url}/health/live`),
    {
      env: {
        PATH: process.env['PATH'] ?? '',
        HOST: '127.0.0.1',
        PORT: String(port),
        OPS_PORT: opsPort,
        ...settings,
      },
      onOutput: (text) => {
        log += text;
      },
    },
  );
  return {
    ...started,
    url,
    opsUrl: `http://127.0.0.1:${opsPort}`,
    log: () => log,
  };
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).ok;
  } catch {
    return false;
  }
}
