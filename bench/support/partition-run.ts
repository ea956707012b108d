import { PARTITION_COUNTS } from '../../src/platform/config/partition-settings.js';
import { Partitions } from '../../src/platform/redis/partitions.js';
import { ClusterGroup } from '../../test/support/cluster-group.js';
import { laneKeyIn } from '../../test/support/lane-keys.js';
import { beginAudit } from './chain-audit.js';
import type { BenchArguments } from './command-line.js';
import { type Answered, runLoad, settleProblem } from './load.js';
import { describeMachine, type Machine, machineLine, versionsLine } from './machine.js';
import { pidOf, processorSecondsOf } from './processor-time.js';
import { BenchStage, CHAIN_ID } from './stage.js';
import { type Spread, spreadOf } from './statistics.js';
import { figure, textTable } from './text-table.js';
import { rangeOf } from './verify-report.js';

const KIND = 'eip3009';
const CONCURRENCY = 300;
const WAVES = 8;
const PRIMARIES = 4;
const LANE_WEI = 10n ** 21n;

interface PartitionRun {
  readonly partitions: number;
  readonly perSecond: number;
  /** Milliseconds of processor time of each primary for each settlement, the busiest first. */
  readonly redisMs: readonly number[];
}

export interface PartitionReport {
  readonly name: 'partitions';
  readonly at: string;
  readonly seed: string;
  readonly machine: Machine;
  readonly rounds: number;
  readonly rows: readonly {
    readonly partitions: number;
    readonly perSecond: Spread;
    readonly busiestMs: Spread;
    readonly allMs: Spread;
  }[];
  readonly problems: readonly string[];
}

/**
 * `--partitions`: what the nodes of a Redis Cluster have to do for a settlement, by the number of partitions of the
 * ledger. The same four lanes each time, so that every partition has one. The queue, and what belongs to no
 * chain, stay where they are.
 */
export async function runPartitions(
  counts: readonly number[],
  options: BenchArguments<'load', 'beside' | 'partitions'>,
): Promise<PartitionReport> {
  if (counts.some((count) => !PARTITION_COUNTS.some((one) => one === count) || count > PRIMARIES)) {
    throw new Error(
      `--partitions takes numbers of ${PARTITION_COUNTS.join(', ')} up to ${PRIMARIES}`,
    );
  }
  const stage = await BenchStage.build(options.seed);
  const cluster = await ClusterGroup.start(PRIMARIES, false);
  // One for each partition of the most, which serve any smaller number as well.
  const most = new Partitions(new Map([[CHAIN_ID, PRIMARIES]]));
  const lanes = most.all(CHAIN_ID).map((one) => laneKeyIn(most, one, 'bench'));
  const problems: string[] = [];
  const runs: PartitionRun[] = [];
  const addresses = lanes.map(({ address }) => address);

  const play = async (partitions: number): Promise<PartitionRun> => {
    await cluster.lose();
    const service = await stage.ours({
      REDIS_URL: cluster.url,
      SIGNER_KEYS: lanes.map(({ key }) => key).join(','),
      [`LEDGER_PARTITIONS_${CHAIN_ID}`]: `${partitions}`,
    });
    const load = async (count: number): Promise<{ completed: number; perSecond: number }> => {
      const audit = await beginAudit(stage.client, stage.factory, KIND, addresses);
      const answers: Answered[] = [];
      const result = await runLoad({
        ...{
          url: service.url,
          path: '/settle',
          concurrency: CONCURRENCY,
          problemOf: settleProblem,
        },
        bodies: stage.factory.make(KIND, count, {}),
        onAnswer: (answer) => answers.push(answer),
      });
      const found = [
        ...(await audit.findings(answers)),
        ...Object.entries(result.failures).map(([why, times]) => `${times} failed: ${why}`),
      ];
      problems.push(...found.map((finding) => `${partitions} partitions: ${finding}`));
      return result;
    };
    await load(CONCURRENCY);
    const before = cluster.servers.map((server) => secondsOf(pidOf(server)));
    const { completed, perSecond } = await load(CONCURRENCY * WAVES);
    const after = cluster.servers.map((server) => secondsOf(pidOf(server)));
    const used = after.map(
      (seconds, index) => ((seconds - (before[index] ?? NaN)) * 1000) / completed,
    );
    await service.stop();
    return { partitions, perSecond, redisMs: used.sort((a, b) => b - a) };
  };

  try {
    for (const address of addresses) {
      await stage.client.setBalance({ address, value: LANE_WEI });
    }
    for (let round = 0; round < options.rounds; round += 1) {
      // Who goes first changes with each round.
      const first = round % counts.length;
      for (const count of [...counts.slice(first), ...counts.slice(0, first)]) {
        runs.push(await play(count));
      }
      console.log(`  round ${round + 1} of ${options.rounds}`);
    }
    const { seed, rounds } = options;
    const report: PartitionReport = {
      ...{ name: 'partitions', at: new Date().toISOString(), seed, machine: describeMachine() },
      ...{ rounds, problems },
      rows: counts.map((partitions) => {
        const own = runs.filter((run) => run.partitions === partitions);
        return {
          partitions,
          perSecond: spreadOf(own.map((run) => run.perSecond)),
          busiestMs: spreadOf(own.map(({ redisMs }) => redisMs[0] ?? NaN)),
          allMs: spreadOf(own.map(({ redisMs }) => redisMs.reduce((sum, one) => sum + one, 0))),
        };
      }),
    };
    printReport(report);
    options.save(report);
    return report;
  } finally {
    await stage.stop();
    await cluster.stop();
  }
}

function secondsOf(pid: number): number {
  const seconds = processorSecondsOf(pid);
  if (seconds === undefined) throw new Error('processor time cannot be told here');
  return seconds;
}

function printReport({ machine, seed, rounds, rows, problems }: PartitionReport): void {
  console.log(`\n${KIND} settles, ${CONCURRENCY} at once, by partitions of the ledger\n`);
  console.log(machineLine(machine));
  console.log(`${versionsLine(machine)}\nseed ${seed}; ${rounds} rounds\n`);
  console.log(
    textTable(
      [
        ...['partitions', 'per second', 'spread'],
        ...['busiest node ms', 'spread', 'all nodes ms', 'spread'],
      ],
      rows.map(({ partitions, perSecond, busiestMs, allMs }) => [
        ...[String(partitions), figure(perSecond.median), rangeOf(perSecond)],
        ...[figure(busiestMs.median), rangeOf(busiestMs), figure(allMs.median), rangeOf(allMs)],
      ]),
    ),
  );
  for (const problem of problems) console.log(`WRONG: ${problem}`);
  console.log(problems.length === 0 ? '\nno failures' : '\nFAILED');
}
