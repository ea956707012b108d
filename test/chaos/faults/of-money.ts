import { formatEther } from 'viem';
import { delay } from '../client.js';
import type { Stage } from '../stage.js';
import type { Fault } from './fault.js';
import { rpcFault } from './of-nodes.js';

/** About what one settlement may cost at the price of this chain; it costs a tenth of that. */
const LEAST_ROOM_WEI = 5n * 10n ** 13n;

/**
 * The lanes have a small gas budget for today, and nodes that make them pay more for the same. The ledger
 * is emptied before, so that it has counted nothing yet.
 */
export const budget: Fault = {
  kind: 'a gas budget',
  name: 'a gas budget that is soon spent',
  // A payer whose approval cannot be paid for today is refused at once, and not left waiting as the others are.
  meaninglessAfterApproval: ['budget_exhausted'],
  prepare: async (stage, random) => {
    await stage.ledger.lose();
    const room = LEAST_ROOM_WEI * BigInt(random.between(1, 10));
    const name = `GAS_BUDGET_DAILY_${stage.world.chainId}`;
    stage.budget = { dayOf: today(), roomWei: room, before: await spentOf(stage) };
    await Promise.all(
      stage.fleet.of('worker').map((slot) => slot.change({ [name]: formatEther(room) })),
    );
  },
  run: async (stage, random) => {
    // A transaction that is not mined is replaced at a higher fee.
    if (random.chance(0.6)) await rpcFault({ kind: 'forgets' }, true).run(stage, random);
    else await delay(random.between(1500, 3000));
    for (const slot of stage.fleet.slots) {
      for (const rpc of slot.rpcs) rpc.fault = { kind: 'none' };
    }
    await delay(1000);
    // Nothing more is signed; what was may still come.
    await Promise.all(stage.fleet.of('worker').map((slot) => slot.halt()));
    await stage.blocks.pass(2);
    await checkBudget(stage);
    await Promise.all(stage.fleet.of('worker').map((slot) => slot.resume({})));
  },
};

async function checkBudget(stage: Stage): Promise<void> {
  const { budget: set, found } = stage;
  stage.budget = undefined;
  if (set?.dayOf !== today()) return;
  const spent = await spentOf(stage);
  set.before.forEach((before, index) => {
    const more = (spent[index] ?? 0n) - before;
    if (more > set.roomWei) found.push(`a lane spent ${more} of a budget of ${set.roomWei} wei`);
  });
}

/** What each signer is short of; only differences mean something. */
async function spentOf({ signers, world }: Stage): Promise<readonly bigint[]> {
  const balances = await Promise.all(
    signers.map((address) => world.client.getBalance({ address })),
  );
  return balances.map((balance) => -balance);
}

const today = (): string => new Date().toISOString().slice(0, 10);
