import type { Address } from 'viem';
import type { EvmChain } from '../../../platform/chain/evm-chain.js';
import { decodeUint } from '../../../protocol/evm/call-results.js';
import type { Preparation } from '../../../protocol/schemes/scheme.js';
import type { PreparationLook, PreparationReader } from '../ports.js';

/** Reads from one endpoint how far a payer's own transaction is. */
export class ChainPreparationReader implements PreparationReader {
  constructor(private readonly chain: EvmChain) {}

  async look(payer: Address, { proof, least }: Preparation): Promise<PreparationLook> {
    const { value } = await this.chain.judge<PreparationLook>(
      async (view) => {
        // The nonce before the proof: a transaction that has used it has done its work by then.
        const usedNonces = await view.transactionCount(payer, 'latest');
        const [found, balanceWei] = await Promise.all([view.call(proof), view.balance(payer)]);
        return { isDone: (decodeUint(found) ?? -1n) >= least, usedNonces, balanceWei };
      },
      ({ isDone }) => (isDone ? 'newest' : 'near'),
      true,
    );
    return value;
  }
}
