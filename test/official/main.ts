/**
 * Runs the official end-to-end harness of x402 against this build. The harness has to be there, built as its own README
 * says; nothing of it is part of this repository.
 */
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describeResult, type Entry, PrintedScenarios } from './results.js';
import { startOfficialWorld } from './world.js';

const NAME = 'x402-facilitator';
const PROXY = fileURLToPath(new URL('./proxy', import.meta.url));
/** Beyond the time that a server of the harness has to start. Once one of them ends there, the harness waits without end. */
const SILENCE_MS = 5 * 60_000;
const AFTER_RESULT_MS = 10_000;
const NODE_OF_HARNESS = 22;

/** What the person who starts this can mend: a line, and the exit code 2. */
function refuse(problem: string): never {
  console.error(problem);
  process.exit(2);
}

/** `--harness DIR`; the other arguments are the harness's own. */
function readArguments(): { readonly harness: string; readonly own: readonly string[] } {
  const [, , ...given] = process.argv;
  const at = given.indexOf('--harness');
  const folder = at === -1 ? undefined : given[at + 1];
  if (folder === undefined) refuse('--harness DIR is missing: the folder e2e of the harness');
  const harness = resolve(folder);
  for (const file of ['test.ts', 'node_modules/.bin/tsx']) {
    if (existsSync(join(harness, file))) continue;
    refuse(
      `--harness: ${join(harness, file)} is missing: the harness is not built, or DIR is not its folder e2e`,
    );
  }
  return { harness, own: given.filter((_, index) => index !== at && index !== at + 1) };
}

/** Without these its scenarios fail one by one, and none of them says why. */
function checkPrograms(): void {
  for (const program of ['pnpm', 'lsof', 'curl']) {
    if (spawnSync('sh', ['-c', `command -v ${program}`]).status === 0) continue;
    refuse(`${program} was not found: the harness runs it`);
  }
  const version = spawnSync('node', ['--version'], { encoding: 'utf8' }).stdout.trim();
  if (Number(/^v(\d+)/u.exec(version)?.[1]) >= NODE_OF_HARNESS) return;
  refuse(`node is ${version} in PATH: the harness needs ${NODE_OF_HARNESS} or newer there`);
}

const { harness, own } = readArguments();
checkPrograms();
const proxy = join(harness, 'facilitators', 'external-proxies', NAME);
/** What the harness writes itself, at the end of a whole run. */
const written = join(proxy, 'results.json');
const output = resolve('official-results.json');
const scenarios = new PrintedScenarios();
const begun = Date.now();
/** Why the run was ended before its end. */
let stopped: string | undefined;
let stop = (): void => undefined;

/** After each scenario: what was played is kept, however the run ends. */
function keep(): void {
  const all = scenarios.all();
  const file = {
    options: own,
    begun: new Date(begun).toISOString(),
    written: new Date().toISOString(),
    chosen: scenarios.chosen,
    stopped,
    scenarios: all,
  };
  writeFileSync(output, `${JSON.stringify(file, null, 2)}\n`);
}

function reportProgress(): void {
  const ended = scenarios.all().filter(({ passed }) => passed !== undefined);
  const failed = ended.filter(({ passed }) => passed === false).length;
  const minutes = ((Date.now() - begun) / 60_000).toFixed(1);
  console.log(
    `--- ${ended.length} of ${scenarios.chosen ?? '?'} played, ${failed} failed, ${minutes} min`,
  );
}

function runHarness(environment: Readonly<Record<string, string>>): Promise<number | null> {
  const fixed = [
    `--facilitators=${NAME}`,
    '--families=evm',
    '--testnet',
    `--output-json=${written}`,
  ];
  const programs = join(harness, 'node_modules', '.bin');
  const child = spawn(join(programs, 'tsx'), ['test.ts', ...fixed, ...own], {
    cwd: harness,
    stdio: ['ignore', 'pipe', 'inherit'],
    // The harness leaves its servers running when it is ended: all of its group are ended here.
    detached: true,
    // The harness starts scripts of its own by the name tsx.
    env: {
      ...process.env,
      ...environment,
      PATH: `${programs}${delimiter}${process.env['PATH'] ?? ''}`,
    },
  });
  const end = (): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // All of them have ended.
    }
  };
  stop = end;
  let silence = setTimeout(() => undefined, 0);
  createInterface({ input: child.stdout }).on('line', (line) => {
    clearTimeout(silence);
    // A server that did not end keeps the harness from its own end.
    const patience = existsSync(written) ? AFTER_RESULT_MS : SILENCE_MS;
    silence = setTimeout(() => {
      if (!existsSync(written)) {
        stopped = `the harness printed nothing for ${SILENCE_MS / 60_000} minutes`;
      }
      end();
    }, patience);
    console.log(line);
    if (!scenarios.read(line)) return;
    keep();
    reportProgress();
  });
  return new Promise((done, fail) => {
    child.on('error', fail);
    child.on('close', (code) => {
      clearTimeout(silence);
      end();
      done(code);
    });
  });
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    stopped = `ended by ${signal}`;
    stop();
  });
}

rmSync(output, { force: true });
rmSync(proxy, { recursive: true, force: true });
mkdirSync(proxy, { recursive: true });
cpSync(PROXY, proxy, { recursive: true });
const world = await startOfficialWorld();
try {
  const code = stopped === undefined ? await runHarness(world.environment) : 1;
  if (existsSync(written)) {
    const { results } = JSON.parse(readFileSync(written, 'utf8')) as { results: readonly Entry[] };
    scenarios.add(results);
  } else {
    stopped ??= 'the harness ended without a result';
  }
  keep();
  console.log(describeResult(harness, scenarios.all()));
  if (stopped !== undefined) {
    console.log(`NOT WHOLE: ${stopped}; ${scenarios.chosen ?? '?'} scenarios were chosen`);
  }
  console.log(`results: ${output}`);
  // It ends with null where it was ended here after its result.
  const failed = scenarios.all().some(({ passed }) => passed !== true);
  process.exitCode = stopped === undefined && !failed ? (code ?? 0) : 1;
} finally {
  rmSync(proxy, { recursive: true, force: true });
  await world.stop();
}
