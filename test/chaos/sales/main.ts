import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { SeededRandom } from '../../support/seeded-random.js';
import { FAULTS, playRun, type Purchase, violationsOf } from './run.js';
import { SalesStage } from './stage.js';

/**
 * Randomised sales of files, one run after another on one deployment, until the asked number is done or one fails:
 * processes are killed between settling, the record of access and the first byte, and at any moment. Paid if and only if
 * downloadable.
 *
 *   npm run test:chaos -- --sales [--runs 200] [--seed N] [--only RUN]
 */
const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '200' },
    seed: { type: 'string' },
    only: { type: 'string' },
  },
});
const seed =
  values.seed === undefined ? Math.floor(Math.random() * 1_000_000) : Number(values.seed);
const only = values.only === undefined ? undefined : Number(values.only);
const first = only ?? 1;
const last = only ?? Number(values.runs);

/** Each run has a seed of its own, so that any of them can be had again alone. */
async function play(
  stage: SalesStage,
  run: number,
): Promise<{ readonly purchases: readonly Purchase[]; readonly violations: readonly string[] }> {
  const random = new SeededRandom(seed * 100_003 + run);
  const faults = [random.pick(FAULTS)];
  const startedAt = Date.now();
  process.stdout.write(`run ${run}: ${faults.map(({ name }) => name).join('; ')}: `);
  const played = await playRun(stage, random, { name: `file-${seed}-${run}`, faults }).catch(
    (error: unknown) => ({ purchases: [], violations: [`it broke off: ${String(error)}`] }),
  );
  const seconds = ((Date.now() - startedAt) / 1000).toFixed(1);
  const ends = played.purchases.map(({ end }) => end).join(', ');
  console.log(`${ends}: ${played.violations.length === 0 ? 'ok' : 'FAILED'} ${seconds} s`);
  return played;
}

console.log(`seed ${seed}, runs ${first} to ${last}`);
const stage = await SalesStage.build();
const all: Purchase[] = [];
let failed: number | undefined;
for (let run = first; run <= last && failed === undefined; run += 1) {
  const { purchases, violations } = await play(stage, run);
  all.push(...purchases);
  for (const violation of violations) console.log(`  ${violation}`);
  if (violations.length > 0) failed = run;
}
// A refused payment may not be taken later either, and no buyer pays twice.
const late = failed === undefined ? await violationsOf(stage, all) : [];
for (const violation of late) console.log(`  at the end: ${violation}`);
const bought = all.filter(({ end }) => end === 'bytes').length;
console.log(
  `${all.length} payments, ${bought} bought their file, ${all.length - bought} were refused`,
);
if (failed !== undefined) {
  const file = join('node_modules', '.cache', `chaos-sales-${seed}-${failed}.log`);
  writeFileSync(file, stage.logs());
  console.log(
    `Again with: npm run test:chaos -- --sales --seed ${seed} --only ${failed}. Logs: ${file}`,
  );
}
await stage.stop();
process.exit(failed === undefined && late.length === 0 ? 0 : 1);
