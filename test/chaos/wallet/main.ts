import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { SeededRandom } from '../../support/seeded-random.js';
import { anyOf } from './faults.js';
import { playRun } from './run.js';
import { WalletStage } from './stage.js';

/**
 * Randomised runs of the wallet, one after another on one deployment, until the asked number is done or
 * one fails. The chain never moves more than the budget, and never more than was counted.
 *
 *   npm run test:chaos -- --wallet [--runs 200] [--seed N] [--only RUN] [--restart]
 *
 * A sequence that was broken off goes on where it stopped.
 */
const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '200' },
    seed: { type: 'string' },
    only: { type: 'string' },
    restart: { type: 'boolean', default: false },
  },
});

interface Progress {
  readonly seed: number;
  readonly done: number;
}

const PROGRESS = join('node_modules', '.cache', 'chaos-wallet.json');

function readProgress(): Progress | undefined {
  if (values.restart || !existsSync(PROGRESS)) return undefined;
  return JSON.parse(readFileSync(PROGRESS, 'utf8')) as Progress;
}

function writeProgress(progress: Progress): void {
  mkdirSync(dirname(PROGRESS), { recursive: true });
  writeFileSync(PROGRESS, JSON.stringify(progress));
}

/** Each run has a seed of its own, so that any of them can be had again alone. */
async function play(stage: WalletStage, seed: number, run: number): Promise<boolean> {
  const random = new SeededRandom(seed * 100_003 + run);
  const disturbances = anyOf(random, stage.journal.isDisk);
  const payments = random.between(4, 10);
  const startedAt = Date.now();
  const names = disturbances.map(({ name }) => name).join('; ');
  process.stdout.write(`run ${run}: ${payments} payments, ${names}: `);
  const violations = await playRun(stage, random, {
    name: `run-${seed}-${run}-${startedAt}`,
    payments,
    disturb: async () => {
      await Promise.all(disturbances.map((one) => one.run(stage, random)));
    },
  });
  const seconds = ((Date.now() - startedAt) / 1000).toFixed(1);
  console.log(`${violations.length === 0 ? 'ok' : 'FAILED'} ${seconds} s`);
  for (const violation of violations) console.log(`  ${violation}`);
  return violations.length === 0;
}

const progress = readProgress();
const given = values.seed === undefined ? undefined : Number(values.seed);
const isContinued = progress !== undefined && (given === undefined || given === progress.seed);
const seed = given ?? progress?.seed ?? Math.floor(Math.random() * 1_000_000);
const only = values.only === undefined ? undefined : Number(values.only);
const first = only ?? (isContinued ? progress.done + 1 : 1);
const last = only ?? Number(values.runs);
console.log(`seed ${seed}, runs ${first} to ${last}`);

const stage = await WalletStage.build();
if (!stage.journal.isDisk) console.log("no right to mount: the journal's disk is never full");
let failed: number | undefined;
for (let run = first; run <= last && failed === undefined; run += 1) {
  const isGood = await play(stage, seed, run).catch((error: unknown) => {
    console.log(`FAILED\n  ${error instanceof Error ? error.message : String(error)}`);
    return false;
  });
  if (!isGood) failed = run;
  else if (only === undefined) writeProgress({ seed, done: run });
}
if (failed !== undefined) {
  const file = join('node_modules', '.cache', `chaos-wallet-${seed}-${failed}.log`);
  writeFileSync(file, stage.logs());
  console.log(
    `Again with: npm run test:chaos -- --wallet --seed ${seed} --only ${failed}. Logs: ${file}`,
  );
}
await stage.stop();
process.exit(failed === undefined ? 0 : 1);
