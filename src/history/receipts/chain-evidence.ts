import { Inject, Injectable } from '@nestjs/common';
import type { Hex } from 'viem';
import { ChainRegistry } from '../../platform/chain/chain-registry.js';
import type { Receipt } from '../../platform/chain/receipt.js';
import { ChainUnavailableError } from '../../protocol/errors.js';
import { isTransferLog, type Transfer } from '../../protocol/evm/logs.js';
import type { ReceiptEvidence } from './settlement-receipt.js';

/**
 * Finds in the chain where a payment is shown: in the receipt, as two endpoints say it where there are two. It is
 * asked for what others have done in our stead, of which the ledger keeps the transaction alone.
 */
@Injectable()
export class ChainEvidence {
  constructor(@Inject(ChainRegistry) private readonly chains: Pick<ChainRegistry, 'served'>) {}

  /**
   * @returns `undefined` where the transaction does not show this transfer once and only once.
   * @throws ChainUnavailableError
   */
  async find(
    chainId: number,
    transaction: Hex,
    transfer: Transfer,
  ): Promise<ReceiptEvidence | undefined> {
    const chain = this.chains.served(chainId);
    if (chain === undefined) throw new ChainUnavailableError(chainId, 'receipt');
    const receipt = await chain.quorumRead({
      what: 'receipt of a settlement',
      ability: 'receipts',
      read: async (view) => {
        const found = await view.receipt(transaction);
        if (found === undefined) throw new ChainUnavailableError(chainId, 'receipt');
        return { value: found, key: keyOf(found), subject: found.blockHash };
      },
    });
    if (!receipt.isSuccess) return undefined;
    const shown = receipt.logs.filter((log) => isTransferLog(log, transfer));
    const [log] = shown;
    // Of two equal logs it is not known which is this payment's.
    if (log === undefined || shown.length > 1) return undefined;
    const { blockNumber, blockHash } = receipt;
    return { transaction, blockNumber, blockHash, logIndex: log.logIndex };
  }
}

function keyOf({ blockHash, blockNumber, isSuccess, logs }: Receipt): string {
  return JSON.stringify([
    blockHash,
    String(blockNumber),
    isSuccess,
    ...logs.map(({ logIndex, address, topics, data }) => [logIndex, address, topics, data]),
  ]);
}
