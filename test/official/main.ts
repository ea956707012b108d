/**
 * Runs the official end-to-end harness of x402 against this build. The harness has to be there, built as its own README
 * says; nothing of it is part of this repository.
 */
import { spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startOfficialWorld } from './world.js';

const NAME = 'x402-facilitator';
const PROXY = fileURLToPath(new URL('./proxy', import.meta.url));

interface Scenario {
  readonly passed: boolean;
  readonly server: string;
  readonly client: string;
}

interface Results {
  readonly summary: { readonly total: number; readonly passed: number; readonly failed: number };
  readonly results: readonly Scenario[];
}

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

function runHarness(
  harness: string,
  own: readonly string[],
  environment: Readonly<Record<string, string>>,
  output: string,
): Promise<number> {
  const fixed = [
    `--facilitators=${NAME}`,
    '--families=evm',
    '--testnet',
    `--output-json=${output}`,
  ];
  const programs = join(harness, 'node_modules', '.bin');
  const child = spawn(join(programs, 'tsx'), ['test.ts', ...fixed, ...own], {
    cwd: harness,
    stdio: 'inherit',
    // The harness starts scripts of its own by the name tsx.
    env: {
      ...process.env,
      ...environment,
      PATH: `${programs}${delimiter}${process.env['PATH'] ?? ''}`,
    },
  });
  return new Promise((done, fail) => {
    child.on('error', fail);
    child.on('exit', (code) => {
      done(code ?? 1);
    });
  });
}

function summarize(output: string): void {
  if (!existsSync(output)) {
    console.log('The harness has written no results.');
    return;
  }
  const { summary, results } = JSON.parse(readFileSync(output, 'utf8')) as Results;
  const counts = new Map<string, { passed: number; all: number }>();
  for (const { passed, server, client } of results) {
    for (const name of [`server ${server}`, `client ${client}`]) {
      const count = counts.get(name) ?? { passed: 0, all: 0 };
      counts.set(name, { passed: count.passed + Number(passed), all: count.all + 1 });
    }
  }
  for (const [name, { passed, all }] of [...counts].sort())
    console.log(`  ${name}: ${passed} of ${all}`);
  console.log(`${summary.passed} of ${summary.total} scenarios passed; results: ${output}`);
}

const { harness, own } = readArguments();
const proxy = join(harness, 'facilitators', 'external-proxies', NAME);
const output = resolve('official-results.json');
rmSync(output, { force: true });
mkdirSync(proxy, { recursive: true });
cpSync(PROXY, proxy, { recursive: true });
const world = await startOfficialWorld();
try {
  process.exitCode = await runHarness(harness, own, world.environment, output);
  summarize(output);
} finally {
  rmSync(proxy, { recursive: true, force: true });
  await world.stop();
}
