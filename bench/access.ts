import { mkdtempSync, writeFileSync } from 'node:fs';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Service } from '../sandbox/service.js';
import { createApiKey } from '../src/operations/access/api-key.js';
import { ApiKeyStore } from '../src/operations/access/api-key-store.js';
import { RequestAccess } from '../src/operations/access/request-access.js';
import { ClientAddresses } from '../src/platform/http/client-address.js';
import {
  accessCell,
  type AccessReport,
  type AccessRun,
  printAccessReport,
  type Setting,
  SETTINGS,
} from './support/access-report.js';
import { readArguments } from './support/command-line.js';
import { type LoadResult, runLoad, verifyProblem } from './support/load.js';
import { describeMachine } from './support/machine.js';
import { pidOf, watchProcessors } from './support/processor-time.js';
import { BenchStage } from './support/stage.js';
import { spreadOf } from './support/statistics.js';

/**
 * `npm run bench:access`: what API keys and limits cost a verify. Services that differ in these
 * settings alone take turns with EIP-3009 payments, every one new; all are sent the same key.
 */
const LEVELS = [1, 32, 128];
/** Short and often: what else the machine does is then the same for all. */
const SECONDS = 0.8;
/** Bodies are made before a run, more than its rate of last time needs. */
const RESERVE = 1.6;
const RESERVE_LEAST = 300;
const CHECKS = 5000;

const options = readArguments(15);
const machine = describeMachine();
const stage = await BenchStage.build(options.seed);
const { key, record } = createApiKey('bench', ['verify', 'settle']);
const folder = mkdtempSync(join(tmpdir(), 'x402-bench-'));
const keysFile = join(folder, 'keys.json');
writeFileSync(keysFile, JSON.stringify({ version: 1, keys: [record] }));

const rates = new Map<Setting, number>();
const noted = new Map<string, AccessRun[]>();
const failures = new Set<string>();

async function services(): Promise<Readonly<Record<Setting, Service>>> {
  // The lanes are a process of their own, so that no contestant does their work beside its own.
  await stage.ours({ ROLES: 'worker' });
  const api = { ROLES: 'api' };
  const keys = { ...api, API_KEYS_FILE: keysFile };
  const limits = { ...keys, RATE_LIMIT_VERIFY: '100000', RATE_LIMIT_SETTLE: '100000' };
  return {
    open: await stage.ours(api),
    'open, a second one': await stage.ours(api),
    'keys on': await stage.ours(keys),
    'keys and limits on': await stage.ours(limits),
  };
}

async function measure(
  setting: Setting,
  service: Service,
  concurrency: number,
  seconds = SECONDS,
): Promise<AccessRun> {
  const count = Math.ceil((rates.get(setting) ?? 1500) * seconds * RESERVE) + RESERVE_LEAST;
  const bodies = stage.factory.make('eip3009', count);
  const ends = watchProcessors({ it: [pidOf(service)] });
  const result: LoadResult = await runLoad({
    url: service.url,
    path: '/verify',
    headers: { 'X-API-Key': key },
    concurrency,
    bodies,
    seconds,
    problemOf: verifyProblem,
  });
  const { it: cores } = ends();
  const { perSecond, completed, seconds: elapsed, latencies, failed } = result;
  rates.set(setting, Math.max(rates.get(setting) ?? 0, perSecond));
  for (const [why, times] of Object.entries(result.failures)) {
    failures.add(`${setting} at ${concurrency}: ${times} failed: ${why}`);
  }
  const processorMs = cores === undefined ? undefined : cores * elapsed * 1000;
  return { perSecond, completed, processorMs, latencies, failed };
}

/** Without a key every request is refused where keys are on: else nothing would be compared. */
async function refuseStrangers(all: Readonly<Record<Setting, Service>>): Promise<void> {
  const [body = ''] = stage.factory.make('eip3009', 1);
  for (const setting of SETTINGS) {
    const { status } = await fetch(`${all[setting].url}/verify`, { method: 'POST', body });
    const expected = setting.startsWith('open') ? 200 : 401;
    if (status !== expected) failures.add(`${setting}: ${status} without a key`);
  }
}

/** Microseconds of processor time for the check of a key by itself: what it adds at the least. */
async function keyCheckMicros(): Promise<number> {
  const keys = new ApiKeyStore(keysFile, { info: () => undefined, error: () => undefined });
  await keys.start();
  const rateLimits = { verify: 0, settle: 0, lookup: 0 };
  const access = new RequestAccess(
    { access: { rateLimits, openScopes: new Set() } },
    new ClientAddresses({ trustProxy: 'off' }),
    { take: () => Promise.reject(new Error('not limited')) },
    keys,
  );
  const request = Object.assign(new IncomingMessage(new Socket()), {
    headers: { 'x-api-key': key },
  });
  const check = async (times: number): Promise<number> => {
    const begun = process.cpuUsage();
    for (let count = 0; count < times; count += 1) {
      const { refusal } = await access.decide(request, { scope: 'verify', bucket: 'verify' });
      if (refusal !== undefined) throw new Error('the key was refused');
    }
    const { user, system } = process.cpuUsage(begun);
    return (user + system) / times;
  };
  await check(CHECKS);
  const runs: number[] = [];
  for (let run = 0; run < 10; run += 1) runs.push(await check(CHECKS));
  keys.stop();
  return spreadOf(runs).median;
}

try {
  const all = await services();
  await refuseStrangers(all);
  for (const setting of SETTINGS) await measure(setting, all[setting], 32, 1);
  for (let round = 0; round < options.rounds; round += 1) {
    for (const concurrency of LEVELS) {
      // Who goes first changes with each round.
      const first = round % SETTINGS.length;
      for (const setting of [...SETTINGS.slice(first), ...SETTINGS.slice(0, first)]) {
        const name = `${concurrency} ${setting}`;
        const run = await measure(setting, all[setting], concurrency);
        noted.set(name, [...(noted.get(name) ?? []), run]);
      }
    }
    console.log(`  round ${round + 1} of ${options.rounds}`);
  }
  const runsOf = (setting: Setting, concurrency: number): readonly AccessRun[] =>
    noted.get(`${concurrency} ${setting}`) ?? [];
  const report: AccessReport = {
    name: 'access',
    at: new Date().toISOString(),
    seed: options.seed,
    machine,
    rounds: options.rounds,
    keyCheckMicros: await keyCheckMicros(),
    cells: LEVELS.flatMap((level) =>
      SETTINGS.map((setting) =>
        accessCell(setting, level, runsOf(setting, level), runsOf('open', level)),
      ),
    ),
    problems: [...failures],
  };
  printAccessReport(report);
  options.save(report);
  process.exitCode = report.problems.length === 0 ? 0 : 1;
} finally {
  await stage.stop();
}
