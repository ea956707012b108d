import { eip3009Body, newAccount, newNonce } from '../support/payments.js';
import type { SeededRandom } from '../support/seeded-random.js';
import { delay, newCallerAddress, within } from './client.js';
import { type Deal, makeDeal, type Payment, play } from './deals.js';
import type { Fault } from './faults/index.js';
import { LAG_MOST_BLOCKS } from './faults/of-nodes.js';
import { Purse } from './gas.js';
import { reachesEveryNode } from './health.js';
import { type Expectations, violationsOf } from './invariants.js';
import { Order } from './order.js';
import type { Stage } from './stage.js';
import { TreasuryPurse } from './treasury.js';
import { Watch } from './watch.js';

export interface RunOptions {
  readonly payments: number;
  /** What goes wrong meanwhile. */
  readonly faults: readonly Fault[];
  /** Payments of honest payers. */
  readonly isHonest?: boolean;
  readonly bringApprovals?: boolean;
  readonly expectations?: Partial<Expectations>;
}

/** A played payment or action, as it is counted. */
export interface Counted {
  readonly manner: string;
  readonly trick: string | undefined;
}

export interface Played<D extends Counted = Deal> {
  readonly deals: readonly D[];
  /** The violations; empty if all is well. */
  readonly violations: readonly string[];
}

/** Longer than the grace of a sale: what a lost ledger leaves open is sold to the first after it. */
const REST_TIMEOUT_MS = 80_000;
/** What takes so many blocks more takes no time where they come four times a second. */
const REST_TIMEOUT_BLOCKS = 10;
/**
 * What an operator took out is put back by then. A lane without its key sends nothing: where a lie has left a gap
 * in its nonces as well, what it has on its way ends with its key, or with its deadline.
 */
const UNDO_MS = 40_000;
/** After the end of a fault a payment is settled again within this time. */
const RECOVERY_MS = 30_000;
const RECOVERY_FROM_NODES_MS = 10_000;
const HELD_UP_MOST_MS = 2000;
/** A node that is well again is asked again within this time. */
const NODES_TIMEOUT_MS = 20_000;
const NODES_LOOK_MS = 250;

/**
 * Payments on their way while something goes wrong, until every seller has its answer and every line of
 * work is empty.
 */
export async function playRun(
  stage: Stage,
  random: SeededRandom,
  { payments, faults, isHonest = false, bringApprovals = false, expectations = {} }: RunOptions,
): Promise<Played> {
  stage.beginRun();
  for (const fault of faults) await fault.prepare?.(stage, random);
  const meaningless = meaninglessAmong(faults);
  const meaninglessAfterApproval = new Set(
    faults.flatMap((fault) => fault.meaninglessAfterApproval ?? []),
  );
  const areLanesTaken = faults.some((fault) => fault.areLanesTaken === true);
  const hasReorgs = faults.some((fault) => fault.expectations?.hasReorgs === true);
  const isLedgerWhole = faults.every((fault) => fault.expectations?.isLedgerWhole !== false);
  const deals: Deal[] = [];
  for (let count = 0; count < payments; count += 1) {
    deals.push(
      await makeDeal(stage, random, {
        isHonest,
        bringApprovals,
        areLanesTaken,
        hasReorgs,
        isLedgerWhole,
        meaningless,
        meaninglessAfterApproval,
      }),
    );
  }
  stage.pool.watchFor(deals.flatMap((deal) => deal.payments));
  const violations = await playDisturbed(stage, random, faults, {
    play: async (deadline) => {
      await Promise.all(deals.map((deal) => play(stage, random, deal, deadline)));
    },
    judge: (expected) => violationsOf(stage, deals, { ...expected, ...expectations }),
    counts: () => ({
      sold: payments,
      requests: deals.flatMap(({ orders, strangers }) =>
        [...orders, ...strangers].flatMap((order) => order.requests),
      ).length,
    }),
  });
  return { deals, violations };
}

interface DisturbedPlay {
  play(deadline: number): Promise<void>;
  /** The violations, once nothing disturbs any more. */
  judge(expected: Expectations): Promise<readonly string[]>;
  /** Of what was played: what it had settled, and how often it asked. */
  counts(): { readonly sold: number; readonly requests: number };
}

/** Plays something while faults happen, and looks at what the deployment did meanwhile. */
export async function playDisturbed(
  stage: Stage,
  random: SeededRandom,
  faults: readonly Fault[],
  { play: playAll, judge, counts }: DisturbedPlay,
): Promise<readonly string[]> {
  // A node that lags must not be so far behind that it has not seen the payers' money.
  if (!stage.hasSlowBlocks) await stage.blocks.pass(LAG_MOST_BLOCKS + 1);
  const purse = new Purse(stage);
  await purse.begin();
  const treasury = stage.hasTreasury ? new TreasuryPurse(stage) : undefined;
  await treasury?.begin();
  const watch = new Watch(stage);
  const deadline = Date.now() + REST_TIMEOUT_MS + REST_TIMEOUT_BLOCKS * stage.blockTimeMs;
  const playing = playAll(deadline);
  const happening = Promise.all(faults.map((fault) => fault.run(stage, random)));
  await Promise.all([
    playing,
    undoInTime(stage, faults, Promise.all([playing, happening])),
    happening
      .finally(() => {
        stage.fleet.heal();
      })
      .then(() => recover(stage, random, faults)),
  ]);
  await stage.fleet.recovered();
  await nodesReached(stage);
  const areForgotten = faults.some(({ areRequestsForgotten }) => areRequestsForgotten === true);
  const expected: Expectations = {
    // Only the requester knows the writes that a replica has missed; when that process is gone too,
    // no one does.
    isLedgerWhole: !areForgotten || stage.losses.length === 0,
    hasReorgs: false,
    areJobsDone: false,
    heldUpMostMs: HELD_UP_MOST_MS,
    ...(Object.assign({}, ...faults.map((fault) => fault.expectations)) as object),
    isUndisturbed: faults.every((fault) => fault.expectations?.isUndisturbed === true),
  };
  const violations = await judge(expected);
  const { sold, requests } = counts();
  const others = stage.otherRequests;
  return [
    ...violations,
    ...stage.found,
    ...(await watch.end(requests + others)),
    ...(await purse.end(sold + others, expected.isLedgerWhole)),
    ...((await treasury?.end()) ?? []),
  ];
}

/**
 * When every seller has its answer and everything has happened, which may be later; and while some still ask in any
 * case.
 */
async function undoInTime(
  stage: Stage,
  faults: readonly Fault[],
  over: Promise<unknown>,
): Promise<void> {
  await within(UNDO_MS, over);
  for (const fault of faults) await fault.undo?.(stage);
}

/** Reasons that say nothing about a payment while all of these go on. */
export function meaninglessAmong(faults: readonly Fault[]): ReadonlySet<string> {
  const ofNodes = faults.filter(
    ({ isOfNodes, meaninglessAlone }) => isOfNodes === true || meaninglessAlone !== undefined,
  );
  const alone = ofNodes.length > 1 ? ofNodes : [];
  return new Set([
    ...faults.flatMap(({ meaningless = [] }) => meaningless),
    ...alone.flatMap(({ meaninglessAlone = [] }) => meaninglessAlone),
  ]);
}

/** Whatever it was, once it is over an honest payment is settled in little time. */
async function recover(
  stage: Stage,
  random: SeededRandom,
  faults: readonly Fault[],
): Promise<void> {
  await stage.fleet.recovered();
  const isOfNodes = faults.length > 0 && faults.every((fault) => fault.isOfNodes === true);
  const patienceMs = isOfNodes ? RECOVERY_FROM_NODES_MS : RECOVERY_MS;
  const order = new Order({
    payment: await probe(stage),
    urls: () => stage.urls(),
    random,
    from: newCallerAddress(),
    headersOf: (from) => stage.headersOf(from),
    hasKey: true,
  });
  stage.otherRequests += 1;
  const startedAt = Date.now();
  await order.pursue(startedAt + patienceMs);
  const ms = Date.now() - startedAt;
  if (order.end !== 'success' || ms > patienceMs) {
    const said = order.heard.map(({ reason }) => reason ?? 'success').join(' ');
    stage.found.push(`not settling again after ${ms} ms: ${said} -> ${order.end ?? 'no end'}`);
  }
}

/**
 * Waits until each process reaches every node again: otherwise the liar of the next run could be
 * the only node that a process reaches, and believing it would be right.
 */
async function nodesReached({ fleet, world, found }: Stage): Promise<void> {
  const deadline = Date.now() + NODES_TIMEOUT_MS;
  const waiting = fleet.slots.map(async ({ name, healthUrls }) => {
    while ((await reachesEveryNode(healthUrls, world.chainId)) === false) {
      if (Date.now() > deadline) {
        found.push(`${name}: does not reach a node that has been well for ${NODES_TIMEOUT_MS} ms`);
        return;
      }
      await delay(NODES_LOOK_MS);
    }
  });
  await Promise.all(waiting);
}

async function probe({ world, prober }: Stage): Promise<Payment> {
  const payTo = newAccount().address;
  const nonce = newNonce();
  const options = { payer: prober, chainId: world.chainId, token: world.usd, payTo, amount: 7n };
  const body = await eip3009Body({ ...options, nonce });
  const { address: payer } = prober;
  return { body, method: 'eip3009', token: world.usd, payer, payTo, amount: 7n, nonce };
}

const LEARNING_PAYMENTS = 3;
const IDLE_MS = 1500;

/** Listens to which scripts a settlement needs, and which run all the time. */
export async function learnFlow(stage: Stage, random: SeededRandom): Promise<readonly string[]> {
  await delay(IDLE_MS);
  const idle = stage.steps.counts();
  const { violations } = await playRun(stage, random, {
    payments: LEARNING_PAYMENTS,
    faults: [],
    isHonest: true,
  });
  if (violations.length > 0)
    throw new Error(`nothing was wrong, and yet\n${violations.join('\n')}`);
  const steps = [...stage.steps.counts().keys()].filter((step) => !idle.has(step));
  return steps.sort();
}
