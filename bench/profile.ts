import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BUILT_MAIN } from '../sandbox/service.js';
import { readArguments } from './support/command-line.js';
import {
  type CpuProfile,
  type ProfileReport,
  type Share,
  sharesOf,
} from './support/cpu-profile.js';
import { runLoad, settleProblem, verifyProblem } from './support/load.js';
import { describeMachine, machineLine } from './support/machine.js';
import type { Kind } from './support/payment-factory.js';
import { BenchStage } from './support/stage.js';
import { textTable } from './support/text-table.js';

/**
 * `npm run bench:profile`: where the processor time of the service goes while it verifies at
 * concurrency 32, or settles at 300 with the argument `settle`. Another argument is the kind of payment; EIP-3009
 * when absent.
 */
const VERIFY = { path: '/verify', concurrency: 32, warmUp: 4000, measured: 16_000 };
const SETTLE = { path: '/settle', concurrency: 300, warmUp: 900, measured: 4500 };
const SHOWN_FUNCTIONS = 25;

const options = readArguments(1);
const isSettle = options.positional.includes('settle');
const { path, concurrency, warmUp, measured } = isSettle ? SETTLE : VERIFY;
const kind = (options.positional.find((one) => one !== 'settle') ?? 'eip3009') as Kind;
const problemOf = isSettle ? settleProblem : verifyProblem;
const machine = describeMachine();
const folder = mkdtempSync(join(tmpdir(), 'x402-profile-'));
const stage = await BenchStage.build(options.seed);
try {
  const service = await stage.ours({}, ['--cpu-prof', `--cpu-prof-dir=${folder}`], BUILT_MAIN);
  const load = { url: service.url, path, concurrency, problemOf };
  await runLoad({ ...load, bodies: stage.factory.make(kind, warmUp) });
  const bodies = stage.factory.make(kind, measured);
  const since = Number(process.hrtime.bigint() / 1000n);
  const result = await runLoad({ ...load, bodies });
  await service.stop();
  const [file] = readdirSync(folder);
  if (file === undefined) throw new Error('the service left no profile');
  const profile = JSON.parse(readFileSync(join(folder, file), 'utf8')) as CpuProfile;
  const { shares, functions } = sharesOf(profile, since);
  const report: ProfileReport = {
    name: 'profile',
    at: new Date().toISOString(),
    seed: options.seed,
    machine,
    kind,
    perSecond: result.perSecond,
    shares,
    functions: functions.slice(0, SHOWN_FUNCTIONS),
  };
  console.log(`\n${path} ${kind} at ${concurrency}: ${result.perSecond.toFixed(0)}/s\n`);
  console.log(machineLine(machine));
  const rows = (list: readonly Share[]): string[][] =>
    list.map(({ name, share }) => [name, `${(share * 100).toFixed(1)} %`]);
  console.log(`\n${textTable(['part', 'of busy time'], rows(report.shares))}`);
  console.log(`\n${textTable(['function', 'of busy time'], rows(report.functions))}`);
  options.save(report);
  process.exitCode = result.failed === 0 ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
  await stage.stop();
}
