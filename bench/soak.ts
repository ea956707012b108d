import { Redis } from 'ioredis';
import { beginAudit } from './support/chain-audit.js';
import { readArguments } from './support/command-line.js';
import {
  type Answered,
  type LoadResult,
  runLoad,
  settleProblem,
  verifyProblem,
} from './support/load.js';
import { describeMachine, machineLine, versionsLine } from './support/machine.js';
import { memoryMiBOf, pidOf } from './support/processor-time.js';
import { usedBytes } from './support/redis-memory.js';
import { printSoakReport, type Sample, type SoakReport } from './support/soak-report.js';
import { BenchStage, OUR_SIGNER } from './support/stage.js';
import { ascending, percentile, slopeOf } from './support/statistics.js';
import { figure } from './support/text-table.js';

/**
 * `npm run bench:soak -- <minutes>`: verifies and settles together at half of what the service can do
 * here, measured first. Fails on any error; prints what grew per minute.
 */
const SLICE_SECONDS = 15;
const CEILING_SECONDS = 4;
const VERIFY_CONCURRENCY = 32;
const SETTLE_CONCURRENCY = 300;

const options = readArguments(1);
const minutes = Number(options.positional[0] ?? 5);
if (!(minutes > 0)) throw new Error('bench:soak takes a number of minutes');
const machine = describeMachine();
const stage = await BenchStage.build(options.seed);
const { factory } = stage;
const problems: string[] = [];
const redis = new Redis(stage.redis.url);

function note(what: string, { failed, failures }: LoadResult): void {
  if (failed > 0) problems.push(`${what}: ${failed} failed ${JSON.stringify(failures)}`);
}

try {
  const service = await stage.ours();
  const verifying = {
    url: service.url,
    path: '/verify',
    concurrency: VERIFY_CONCURRENCY,
    problemOf: verifyProblem,
  };
  const settling = {
    url: service.url,
    path: '/settle',
    concurrency: SETTLE_CONCURRENCY,
    problemOf: settleProblem,
  };
  // The ceiling of both together, as the soak is both together.
  await runLoad({ ...verifying, bodies: factory.make('eip3009', 2000) });
  const [verifyCeiling, settleCeiling] = await Promise.all([
    runLoad({ ...verifying, bodies: factory.make('eip3009', 20_000), seconds: CEILING_SECONDS }),
    runLoad({ ...settling, bodies: factory.make('eip3009', 4000), seconds: CEILING_SECONDS }),
  ]);
  note('ceiling, verify', verifyCeiling);
  note('ceiling, settle', settleCeiling);
  const verifyRate = verifyCeiling.perSecond / 2;
  const settleRate = settleCeiling.perSecond / 2;
  console.log(
    `\nSoak: ${minutes} minutes at ${figure(verifyRate)} verifies and ${figure(settleRate)} settles a second\n`,
  );
  console.log(machineLine(machine));
  console.log(`${versionsLine(machine)}\nseed ${options.seed}\n`);

  const audit = await beginAudit(stage.client, factory, 'eip3009', [OUR_SIGNER.address]);
  const answers: Answered[] = [];
  const bytesBefore = await usedBytes(redis);
  const samples: Sample[] = [];
  const slices = Math.max(4, Math.round((minutes * 60) / SLICE_SECONDS));
  for (let slice = 0; slice < slices; slice += 1) {
    const bodies = (rate: number): string[] =>
      factory.make('eip3009', Math.ceil(rate * SLICE_SECONDS));
    const [verified, settled] = await Promise.all([
      runLoad({ ...verifying, bodies: bodies(verifyRate), pacePerSecond: verifyRate }),
      runLoad({
        ...settling,
        bodies: bodies(settleRate),
        pacePerSecond: settleRate,
        onAnswer: (answer) => answers.push(answer),
      }),
    ]);
    note('verify', verified);
    note('settle', settled);
    const [verifyTimes, settleTimes] = [
      ascending(verified.latencies),
      ascending(settled.latencies),
    ];
    samples.push({
      minute: ((slice + 1) * SLICE_SECONDS) / 60,
      verified: verified.completed,
      settled: settled.completed,
      verifyP50: percentile(verifyTimes, 0.5),
      verifyP99: percentile(verifyTimes, 0.99),
      settleP50: percentile(settleTimes, 0.5),
      settleP99: percentile(settleTimes, 0.99),
      serviceMiB: memoryMiBOf(pidOf(service)) ?? 0,
      redisMiB: (await usedBytes(redis)) / 2 ** 20,
      redisBytesEach: ((await usedBytes(redis)) - bytesBefore) / answers.length,
    });
  }
  problems.push(...(await audit.findings(answers)));

  const secondHalf = samples.slice(Math.floor(samples.length / 2));
  const growth = (read: (sample: Sample) => number): number =>
    slopeOf(secondHalf.map((sample) => [sample.minute, read(sample)]));
  const report: SoakReport = {
    name: 'soak',
    at: new Date().toISOString(),
    seed: options.seed,
    machine,
    minutes,
    verifyRate,
    settleRate,
    samples,
    problems,
    slopes: {
      'service memory, MiB': growth(({ serviceMiB }) => serviceMiB),
      'Redis memory, MiB': growth(({ redisMiB }) => redisMiB),
      'verify p50, ms': growth(({ verifyP50 }) => verifyP50),
      'settle p50, ms': growth(({ settleP50 }) => settleP50),
    },
  };
  printSoakReport(report);
  options.save(report);
  process.exitCode = problems.length === 0 ? 0 : 1;
} finally {
  redis.disconnect();
  await stage.stop();
}
