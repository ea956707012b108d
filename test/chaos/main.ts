import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { Dice } from '../support/dice.js';
import { anyOf, type Disturbance } from './disturbances.js';
import { playEpisode } from './episode.js';
import { Stage } from './stage.js';

/**
 * Randomised runs, one after another on one deployment, until the asked number is done or one fails.
 *
 *   npm run test:chaos -- [--runs 200] [--seed N] [--only RUN] [--restart]
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

const PROGRESS = join('node_modules', '.cache', 'chaos.json');

function readProgress(): Progress | undefined {
  if (values.restart || !existsSync(PROGRESS)) return undefined;
  return JSON.parse(readFileSync(PROGRESS, 'utf8')) as Progress;
}

function writeProgress(progress: Progress): void {
  mkdirSync(dirname(PROGRESS), { recursive: true });
  writeFileSync(PROGRESS, JSON.stringify(progress));
}

/** Each run has dice of its own, so that any of them can be had again alone. */
const diceOf = (seed: number, run: number): Dice => new Dice(seed * 100_003 + run);

async function playRun(stage: Stage, seed: number, run: number): Promise<boolean> {
  const dice = diceOf(seed, run);
  const disturbances = anyOf(dice);
  const payments = dice.between(3, 14);
  const startedAt = Date.now();
  const names = disturbances.map(({ name }) => name).join('; ');
  process.stdout.write(`run ${run}: ${payments} payments, ${names}: `);
  const violations = await playEpisode(stage, dice, {
    payments,
    expectations: Object.assign(
      {},
      ...disturbances.map(({ expectations }) => expectations),
    ) as object,
    disturb: async () => {
      await Promise.all(disturbances.map((one: Disturbance) => one.run(stage, dice)));
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

const stage = await Stage.build();
let failed: number | undefined;
for (let run = first; run <= last && failed === undefined; run += 1) {
  if (!(await playRun(stage, seed, run))) failed = run;
  else if (only === undefined) writeProgress({ seed, done: run });
}
if (failed !== undefined) {
  const file = join('node_modules', '.cache', `chaos-${seed}-${failed}.log`);
  writeFileSync(file, stage.logs());
  console.log(`Again with: npm run test:chaos -- --seed ${seed} --only ${failed}. Logs: ${file}`);
}
await stage.stop();
process.exit(failed === undefined ? 0 : 1);
