import type { SeededRandom } from '../../support/seeded-random.js';
import type { Moment } from '../fleet.js';
import { LIES } from '../rpc-lies.js';
import type { Stage } from '../stage.js';
import type { Fault } from './fault.js';
import { reorg, REORG_WITNESSES, reorgAfterDeath, reorgUnwitnessed } from './of-chain.js';
import { budget } from './of-money.js';
import {
  isLieUnwitnessed,
  MAY_BE_EVERYWHERE,
  nodeLies,
  nonceAtOpening,
  RPC_FAULTS,
  rpcFault,
} from './of-nodes.js';
import {
  freeze,
  keyRemoved,
  killAnyTime,
  killAt,
  networkRemoved,
  rollingDeploy,
  skewedClocks,
} from './of-processes.js';
import {
  crashRedis,
  failOver,
  failOverAsleep,
  loseRedis,
  stallOne,
  stallRedis,
  swallowReply,
} from './of-redis.js';
import { fatBatch, hostileTokens } from './of-tokens.js';

export type { Fault } from './fault.js';

const RPC_MOMENTS: readonly Moment[] = [
  { when: 'before', step: 'eth_sendRawTransaction' },
  { when: 'after', step: 'eth_sendRawTransaction' },
  { when: 'before', step: 'eth_getTransactionReceipt' },
];

/** How often each is drawn, against the others. */
const WEIGHTS: readonly (readonly [number, (stage: Stage, random: SeededRandom) => Fault])[] = [
  [
    4,
    (stage, random) =>
      killAt(random.chance(0.2) ? random.pick(RPC_MOMENTS) : momentOf(stage, random)),
  ],
  [1, () => killAnyTime],
  [1, (_, random) => freeze(random.between(2000, 4500), random.pick(['api', 'worker']))],
  [1, () => rollingDeploy],
  [1, () => skewedClocks],
  [2, () => keyRemoved],
  [1, () => networkRemoved],
  [1, () => crashRedis],
  [1, () => stallRedis],
  [1, (_, random) => stallOne(random.pick(['api', 'worker']))],
  [5, (stage, random) => swallowReply(stepOf(stage, random), random.pick([0, 0, 400, 2500]))],
  [4, (stage, random) => failOver(momentOf(stage, random))],
  // Longer than three seconds are waited in any case, and shorter than a process is awaited.
  [2, (stage, random) => failOverAsleep(momentOf(stage, random), random.between(4000, 9000))],
  [1, () => loseRedis],
  [3, (_, random) => rpcFault(random.pick(RPC_FAULTS), random.chance(0.4))],
  [7, anyLie],
  [1, () => nonceAtOpening],
  [2, () => reorg],
  [1, () => reorgAfterDeath],
  [2, (_, random) => reorgUnwitnessed(random.pick(REORG_WITNESSES), random.between(0, 1))],
  [1, () => budget],
  [2, () => hostileTokens],
  [1, () => fatBatch],
];

function anyLie(_: Stage, random: SeededRandom): Fault {
  const about = random.pick(LIES);
  const isEverywhere = MAY_BE_EVERYWHERE.includes(about) && random.chance(0.4);
  return nodeLies(about, isEverywhere ? undefined : random.between(0, 1));
}

const stepOf = ({ flow }: Stage, random: SeededRandom): string => random.pick(flow);

function momentOf(stage: Stage, random: SeededRandom): Moment {
  return { when: random.pick(['before', 'after']), step: stepOf(stage, random) };
}

/** One to three of everything. */
export function anyOf(stage: Stage, random: SeededRandom): readonly Fault[] {
  const chosen = [drawOne(stage, random)];
  for (let more = random.pick([0, 0, 1, 1, 2]); more > 0; more -= 1) {
    const next = drawOne(stage, random);
    if (chosen.every((one) => canGoTogether(one, next))) chosen.push(next);
  }
  return chosen;
}

function drawOne(stage: Stage, random: SeededRandom): Fault {
  const total = WEIGHTS.reduce((sum, [weight]) => sum + weight, 0);
  let drawn = random.below(total);
  for (const [weight, make] of WEIGHTS) {
    drawn -= weight;
    if (drawn < 0) return make(stage, random);
  }
  throw new RangeError('more was drawn than there is');
}

/** Two of a kind only disturb each other, and so do two that put Redis or settings in order again. */
const ALONE: readonly (readonly string[])[] = [
  [
    crashRedis.kind,
    loseRedis.kind,
    stallRedis.kind,
    'a replica that missed the newest writes',
    'a process late after a replica that missed the newest writes',
  ],
  [keyRemoved.kind, networkRemoved.kind, budget.kind, skewedClocks.kind, rollingDeploy.kind],
  [reorg.kind, reorgAfterDeath.kind, 'a block is replaced and one node does not show it'],
];

function canGoTogether(one: Fault, other: Fault): boolean {
  if (one.kind === other.kind) return false;
  // Counted values must be known to the unit, and a loss of the ledger is combined with no other
  // fault.
  if ([one, other].some(({ kind }) => kind === budget.kind || kind === loseRedis.kind))
    return false;
  if (isLieUnwitnessed(one, other) || isLieUnwitnessed(other, one)) return false;
  return !ALONE.some((group) => group.includes(one.kind) && group.includes(other.kind));
}
