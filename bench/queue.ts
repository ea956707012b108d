import { Redis } from 'ioredis';
import { freePort } from '../sandbox/processes.js';
import { type SandboxRedis, startRedis } from '../sandbox/redis.js';
import { readArguments } from './support/command-line.js';
import { runLoad, settleProblem } from './support/load.js';
import { BenchStage } from './support/stage.js';
import { spreadOf } from './support/statistics.js';

/**
 * `npm run bench:queue`: processor time of Redis for each settlement where the queues are in the ledger's, and where
 * they have one of their own without a disk, in alternation. Prints both; only their ratio means anything.
 */
interface Level {
  readonly concurrency: number;
  readonly count: number;
}

const LEVELS: readonly Level[] = [
  { concurrency: 1, count: 15 },
  { concurrency: 32, count: 640 },
  { concurrency: 300, count: 2400 },
];

/** Milliseconds for each settlement. */
interface Cost {
  readonly ledger: number;
  readonly queue: number;
  readonly perSecond: number;
}

const options = readArguments(3);
const stage = await BenchStage.build(options.seed);
const queue = await startRedis(await freePort(), undefined, ['--appendonly', 'no']);
const asked = new Map<SandboxRedis, Redis>([
  [stage.redis, new Redis(stage.redis.url)],
  [queue, new Redis(queue.url)],
]);

async function processorMs(server: SandboxRedis): Promise<number> {
  const text = (await asked.get(server)?.info('cpu')) ?? '';
  const seconds = [...text.matchAll(/^used_cpu_(?:sys|user):([\d.]+)/gm)].map(([, one]) =>
    Number(one),
  );
  return 1000 * seconds.reduce((sum, one) => sum + one, 0);
}

async function costOf({ concurrency, count }: Level, url: string): Promise<Cost> {
  const bodies = stage.factory.make('eip3009', count);
  const before = await Promise.all([processorMs(stage.redis), processorMs(queue)]);
  const { failed, failures, perSecond } = await runLoad({
    url,
    path: '/settle',
    concurrency,
    bodies,
    problemOf: settleProblem,
  });
  if (failed > 0) throw new Error(`${failed} failed: ${JSON.stringify(failures)}`);
  const after = await Promise.all([processorMs(stage.redis), processorMs(queue)]);
  const [ledger = 0, own = 0] = after.map((ms, index) => (ms - (before[index] ?? 0)) / count);
  return { ledger, queue: own, perSecond };
}

const found = new Map<string, Cost[]>();
try {
  for (let round = 0; round < options.rounds; round += 1) {
    for (const place of round % 2 === 0 ? ['shared', 'apart'] : ['apart', 'shared']) {
      const service = await stage.ours(place === 'apart' ? { QUEUE_REDIS_URL: queue.url } : {});
      await costOf({ concurrency: 32, count: 64 }, service.url);
      for (const level of LEVELS) {
        const name = `${level.concurrency} at once, ${place}`;
        found.set(name, [...(found.get(name) ?? []), await costOf(level, service.url)]);
      }
      await service.stop();
    }
  }
  for (const [name, costs] of [...found].sort()) {
    const of = (key: keyof Cost): string => {
      const { median, least, most } = spreadOf(costs.map((cost) => cost[key]));
      return `${median.toFixed(3)} (${least.toFixed(3)}-${most.toFixed(3)})`;
    };
    console.log(
      `${name}: ledger's Redis ${of('ledger')} ms, queues' ${of('queue')} ms, ${of('perSecond')} a second`,
    );
  }
} finally {
  for (const redis of asked.values()) redis.disconnect();
  await stage.stop();
  await queue.stop('SIGKILL');
}
