import type { Stage } from './stage.js';

/** The cost of a transaction of a signer at most, of any kind. */
const PRICE_MOST_WEI = 5n * 10n ** 9n;
const GAS_MOST = 16_777_216n;
/** Batches apart: so many transactions a payment, replacements and no-ops of lanes that start over. */
const TRANSACTIONS_A_PAYMENT = 3;
const TRANSACTIONS_BESIDE = 20;

/** Looks at what the signers have sent and paid. */
export class Purse {
  #first = 0n;

  constructor(private readonly stage: Stage) {}

  async begin(): Promise<void> {
    this.#first = (await this.stage.world.client.getBlockNumber()) + 1n;
  }

  /** @returns what went out since the beginning that should not have. */
  async end(payments: number, isLedgerWhole: boolean): Promise<readonly string[]> {
    const { client } = this.stage.world;
    const signers = new Set(this.stage.signers.map((address) => address.toLowerCase()));
    const last = await client.getBlockNumber();
    const violations: string[] = [];
    let count = 0;
    const funded = new Set<string>();
    for (let blockNumber = this.#first; blockNumber <= last; blockNumber += 1n) {
      const { transactions } = await client.getBlock({ blockNumber, includeTransactions: true });
      for (const { from, to, value, gas, gasPrice, hash } of transactions) {
        if (!signers.has(from.toLowerCase())) continue;
        count += 1;
        // Each payer has one approval to send, and so one account nonce to be funded for.
        if (value > 0n && to !== null) {
          if (funded.has(to) && isLedgerWhole) violations.push(`${to} was funded twice`);
          funded.add(to);
        }
        if (gas > GAS_MOST) violations.push(`${hash} asks for ${gas} gas`);
        if ((gasPrice ?? 0n) > PRICE_MOST_WEI) violations.push(`${hash} pays ${gasPrice} a gas`);
      }
    }
    const most = TRANSACTIONS_A_PAYMENT * payments + TRANSACTIONS_BESIDE;
    if (count > most) violations.push(`${count} transactions for ${payments} payments`);
    return violations;
  }
}
