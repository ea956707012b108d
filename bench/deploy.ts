import { productionMain, type Service } from '../sandbox/service.js';
import { delay } from '../src/platform/concurrency/timing.js';
import { beginAudit } from './support/chain-audit.js';
import { readArguments } from './support/command-line.js';
import { type Answered, type LoadResult, runLoad, settleProblem } from './support/load.js';
import { describeMachine, machineLine, versionsLine } from './support/machine.js';
import { BenchStage, OUR_SIGNER } from './support/stage.js';
import { ascending, percentile } from './support/statistics.js';
import { textTable } from './support/text-table.js';

/**
 * `npm run bench:deploy`: settles at 200 a second while a second process of the service replaces the first, as a rolling
 * deploy of Kubernetes does it: the new one starts, gets the requests once it is ready, and a second later the old one
 * gets SIGTERM. Both have the same signer, so its lane is handed over. With `-- DIR` the first one is the build in
 * another clone: an upgrade. `--rate N` is another pace. Fails on any request that fails and on any answer that the chain
 * contradicts.
 */
const STEADY_SECONDS = 15;
/** The first settles of a process are slower. */
const COLD_SECONDS = 5;
const AFTER_SECONDS = 15;
/** How long a start of the new process may take. */
const START_SECONDS_MAX = 60;
const CONCURRENCY = 1000;

interface Second {
  readonly second: number;
  readonly phase: string;
  readonly settled: number;
  readonly p50: number;
  readonly p99: number;
}

const options = readArguments(1, { rate: 200 });
const { rate } = options.sizes;
const machine = describeMachine();
const stage = await BenchStage.build(options.seed);
const problems: string[] = [];
const answers: Answered[] = [];

function settleAt(
  service: Service,
  bodies: readonly string[],
  signal?: AbortSignal,
): Promise<LoadResult> {
  return runLoad({
    url: service.url,
    path: '/settle',
    concurrency: CONCURRENCY,
    pacePerSecond: rate,
    bodies,
    problemOf: settleProblem,
    onAnswer: (answer) => answers.push(answer),
    ...(signal && { signal }),
  });
}

const bodiesFor = (seconds: number): readonly string[] =>
  stage.factory.make('eip3009', Math.ceil(rate * seconds));
try {
  const [clone] = options.positional;
  const old = await stage.ours({}, [], clone && productionMain(clone));
  const audit = await beginAudit(stage.client, stage.factory, 'eip3009', [OUR_SIGNER.address]);
  const isReplaced = new AbortController();
  // Signing keeps this process from sending.
  const [forOld, forNew] = [
    bodiesFor(STEADY_SECONDS + START_SECONDS_MAX),
    bodiesFor(AFTER_SECONDS),
  ];
  const begun = Date.now();
  const onOld = settleAt(old, forOld, isReplaced.signal);
  await delay(STEADY_SECONDS * 1000);
  const startedAt = Date.now();
  const fresh = await stage.ours();
  const readyAt = Date.now();
  isReplaced.abort();
  const onNew = settleAt(fresh, forNew);
  await delay(1000);
  await old.stop('SIGTERM');
  const endedAt = Date.now();
  for (const [name, { failed, failures }] of [
    ['old', await onOld],
    ['new', await onNew],
  ] as const) {
    if (failed > 0)
      problems.push(`${failed} failed at the ${name} process: ${JSON.stringify(failures)}`);
  }
  problems.push(...(await audit.findings(answers)));

  const phaseAt = (time: number): string => {
    if (time < begun + COLD_SECONDS * 1000) return 'cold';
    if (time < startedAt) return 'steady';
    if (time < readyAt) return 'new starts';
    return time < endedAt ? 'old ends' : 'after';
  };
  const bySecond = new Map<number, number[]>();
  for (const { sentAt, answeredAt } of answers) {
    const second = Math.floor((sentAt - begun) / 1000);
    bySecond.set(second, [...(bySecond.get(second) ?? []), answeredAt - sentAt]);
  }
  const seconds = [...bySecond]
    .sort(([one], [other]) => one - other)
    .map(([second, latencies]): Second => {
      const times = ascending(latencies);
      return {
        second,
        phase: phaseAt(begun + second * 1000),
        settled: times.length,
        p50: percentile(times, 0.5),
        p99: percentile(times, 0.99),
      };
    });
  const steady = ascending(seconds.filter(({ phase }) => phase === 'steady').map(({ p99 }) => p99));
  const steadyP99 = percentile(steady, 0.5);
  const changed = seconds.filter(({ phase }) => phase !== 'cold' && phase !== 'steady');
  const worst = Math.max(...changed.map(({ p99 }) => p99));
  console.log(`\n/settle of EIP-3009 payments, ${rate} a second, through a rolling deploy\n`);
  console.log(`${machineLine(machine)}\n${versionsLine(machine)}\nseed ${options.seed}\n`);
  const rows = seconds.map(({ second, phase, settled, p50, p99 }) => [
    String(second),
    phase,
    String(settled),
    p50.toFixed(0),
    p99.toFixed(0),
  ]);
  console.log(textTable(['second', 'phase', 'settled', 'p50 ms', 'p99 ms'], rows));
  console.log(
    `\nThe new process was ready after ${((readyAt - startedAt) / 1000).toFixed(1)} s; the old one ended ${((endedAt - readyAt) / 1000).toFixed(1)} s later.`,
  );
  console.log(
    `p99 of a second: ${steadyP99.toFixed(0)} ms in the steady state, ${worst.toFixed(0)} ms at most after it: ${(worst / steadyP99).toFixed(2)} times.`,
  );
  console.log(problems.length === 0 ? '\nno failures' : `\n${problems.join('\n')}`);
  options.save({
    name: 'deploy',
    at: new Date().toISOString(),
    seed: options.seed,
    machine,
    rate,
    seconds,
    problems,
  });
  process.exitCode = problems.length === 0 ? 0 : 1;
} finally {
  await stage.stop();
}
