import { type Address, parseEther } from 'viem';
import { type SandboxAccount, sandboxAccount } from '../../sandbox/accounts.js';
import type { SeededRandom } from '../support/seeded-random.js';
import { delay } from './client.js';
import type { Fault } from './faults/fault.js';
import type { Stage } from './stage.js';

/** About what one settlement costs at the price of this chain. */
const SETTLEMENT_WEI = 5n * 10n ** 12n;
const REFILL_BELOW = 20;
const REFILL_TO = 60;
/** A lane that was refilled once for its need has less, at whatever price an honest node tells. */
const LANE_MOST_WEI = parseEther('0.05');
/** Refills that a run explains: of each lane a few, as its balance is taken away while they are on their way. */
const REFILLS_A_LANE = 4;

export const TREASURY: SandboxAccount = sandboxAccount(13);

export const treasurySettings = (chainId: number): Readonly<Record<string, string>> => ({
  [`TREASURY_KEY_${chainId}`]: TREASURY.key,
  [`TREASURY_REFILL_BELOW_${chainId}`]: `${REFILL_BELOW}`,
  [`TREASURY_REFILL_TO_${chainId}`]: `${REFILL_TO}`,
  [`TREASURY_DAILY_CAP_${chainId}`]: '5',
});

/** The lanes have spent what they had, or nearly. */
export const lanesRunLow: Fault = {
  kind: 'lanes run low',
  name: 'lanes run low',
  // Until they are refilled.
  meaningless: ['no_gas'],
  run: async (stage, random) => {
    await delay(random.between(0, 1200));
    await Promise.all(stage.signers.map((address) => leave(stage, address, random)));
  },
};

function leave({ world }: Stage, address: Address, random: SeededRandom): Promise<void> {
  const value = SETTLEMENT_WEI * BigInt(random.pick([0, 1, random.between(2, REFILL_BELOW)]));
  return world.client.setBalance({ address, value });
}

/** Looks at what the treasury has sent. */
export class TreasuryPurse {
  #first = 0n;
  #balance = 0n;

  constructor(private readonly stage: Stage) {}

  async begin(): Promise<void> {
    const { client } = this.stage.world;
    this.#first = (await client.getBlockNumber()) + 1n;
    this.#balance = await client.getBalance({ address: TREASURY.address });
  }

  /** @returns what went out since the beginning that should not have, and lanes that were left without. */
  async end(faults: readonly Fault[]): Promise<readonly string[]> {
    // A node that tells a high price has them filled for it.
    const isBounded =
      faults.includes(lanesRunLow) && faults.every(({ isOfNodes }) => isOfNodes !== true);
    const { world, signers } = this.stage;
    const lanes = new Set(signers.map((address) => address.toLowerCase()));
    const violations: string[] = [];
    let [refills, sent] = [0, 0n];
    const last = await world.client.getBlockNumber();
    for (let blockNumber = this.#first; blockNumber <= last; blockNumber += 1n) {
      const { transactions } = await world.client.getBlock({
        ...{ blockNumber, includeTransactions: true },
      });
      for (const { from, to, value, hash } of transactions) {
        if (from.toLowerCase() !== TREASURY.address.toLowerCase() || value === 0n) continue;
        refills += 1;
        sent += value;
        if (to === null || !lanes.has(to)) violations.push(`the treasury paid ${to} in ${hash}`);
      }
    }
    const most = REFILLS_A_LANE * signers.length;
    if (refills > most) violations.push(`${refills} refills of ${signers.length} lanes`);
    const left = await world.client.getBalance({ address: TREASURY.address });
    if (this.#balance - left < sent) violations.push('the treasury has more than it can have');
    for (const address of signers) {
      const balance = await world.client.getBalance({ address });
      if (balance === 0n) violations.push(`the lane of ${address} was not refilled`);
      if (isBounded && balance > LANE_MOST_WEI) {
        violations.push(`the lane of ${address} was refilled to ${balance} wei`);
      }
    }
    return violations;
  }
}
