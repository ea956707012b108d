import type { Address } from 'viem';
import type { EvmChain } from '../../../platform/chain/evm-chain.js';
import { confirmedAccount } from '../../../platform/chain/payer-account.js';
import { eachAnswer } from '../../../platform/chain/quorum.js';
import { decodeUint } from '../../../protocol/evm/call-results.js';
import type { CallOutcome } from '../../../protocol/evm/chain-reader.js';
import { mostCostOfTransaction } from '../../../protocol/evm/payer-transaction.js';
import type { Preparation } from '../../../protocol/schemes/scheme.js';
import type { PreparationLook, PreparationReader } from '../ports.js';

/**
 * Reads the state of a payer's own transaction: from one endpoint if it can be sent or has had its effect, otherwise
 * from two. A wrong endpoint would otherwise make the payer be funded, its payment refused and the payer suspended.
 */
export class ChainPreparationReader implements PreparationReader {
  constructor(private readonly chain: EvmChain) {}

  async look(payer: Address, { proof, least, transaction }: Preparation): Promise<PreparationLook> {
    const isEnough = (found: CallOutcome): boolean => (decodeUint(found) ?? -1n) >= least;
    const { value } = await this.chain.verifyNearHead<PreparationLook>(
      async (view) => {
        // The nonce is read before the proof: a transaction that has used it has had its effect by then.
        const usedNonces = await view.transactionCount(payer, 'latest');
        const [found, balanceWei] = await Promise.all([view.call(proof), view.balance(payer)]);
        return { isDone: isEnough(found), usedNonces, balanceWei };
      },
      ({ isDone }) => (isDone ? 'newest' : 'near'),
      true,
    );
    const canBeSent =
      value.usedNonces === transaction.accountNonce &&
      value.balanceWei >= mostCostOfTransaction(transaction);
    if (value.isDone || canBeSent) return value;
    const [{ used, balanceWei }, found] = await Promise.all([
      confirmedAccount(this.chain, payer),
      eachAnswer(this.chain.views(), (view) => view.call(proof)),
    ]);
    return { isDone: found.some(isEnough), usedNonces: used, balanceWei };
  }
}
