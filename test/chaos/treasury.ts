import type { Address } from 'viem';
import { type SandboxAccount, sandboxAccount } from '../../sandbox/accounts.js';
import type { SeededRandom } from '../support/seeded-random.js';
import { delay } from './client.js';
import type { Fault } from './faults/fault.js';
import type { Stage } from './stage.js';

/** About what one settlement costs at the price of this chain. */
const SETTLEMENT_WEI = 11n * 10n ** 13n;
const REFILL_BELOW = 40;
const REFILL_TO = 1200;
/** More than one transaction may carry; what lies between is refilled only where a lane says that it is not enough. */
const LEFT_MOST = 400;
/** Of one lane in a run: what it has is taken away once, maybe while a refill for before is on its way. */
const REFILLS_A_LANE = 2;
const REFILLED_MS = 30_000;

export const TREASURY: SandboxAccount = sandboxAccount(13);

export const treasurySettings = (chainId: number): Readonly<Record<string, string>> => ({
  [`TREASURY_KEY_${chainId}`]: TREASURY.key,
  [`TREASURY_REFILL_BELOW_${chainId}`]: `${REFILL_BELOW}`,
  [`TREASURY_REFILL_TO_${chainId}`]: `${REFILL_TO}`,
  [`TREASURY_DAILY_CAP_${chainId}`]: '1000',
});

/** The lanes have spent what they had, or nearly. */
export const lanesRunLow: Fault = {
  kind: 'lanes run low',
  name: 'lanes run low',
  // Until they are refilled.
  meaningless: ['no_gas'],
  meaninglessAfterApproval: ['no_gas'],
  run: async (stage, random) => {
    await delay(random.between(0, 1200));
    await Promise.all(stage.signers.map((address) => leave(stage, address, random)));
  },
};

function leave({ world }: Stage, address: Address, random: SeededRandom): Promise<void> {
  const value = SETTLEMENT_WEI * BigInt(random.pick([0, 1, random.between(2, LEFT_MOST)]));
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
  async end(): Promise<readonly string[]> {
    const { world, signers } = this.stage;
    const lanes = new Set(signers.map((address) => address.toLowerCase()));
    const violations: string[] = [];
    for (const address of signers) {
      if (!(await this.#isRefilled(address))) violations.push(`${address} was not refilled`);
    }
    const refills = new Map<string, number>();
    let sent = 0n;
    const last = await world.client.getBlockNumber();
    for (let blockNumber = this.#first; blockNumber <= last; blockNumber += 1n) {
      const { transactions } = await world.client.getBlock({
        blockNumber,
        includeTransactions: true,
      });
      for (const { from, to, value, hash } of transactions) {
        if (from.toLowerCase() !== TREASURY.address.toLowerCase() || value === 0n) continue;
        refills.set(to ?? '', (refills.get(to ?? '') ?? 0) + 1);
        sent += value;
        if (to === null || !lanes.has(to)) violations.push(`the treasury paid ${to} in ${hash}`);
      }
    }
    for (const [lane, count] of refills) {
      if (count > REFILLS_A_LANE) violations.push(`${lane} was refilled ${count} times`);
    }
    const left = await world.client.getBalance({ address: TREASURY.address });
    if (this.#balance - left < sent) violations.push('the treasury has more than it can have');
    return violations;
  }

  /** A block that is replaced takes the refill back, and it comes again. */
  async #isRefilled(address: Address): Promise<boolean> {
    const { client } = this.stage.world;
    const deadline = Date.now() + REFILLED_MS;
    while ((await client.getBalance({ address })) === 0n) {
      if (Date.now() > deadline) return false;
      await delay(200);
    }
    return true;
  }
}
