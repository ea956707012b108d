import { type Baseline, recoveryBaselines, rpcBaselines } from './support/baselines.js';
import { runBeside } from './support/beside-run.js';
import { readArguments } from './support/command-line.js';
import { type Contestant, problemsOf, ratiosOf, Scoreboard } from './support/comparison.js';
import { forgeriesTaken } from './support/forgeries.js';
import { type LoadResult, runLoad, verifyProblem } from './support/load.js';
import { describeMachine } from './support/machine.js';
import type { Kind } from './support/payment-factory.js';
import { type Busyness, pidOf, watchProcessors } from './support/processor-time.js';
import { BenchStage, OUR_SIGNER, REFERENCE_SIGNER } from './support/stage.js';
import { spreadOf } from './support/statistics.js';
import { printVerifyReport, type Scaling, type VerifyReport } from './support/verify-report.js';

/**
 * `npm run bench:verify`: how many payments a second this service and the reference facilitator verify
 * against one local chain, in alternation, every payment a new one; and what its parts take alone. With
 * `--beside NAME=COMMAND` EIP-3009 alone, and others beside the two.
 */
const KINDS: readonly Kind[] = ['eip3009', 'permit2', 'upto', 'v1'];
/** Who is named by payments that one account may collect. */
const SIGNERS = { ours: OUR_SIGNER.address, reference: REFERENCE_SIGNER.address };
const LEVELS = [1, 32, 128];
const SECONDS = 1.8;
const PATH = '/verify';
/** Bodies are made before a run, more than its rate of last time needs. */
const RESERVE = 1.6;
const RESERVE_LEAST = 300;
/** Payments that both must refuse when their signature is changed. */
const FORGED = 20;

const options = readArguments(3, { load: 0 }, undefined, ['beside']);
if (options.texts.beside.length > 0) {
  const { problems } = await runBeside('/verify', options);
  process.exit(problems.length === 0 ? 0 : 1);
}
const machine = describeMachine();
const stage = await BenchStage.build(options.seed);
const { factory } = stage;

const ours = await stage.ours();
const reference = await stage.reference();
const urls: Readonly<Record<Contestant, string>> = { ours: ours.url, reference: reference.url };
const rates = new Map<string, number>();
const programs: Record<string, readonly number[]> = {
  ours: [pidOf(ours)],
  reference: [pidOf(reference)],
  anvil: [pidOf(stage.anvil)],
  redis: [pidOf(stage.redis)],
  load: [process.pid],
};

interface Measured {
  readonly result: LoadResult;
  /** While the load ran, without the time it took to make the payments. */
  readonly cores: Busyness;
}

async function measure(
  key: string,
  url: string,
  kind: Kind,
  concurrency: number,
  seconds = SECONDS,
): Promise<Measured> {
  const rateKey = `${key} ${concurrency}`;
  const count = Math.ceil((rates.get(rateKey) ?? 1500) * seconds * RESERVE) + RESERVE_LEAST;
  const facilitator = url === urls.reference ? SIGNERS.reference : SIGNERS.ours;
  const bodies = factory.make(kind, count, { facilitator });
  const ends = watchProcessors(programs);
  const result = await runLoad({
    url,
    path: PATH,
    concurrency,
    bodies,
    seconds,
    problemOf: verifyProblem,
  });
  const cores = ends();
  rates.set(rateKey, Math.max(rates.get(rateKey) ?? 0, result.perSecond));
  return { result, cores };
}

async function compare(): Promise<{ readonly board: Scoreboard; readonly busyness: Busyness }> {
  const board = new Scoreboard();
  let busyness: Busyness = {};
  for (let round = 0; round < options.rounds; round += 1) {
    for (const concurrency of LEVELS) {
      for (const kind of KINDS) {
        // Who goes first changes with each round.
        const order: readonly Contestant[] =
          round % 2 === 0 ? ['ours', 'reference'] : ['reference', 'ours'];
        for (const contestant of order) {
          const { result, cores } = await measure(
            `${contestant} ${kind}`,
            urls[contestant],
            kind,
            concurrency,
          );
          if (contestant === 'ours' && kind === 'eip3009' && concurrency === 32) busyness = cores;
          board.note(contestant, kind, result, cores[contestant]);
        }
      }
    }
    console.log(`  round ${round + 1} of ${options.rounds}`);
  }
  return { board, busyness };
}

async function constantRoute(): Promise<readonly Baseline[]> {
  const { url } = await stage.constant();
  await measure('constant', url, 'eip3009', 32, 0.5);
  const baselines: Baseline[] = [];
  for (const concurrency of LEVELS) {
    const { result } = await measure('constant', url, 'eip3009', concurrency, 1);
    const name = `a Nest route with a constant, at ${concurrency}`;
    baselines.push({ name, perSecond: result.perSecond });
  }
  return baselines;
}

/** The same load through one port, with one and with two processes behind it. */
async function scaling(): Promise<Scaling> {
  const second = await stage.ours();
  const [one, two] = [await stage.balancer([ours]), await stage.balancer([ours, second])];
  await measure('second', second.url, 'eip3009', 32, 1);
  programs['second'] = [pidOf(second)];
  programs['balancer'] = [pidOf(two)];
  const results: Record<'one' | 'two', number[]> = { one: [], two: [] };
  let busyness: Busyness = {};
  for (let round = 0; round < options.rounds; round += 1) {
    results.one.push((await measure('one', one.url, 'eip3009', 32)).result.perSecond);
    const { result, cores } = await measure('two', two.url, 'eip3009', 32);
    results.two.push(result.perSecond);
    busyness = cores;
  }
  const factors = results.two.map((perSecond, round) => perSecond / (results.one[round] ?? 1));
  return {
    one: spreadOf(results.one),
    two: spreadOf(results.two),
    factor: spreadOf(factors),
    busyness,
  };
}

const begun = performance.now();
try {
  for (const kind of KINDS) {
    for (const [contestant, url] of Object.entries(urls)) {
      await measure(`${contestant} ${kind}`, url, kind, 32, 1);
    }
  }
  const forgeries = await forgeriesTaken(urls, factory.make('eip3009', FORGED));
  const { board, busyness } = await compare();
  const bodies = factory.make('eip3009', 1000);
  const baselines = [
    ...(await recoveryBaselines(bodies)),
    ...(await rpcBaselines(stage.anvil.url, bodies)),
    ...(await constantRoute()),
  ];
  const cells = board.cells();
  const report: VerifyReport = {
    name: 'verify',
    at: new Date().toISOString(),
    seed: options.seed,
    machine,
    cells,
    baselines,
    busyness,
    scaling: await scaling(),
    ratios: ratiosOf(cells),
    problems: [...forgeries, ...problemsOf(cells)],
    seconds: (performance.now() - begun) / 1000,
  };
  printVerifyReport(report);
  options.save(report);
  process.exitCode = report.problems.length === 0 ? 0 : 1;
} finally {
  await stage.stop();
}
