import type { Address } from 'viem';
import { type Beside, busyLoops, readBeside, startBeside } from './beside.js';
import {
  type BesideReport,
  besideRows,
  type BesideRun,
  printBesideReport,
} from './beside-report.js';
import { beginAudit } from './chain-audit.js';
import type { BenchArguments } from './command-line.js';
import { gasOf } from './gas.js';
import { type Answered, runLoad, settleProblem, verifyProblem } from './load.js';
import { describeMachine } from './machine.js';
import { memoryMiBOf, pidOf, watchProcessors } from './processor-time.js';
import { BenchStage, OUR_SIGNER, REFERENCE_SIGNER } from './stage.js';

const KIND = 'eip3009';
const LEVELS = { '/verify': [1, 32, 128], '/settle': [32, 100, 300] } as const;
/** Of one run of verifies; and within which the settles of a run begin. */
const SECONDS = { '/verify': 1.8, '/settle': 20 } as const;
/** Settles of a run in parts of the concurrency. */
const WAVES = 5;
const RESERVE = 1.6;
const RESERVE_LEAST = 300;
/** Settles that are measured cold and warm, and how many at once. */
const COUNTED = 2000;
const COUNTED_AT = 300;

interface Contestant extends Omit<Beside, 'stop'> {
  /** Of the Redis that only it uses; empty where it needs none. */
  readonly redis: readonly number[];
}

/**
 * `--beside`: this service, the reference and any others on one chain with payments of one kind, in alternation. Others that
 * fail are noted, and are no failure of the bench.
 *
 * @param warm - `--warm N`: also the first settles of each fresh process, and as many after N of them.
 */
export async function runBeside(
  path: '/verify' | '/settle',
  options: BenchArguments<'load', 'beside'>,
  warm = 0,
): Promise<BesideReport> {
  const others = options.texts.beside.map(readBeside);
  const machine = describeMachine();
  const stage = await BenchStage.build(options.seed);
  const stops: (() => unknown)[] = [];
  const [notes, problems]: [string[], string[]] = [[], []];
  const rates = new Map<string, number>();

  const settled = async (
    who: Contestant,
    concurrency: number,
    waves = WAVES,
  ): Promise<BesideRun> => {
    const { signer, pids, redis } = who;
    const facilitator: Address = signer ?? OUR_SIGNER.address;
    const key = `${who.name} ${concurrency}`;
    const isSettle = path === '/settle';
    const count = isSettle
      ? Math.round(concurrency * waves)
      : Math.ceil((rates.get(key) ?? 1500) * SECONDS[path] * RESERVE) + RESERVE_LEAST;
    const bodies = stage.factory.make(KIND, count, { facilitator });
    const audit = isSettle
      ? await beginAudit(stage.client, stage.factory, KIND, signer === undefined ? [] : [signer])
      : undefined;
    const answers: Answered[] = [];
    const ends = watchProcessors({ it: pids, redis });
    const result = await runLoad({
      url: who.url,
      path,
      concurrency,
      bodies,
      seconds: SECONDS[path],
      problemOf: isSettle ? settleProblem : verifyProblem,
      onAnswer: (answer) => isSettle && answers.push(answer),
    });
    const busy = ends();
    rates.set(key, Math.max(rates.get(key) ?? 0, result.perSecond));
    const found = [
      ...((await audit?.findings(answers)) ?? []),
      ...Object.entries(result.failures).map(([why, times]) => `${times} failed: ${why}`),
    ].map((finding) => `${who.name} at ${concurrency}: ${finding}`);
    (who.name === 'ours' ? problems : notes).push(...found);
    const gas = isSettle ? await gasOf(stage.client, answers) : undefined;
    const used = (name: string, known: readonly number[]): number | undefined =>
      known.length === 0 ? undefined : (busy[name] ?? NaN) * result.seconds;
    const memory = pids.map((pid) => memoryMiBOf(pid) ?? 0).reduce((sum, one) => sum + one, 0);
    return {
      ...result,
      who: who.name,
      processorSeconds: used('it', pids),
      redisSeconds: used('redis', redis),
      residentMiB: pids.length === 0 ? undefined : memory,
      gas: gas?.reduce((sum, one) => sum + one.gas, 0),
    };
  };

  try {
    const ours = await stage.ours();
    const reference = await stage.reference();
    const contestants: Contestant[] = [
      {
        name: 'ours',
        url: ours.url,
        signer: OUR_SIGNER.address,
        pids: [pidOf(ours)],
        redis: [pidOf(stage.redis)],
      },
      {
        name: 'reference',
        url: reference.url,
        signer: REFERENCE_SIGNER.address,
        pids: [pidOf(reference)],
        redis: [],
      },
    ];
    for (const [index, option] of others.entries()) {
      const beside = await startBeside(option, index, stage.anvil.url);
      stops.push(() => beside.stop());
      contestants.push({ ...beside, redis: [] });
    }
    const runs: BesideRun[] = [];
    // The reference would take as long as all others together.
    for (const who of warm === 0 ? [] : contestants.filter(({ name }) => name !== 'reference')) {
      const waves = COUNTED / COUNTED_AT;
      const cold = await settled(who, COUNTED_AT, waves);
      for (let done = COUNTED; done < warm; done += COUNTED) await settled(who, COUNTED_AT, waves);
      const last = await settled(who, COUNTED_AT, waves);
      runs.push({ ...cold, who: `${who.name}, the first ${COUNTED}` });
      runs.push({ ...last, who: `${who.name}, ${COUNTED} after ${warm}` });
    }
    for (const who of contestants) await settled(who, 32);
    stops.push(busyLoops(options.sizes.load));
    for (let round = 0; round < options.rounds; round += 1) {
      for (const concurrency of LEVELS[path]) {
        // Who goes first changes with each round.
        const first = round % contestants.length;
        for (const who of [...contestants.slice(first), ...contestants.slice(0, first)]) {
          runs.push(await settled(who, concurrency));
        }
      }
      console.log(`  round ${round + 1} of ${options.rounds}`);
    }
    const report: BesideReport = {
      name: 'beside',
      at: new Date().toISOString(),
      path,
      seed: options.seed,
      machine,
      rounds: options.rounds,
      busyLoops: options.sizes.load,
      rows: besideRows(runs),
      notes,
      problems,
    };
    printBesideReport(report);
    options.save(report);
    return report;
  } finally {
    for (const stop of stops) await stop();
    await stage.stop();
  }
}
