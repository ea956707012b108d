import { sandboxAccount } from '../sandbox/accounts.js';
import { CALL_PRICE, tradeByChannel } from '../sandbox/channel-trade.js';
import { mint } from '../sandbox/tokens.js';
import {
  type ChannelGas,
  type ChannelsReport,
  printChannelsReport,
} from './support/channels-report.js';
import { readArguments } from './support/command-line.js';
import { type Contestant, problemsOf, ratiosOf, Scoreboard } from './support/comparison.js';
import { forgeriesTaken } from './support/forgeries.js';
import { FULL_BATCH, fullBatches, gasOf } from './support/gas.js';
import { type Answered, runLoad, settleProblem, verifyProblem } from './support/load.js';
import { describeMachine } from './support/machine.js';
import { pidOf, watchProcessors } from './support/processor-time.js';
import { BenchStage, CHAIN_ID } from './support/stage.js';
import { VoucherFactory } from './support/voucher-factory.js';

/**
 * `npm run bench:channels`: how many vouchers a second this service and the reference facilitator verify, in
 * alternation, every voucher a new one; and the gas of a call that is paid by a channel, beside that of a payment by
 * `exact` in a full batch.
 */
const CONCURRENCY = 32;
/** Vouchers of one run; fewer for who takes longer for each. */
const COUNTS: Readonly<Record<Contestant, number>> = { ours: 4000, reference: 400 };
const FORGED = 20;
const CALLS = [100, 1000];

const options = readArguments(3);
const machine = describeMachine();
const stage = await BenchStage.build(options.seed);
const problems: string[] = [];

async function compare(): Promise<Scoreboard> {
  const ours = await stage.ours();
  const reference = await stage.reference();
  const urls: Readonly<Record<Contestant, string>> = { ours: ours.url, reference: reference.url };
  const programs = { ours: [pidOf(ours)], reference: [pidOf(reference)] };
  const vouchers = await VoucherFactory.open(stage.factory, ours.url);
  const verify = (who: Contestant, bodies: readonly string[]) =>
    runLoad({
      url: urls[who],
      path: '/verify',
      concurrency: CONCURRENCY,
      bodies,
      problemOf: verifyProblem,
    });
  for (const who of ['ours', 'reference'] as const) {
    await verify(who, vouchers.make(COUNTS[who] / 4));
  }
  problems.push(...(await forgeriesTaken(urls, vouchers.make(FORGED))));
  const board = new Scoreboard();
  for (let round = 0; round < options.rounds; round += 1) {
    // Who goes first changes with each round.
    const order: readonly Contestant[] =
      round % 2 === 0 ? ['ours', 'reference'] : ['reference', 'ours'];
    for (const who of order) {
      const bodies = vouchers.make(COUNTS[who]);
      const ends = watchProcessors(programs);
      const result = await verify(who, bodies);
      board.note(who, 'voucher', result, ends()[who]);
    }
    console.log(`  round ${round + 1} of ${options.rounds}`);
  }
  await ours.stop();
  await reference.stop();
  return board;
}

/** By the stock client, server and manager; each time with another seller, so that no run pays for another. */
async function gasOfChannels(url: string): Promise<readonly ChannelGas[]> {
  const usd = stage.factory.tokenOf('eip3009');
  const found: ChannelGas[] = [];
  for (const [index, calls] of CALLS.entries()) {
    const [buyer, seller] = [sandboxAccount(10 + index), sandboxAccount(15 + index)];
    await mint(stage.client, usd, buyer.address, CALL_PRICE * BigInt(calls));
    const { seconds, transactions, gasEach } = await tradeByChannel({
      facilitatorUrl: url,
      rpcUrl: stage.anvil.url,
      client: stage.client,
      network: `eip155:${CHAIN_ID}`,
      usd,
      buyer: buyer.key,
      seller: seller.key,
      calls,
    });
    const callsPerSecond = calls / seconds;
    found.push({ calls, transactions: transactions.length, gasEach, callsPerSecond });
  }
  return found;
}

async function gasOfExact(url: string): Promise<ChannelsReport['exact']> {
  const answers: Answered[] = [];
  const { failed, failures } = await runLoad({
    url,
    path: '/settle',
    concurrency: 160,
    bodies: stage.factory.make('eip3009', 320, { payees: 1 }),
    problemOf: settleProblem,
    onAnswer: (answer) => answers.push(answer),
  });
  if (failed > 0) problems.push(`exact: ${failed} failed ${JSON.stringify(failures)}`);
  const full = fullBatches(await gasOf(stage.client, answers));
  if (full.batches === 0) problems.push(`exact: no batch of ${FULL_BATCH} came about`);
  return full;
}

const begun = performance.now();
try {
  const cells = (await compare()).cells();
  // With one transaction in flight everything else gathers, so that the batches are full.
  const service = await stage.ours({ SIGNER_KEYS: sandboxAccount(6).key, LANE_WINDOW_MAX: '1' });
  const report: ChannelsReport = {
    name: 'channels',
    at: new Date().toISOString(),
    seed: options.seed,
    machine,
    cells,
    ratios: ratiosOf(cells),
    exact: await gasOfExact(service.url),
    channels: await gasOfChannels(service.url),
    problems: [...problems, ...problemsOf(cells)],
    seconds: (performance.now() - begun) / 1000,
  };
  printChannelsReport(report);
  options.save(report);
  process.exitCode = report.problems.length === 0 ? 0 : 1;
} finally {
  await stage.stop();
}
