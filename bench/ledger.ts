import { Redis } from 'ioredis';
import { type SandboxAccount, sandboxAccount } from '../sandbox/accounts.js';
import { freePort } from '../sandbox/processes.js';
import { startRedis } from '../sandbox/redis.js';
import { listKey, recordKey } from '../src/settlement/ledger/keys.js';
import { beginAudit, transactionOf } from './support/chain-audit.js';
import { ChainClock } from './support/chain-clock.js';
import { readArguments } from './support/command-line.js';
import { type LedgerReport, type MemoryPoint, printLedgerReport } from './support/ledger-report.js';
import { type Answered, runLoad, settleProblem } from './support/load.js';
import { describeMachine } from './support/machine.js';
import { memoryMiBOf, pidOf } from './support/processor-time.js';
import { keysOf, meanBytesOf, usedBytes } from './support/redis-memory.js';
import { SeededBytes } from './support/seeded-bytes.js';
import { BenchStage, CHAIN_ID, OUR_SIGNER } from './support/stage.js';
import { ascending, percentile, slopeOf, spreadOf } from './support/statistics.js';

/**
 * `npm run bench:ledger -- [settlements] [tombstones]`: what the ledger weighs, and whether its size
 * makes a settle slower: two services on one chain, one beside a small ledger, one beside a large.
 */
const FEW = 1000;
const CONCURRENCY = 32;
const WAVES = 6;
const PORTION = 2500;
const LONG_RUN_CONCURRENCY = 300;

const options = readArguments(8);
const settlements = Number(options.positional[0] ?? 50_000);
const tombstones = Number(options.positional[1] ?? 1_000_000);
const machine = describeMachine();
const stage = await BenchStage.build(options.seed);
const { client, factory } = stage;
const largeRedis = await startRedis(await freePort());
const clock = await ChainClock.open(stage.anvil.url);
const [small, large] = [new Redis(stage.redis.url), new Redis(largeRedis.url)];
const problems: string[] = [];

async function settle(
  url: string,
  { address }: SandboxAccount,
  concurrency: number,
  count: number,
): Promise<readonly Answered[]> {
  const audit = await beginAudit(client, factory, 'eip3009', [address]);
  const answers: Answered[] = [];
  const { failed, failures } = await runLoad({
    url,
    path: '/settle',
    concurrency,
    bodies: factory.make('eip3009', count),
    problemOf: settleProblem,
    onAnswer: (answer) => answers.push(answer),
  });
  if (failed > 0) problems.push(`${failed} failed ${JSON.stringify(failures)}`);
  problems.push(...(await audit.findings(answers)));
  return answers;
}

/** Milliseconds until its transaction was with the node, and from its block to the answer. */
async function addedTimes(answers: readonly Answered[]): Promise<number[]> {
  const blocks = new Map<string, Promise<bigint>>();
  const blockOf = (hash: `0x${string}`): Promise<bigint> => {
    const known = blocks.get(hash);
    if (known !== undefined) return known;
    const asked = client.getTransactionReceipt({ hash }).then(({ blockNumber }) => blockNumber);
    blocks.set(hash, asked);
    return asked;
  };
  const times = answers.map(async (answer) => {
    const hash = transactionOf(answer);
    const [taken, mined] = [clock.takenAt(hash), clock.blockAt(await blockOf(hash))];
    if (taken === undefined || mined === undefined) return [];
    return [taken - answer.sentAt + (answer.answeredAt - mined)];
  });
  return (await Promise.all(times)).flat();
}

/** Copies of a finished record under other ids: to the ledger they are settlements of long ago. */
async function bury(redis: Redis, chainId: number, count: number): Promise<number> {
  const [key] = await keysOf(redis, recordKey(chainId, ''), 1);
  const fields = key === undefined ? {} : await redis.hgetall(key);
  if (Object.keys(fields).length === 0) throw new Error('no finished record to copy');
  const seconds = 3650 * 86_400;
  const before = await usedBytes(redis);
  const bytes = new SeededBytes(`${options.seed} tombstones`);
  for (let done = 0; done < count; done += PORTION) {
    const pipeline = redis.pipeline();
    for (let index = done; index < Math.min(count, done + PORTION); index += 1) {
      const copy = recordKey(chainId, bytes.next(32).toString('base64url'));
      pipeline.hset(copy, fields).expire(copy, seconds);
    }
    await pipeline.exec();
  }
  return ((await usedBytes(redis)) - before) / count;
}

/** Mean bytes of an unfinished record; 0 without any. */
async function liveRecordBytes(redis: Redis): Promise<number> {
  const ids = await redis.zrange(listKey(CHAIN_ID, 'live'), '0', '999');
  const sizes = await Promise.all(ids.map((id) => redis.memory('USAGE', recordKey(CHAIN_ID, id))));
  const known = sizes.filter((size) => size !== null);
  return known.length === 0 ? 0 : known.reduce((sum, size) => sum + size, 0) / known.length;
}

try {
  const otherSigner = sandboxAccount(4);
  const service = await stage.ours();
  const besideLarge = await stage.ours({
    REDIS_URL: largeRedis.url,
    SIGNER_KEYS: otherSigner.key,
  });
  await settle(service.url, OUR_SIGNER, 100, FEW);
  await settle(besideLarge.url, otherSigner, 100, FEW);
  console.log(`  ${FEW} settlements in each ledger`);
  const tombstoneBytes = await bury(large, CHAIN_ID, tombstones);
  console.log(`  ${tombstones} tombstones in one of them`);

  const added: Record<'small' | 'large', number[][]> = { small: [], large: [] };
  for (let round = 0; round < options.rounds; round += 1) {
    const count = CONCURRENCY * WAVES;
    const sides = [
      async () => {
        const answers = await settle(service.url, OUR_SIGNER, CONCURRENCY, count);
        added.small.push(await addedTimes(answers));
      },
      async () => {
        const answers = await settle(besideLarge.url, otherSigner, CONCURRENCY, count);
        added.large.push(await addedTimes(answers));
      },
    ];
    if (round % 2 === 1) sides.reverse();
    for (const side of sides) await side();
    console.log(`  round ${round + 1} of ${options.rounds}`);
  }
  await besideLarge.stop();

  const live = { sampled: 0, bytes: 0 };
  const points: MemoryPoint[] = [];
  for (let done = 0; done < settlements; done += PORTION) {
    const running = settle(service.url, OUR_SIGNER, LONG_RUN_CONCURRENCY, PORTION);
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const bytes = await liveRecordBytes(small);
    if (bytes > 0) {
      live.bytes += bytes;
      live.sampled += 1;
    }
    await running;
    points.push({
      settlements: done + PORTION,
      serviceMiB: memoryMiBOf(pidOf(service)) ?? 0,
      redisMiB: (await usedBytes(small)) / 2 ** 20,
    });
    if (points.length % 4 === 0) console.log(`  ${done + PORTION} of ${settlements} settlements`);
  }
  const secondHalf = points.slice(Math.floor(points.length / 2));
  const perTenThousand = (read: (point: MemoryPoint) => number): number =>
    slopeOf(secondHalf.map((point) => [point.settlements / 10_000, read(point)]));
  const p99 = (rounds: readonly (readonly number[])[]): number =>
    percentile(ascending(rounds.flat()), 0.99);
  const median = (rounds: readonly (readonly number[])[]): number =>
    percentile(ascending(rounds.flat()), 0.5);
  const report: LedgerReport = {
    name: 'ledger',
    at: new Date().toISOString(),
    seed: options.seed,
    machine,
    settlements,
    tombstones,
    tombstoneBytes,
    points,
    problems,
    finishedBytes: (perTenThousand(({ redisMiB }) => redisMiB) * 2 ** 20) / 10_000,
    liveRecordBytes: live.sampled === 0 ? 0 : live.bytes / live.sampled,
    detailsBytes: await meanBytesOf(small, `x402:{${CHAIN_ID}:0}:d:`),
    serviceSlopeMiB: perTenThousand(({ serviceMiB }) => serviceMiB),
    redisSlopeMiB: perTenThousand(({ redisMiB }) => redisMiB),
    added: {
      small: { p50: median(added.small), p99: p99(added.small) },
      large: { p50: median(added.large), p99: p99(added.large) },
      // Round against round, so that what else the machine does counts for both.
      p99Ratio: spreadOf(
        added.large.map((round, index) => p99([round]) / p99([added.small[index] ?? []])),
      ),
    },
  };
  printLedgerReport(report);
  options.save(report);
  process.exitCode = problems.length === 0 ? 0 : 1;
} finally {
  clock.close();
  small.disconnect();
  large.disconnect();
  await stage.stop();
  await largeRedis.stop('SIGKILL');
}
