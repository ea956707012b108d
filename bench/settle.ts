import type { Address } from 'viem';
import { sandboxAccount } from '../sandbox/accounts.js';
import { bareNodeFloor } from './support/bare-node.js';
import { runBeside } from './support/beside-run.js';
import { beginAudit, transactionOf } from './support/chain-audit.js';
import { ChainClock } from './support/chain-clock.js';
import { readArguments } from './support/command-line.js';
import { type Contestant, problemsOf, ratiosOf, Scoreboard } from './support/comparison.js';
import { FULL_BATCH, fullBatches, gasOf, type GasUse } from './support/gas.js';
import { type Answered, type LoadResult, runLoad, settleProblem } from './support/load.js';
import { describeMachine } from './support/machine.js';
import type { Kind } from './support/payment-factory.js';
import { type Busyness, pidOf, watchProcessors } from './support/processor-time.js';
import { printSettleReport, type SettleReport, type TwoWorkers } from './support/settle-report.js';
import { BenchStage, BLOCK_TIME, CHAIN_ID, OUR_SIGNER, REFERENCE_SIGNER } from './support/stage.js';
import { spreadOf } from './support/statistics.js';

/**
 * `npm run bench:settle`: how many payments a second this service and the reference facilitator settle
 * with one signer on one local chain of 0.45 s blocks, in alternation. Every success is checked on
 * chain; an answer before its block would be a wrong one. With `--beside NAME=COMMAND` EIP-3009 alone,
 * and others beside the two.
 */
interface Level {
  readonly kind: Kind;
  readonly concurrency: number;
  /** Payments of one run in parts of the concurrency; fewer for who takes longer for each. */
  readonly waves: Readonly<Record<Contestant, number>>;
  readonly roundsMax: number;
}

const EVERY_ROUND = Number.MAX_SAFE_INTEGER;
const LEVELS: readonly Level[] = [
  { kind: 'eip3009', concurrency: 1, waves: { ours: 6, reference: 4 }, roundsMax: EVERY_ROUND },
  { kind: 'eip3009', concurrency: 32, waves: { ours: 8, reference: 2 }, roundsMax: EVERY_ROUND },
  { kind: 'eip3009', concurrency: 100, waves: { ours: 8, reference: 1 }, roundsMax: EVERY_ROUND },
  { kind: 'permit2', concurrency: 100, waves: { ours: 6, reference: 1 }, roundsMax: EVERY_ROUND },
  { kind: 'upto', concurrency: 100, waves: { ours: 3, reference: 1 }, roundsMax: EVERY_ROUND },
  { kind: 'v1', concurrency: 100, waves: { ours: 6, reference: 1 }, roundsMax: EVERY_ROUND },
  { kind: 'eip3009', concurrency: 300, waves: { ours: 7, reference: 1 }, roundsMax: EVERY_ROUND },
  // Half a minute for the reference each time.
  { kind: 'eip3009', concurrency: 1000, waves: { ours: 4, reference: 1 }, roundsMax: 2 },
];
const PATH = '/settle';
const BARE_TRANSFERS = 5000;
const MOST = 1000;

const options = readArguments(3, { load: 0, warm: 0 }, undefined, ['beside']);
if (options.texts.beside.length > 0) {
  const { problems } = await runBeside('/settle', options, options.sizes.warm);
  process.exit(problems.length === 0 ? 0 : 1);
}
const machine = describeMachine();
const stage = await BenchStage.build(options.seed);
const { client, factory } = stage;
const clock = await ChainClock.open(stage.anvil.url);
const problems: string[] = [];

interface AuditedRun {
  readonly result: LoadResult;
  readonly answers: readonly Answered[];
  /** While the load ran. */
  readonly cores: Busyness;
}

const programs: Record<string, readonly number[]> = {
  anvil: [pidOf(stage.anvil)],
  redis: [pidOf(stage.redis)],
  load: [process.pid],
};

async function settle(
  who: string,
  url: string,
  signers: readonly Address[],
  kind: Kind,
  concurrency: number,
  count: number,
  payees?: number,
): Promise<AuditedRun> {
  const [facilitator] = signers;
  const bodies = factory.make(kind, count, {
    ...(payees !== undefined && { payees }),
    ...(facilitator !== undefined && { facilitator }),
  });
  const audit = await beginAudit(client, factory, kind, signers);
  const answers: Answered[] = [];
  const ends = watchProcessors(programs);
  const result = await runLoad({
    url,
    path: PATH,
    concurrency,
    bodies,
    problemOf: settleProblem,
    onAnswer: (answer) => answers.push(answer),
  });
  const cores = ends();
  const findings = await audit.findings(answers);
  problems.push(...findings.map((finding) => `${who} ${kind} at ${concurrency}: ${finding}`));
  return { result, answers, cores };
}

/** Milliseconds a facilitator adds to what the chain takes: until its transaction, and after its block. */
async function addedTimes(answers: readonly Answered[]): Promise<readonly number[]> {
  const times = answers.map(async (answer) => {
    const hash = transactionOf(answer);
    const { blockNumber } = await client.getTransactionReceipt({ hash });
    const [taken, mined] = [clock.takenAt(hash), clock.blockAt(blockNumber)];
    if (taken === undefined || mined === undefined) return [];
    if (answer.answeredAt < mined) problems.push(`${hash} was answered before its block`);
    return [taken - answer.sentAt + (answer.answeredAt - mined)];
  });
  return (await Promise.all(times)).flat();
}

interface Comparison {
  readonly board: Scoreboard;
  readonly added: Readonly<Record<Contestant, number[]>>;
  readonly busyness: Busyness;
}

async function compare(): Promise<Comparison> {
  const ours = await stage.ours();
  const reference = await stage.reference();
  const sides = {
    ours: { url: ours.url, signers: [OUR_SIGNER.address] },
    reference: { url: reference.url, signers: [REFERENCE_SIGNER.address] },
  };
  programs['ours'] = [pidOf(ours)];
  programs['reference'] = [pidOf(reference)];
  const board = new Scoreboard();
  const added: Record<Contestant, number[]> = { ours: [], reference: [] };
  let busyness: Busyness = {};
  for (const [who, { url, signers }] of Object.entries(sides)) {
    await settle(`${who}, warming up,`, url, signers, 'eip3009', 32, 64);
  }
  for (let round = 0; round < options.rounds; round += 1) {
    for (const { kind, concurrency, waves, roundsMax } of LEVELS) {
      if (round >= roundsMax) continue;
      const order: readonly Contestant[] =
        round % 2 === 0 ? ['ours', 'reference'] : ['reference', 'ours'];
      for (const who of order) {
        const { url, signers } = sides[who];
        const run = await settle(who, url, signers, kind, concurrency, concurrency * waves[who]);
        const { result, answers, cores } = run;
        if (who === 'ours' && concurrency === 300) busyness = cores;
        board.note(who, kind, result, cores[who]);
        if (concurrency === 1) added[who].push(...(await addedTimes(answers)));
      }
    }
    console.log(`  round ${round + 1} of ${options.rounds}`);
  }
  await ours.stop();
  await reference.stop();
  return { board, added, busyness };
}

/** Two processes with two signers on one Redis: no nonce is used twice, and none is left out. */
async function twoWorkers(): Promise<TwoWorkers> {
  const signers = [sandboxAccount(4), sandboxAccount(5)];
  const settings = { SIGNER_KEYS: signers.map(({ key }) => key).join(',') };
  const services = [await stage.ours(settings), await stage.ours({ ...settings, ROLES: 'worker' })];
  const addresses = signers.map(({ address }) => address);
  const { url } = services[0] ?? { url: '' };
  const { result, answers } = await settle('two workers,', url, addresses, 'eip3009', 300, 1800);
  if (result.failed > 0) {
    problems.push(`two workers: ${result.failed} failed ${JSON.stringify(result.failures)}`);
  }
  const used = await Promise.all(
    addresses.map((address) => client.getTransactionCount({ address })),
  );
  if (used.includes(0)) problems.push('two workers: one of the lanes was not used');
  await Promise.all(services.map((service) => service.stop()));
  return {
    perSecond: result.perSecond,
    transactions: new Set(answers.map(transactionOf)).size,
    noncesUsed: used,
    failed: result.failed,
  };
}

/** With one transaction in flight everything else gathers, so that the batches are full. */
async function gasUse(): Promise<readonly GasUse[]> {
  const signer = sandboxAccount(6);
  const service = await stage.ours({ SIGNER_KEYS: signer.key, LANE_WINDOW_MAX: '1' });
  const uses: GasUse[] = [];
  for (const method of ['eip3009', 'permit2'] as const) {
    const run = async (concurrency: number, count: number, payees?: number) =>
      gasOf(
        client,
        (await settle('gas,', service.url, [signer.address], method, concurrency, count, payees))
          .answers,
      );
    const alone = await run(1, 4);
    const single = spreadOf(alone.map(({ gas }) => gas)).median;
    for (const payees of ['one', 'many'] as const) {
      const transactions = await run(160, 320, payees === 'one' ? 1 : undefined);
      const full = fullBatches(transactions);
      if (full.batches === 0) problems.push(`gas, ${method}: no batch of ${FULL_BATCH} came about`);
      uses.push({ method, payees, single, ...full });
    }
  }
  await service.stop();
  return uses;
}

const begun = performance.now();
try {
  const { board, added, busyness } = await compare();
  const bare = await bareNodeFloor({
    rpcUrl: stage.anvil.url,
    chainId: CHAIN_ID,
    from: sandboxAccount(7),
    clock,
    concurrency: MOST,
    count: BARE_TRANSFERS,
  });
  const two = await twoWorkers();
  const gas = await gasUse();
  const cells = board.cells();
  const report: SettleReport = {
    name: 'settle',
    at: new Date().toISOString(),
    seed: options.seed,
    machine,
    blockTime: BLOCK_TIME,
    measuredBlockTime: clock.blockTime,
    cells,
    busyness,
    added: { ours: spreadOf(added.ours), reference: spreadOf(added.reference) },
    bare,
    two,
    gas,
    ratios: ratiosOf(cells),
    problems: [...problems, ...problemsOf(cells)],
    seconds: (performance.now() - begun) / 1000,
  };
  printSettleReport(report);
  options.save(report);
  process.exitCode = report.problems.length === 0 ? 0 : 1;
} finally {
  clock.close();
  await stage.stop();
}
