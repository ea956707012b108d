import type { Hex } from 'viem';
import type { SandboxClient } from '../../sandbox/deploy.js';
import type { TransferMethod } from '../../src/protocol/evm/transfer-method.js';
import { transactionOf } from './chain-audit.js';
import type { Answered } from './load.js';

/** Gas of one settlement alone and in company. */
export interface GasUse {
  readonly method: TransferMethod;
  readonly payees: 'one' | 'many';
  /** Median of settlements sent alone. */
  readonly single: number;
  /** Mean per settlement over the batches that are large enough. */
  readonly batched: number;
  readonly batches: number;
  /** Settlements in these batches, on average. */
  readonly items: number;
}

/** Settlements a transaction must carry to count as a full batch. */
export const FULL_BATCH = 25;

interface TransactionGas {
  /** Settlements in it. */
  readonly items: number;
  readonly gas: number;
}

/** Gas by transaction. */
export async function gasOf(
  client: SandboxClient,
  answers: readonly Answered[],
): Promise<readonly TransactionGas[]> {
  const items = new Map<Hex, number>();
  for (const answer of answers) {
    const hash = transactionOf(answer);
    items.set(hash, (items.get(hash) ?? 0) + 1);
  }
  return Promise.all(
    [...items].map(async ([hash, count]) => {
      const { gasUsed } = await client.getTransactionReceipt({ hash });
      return { items: count, gas: Number(gasUsed) };
    }),
  );
}

/** Gas of a settlement over the batches that are large enough; NaN without any such batch. */
export function fullBatches(
  transactions: readonly TransactionGas[],
): Pick<GasUse, 'batched' | 'batches' | 'items'> {
  const full = transactions.filter(({ items }) => items >= FULL_BATCH);
  const items = full.reduce((sum, one) => sum + one.items, 0);
  const gas = full.reduce((sum, one) => sum + one.gas, 0);
  return { batched: gas / items, batches: full.length, items: items / full.length };
}
