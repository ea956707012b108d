import { Inject, Injectable } from '@nestjs/common';
import type { Hex } from 'viem';
import { ChainRegistry } from '../../platform/chain/chain-registry.js';
import type { Receipt } from '../../platform/chain/receipt.js';
import { ChainUnavailableError } from '../../protocol/errors.js';
import { isTransferLog, type Transfer } from '../../protocol/evm/logs.js';
import type { ReceiptEvidence } from './settlement-receipt.js';

/**
 * Finds the log of a payment in its receipt, confirmed by two endpoints if there are two. It serves payments that
 * another sender made, because the ledger stores only their transaction.
 */
@Injectable()
export class ChainEvidence {
  constructor(@Inject(ChainRegistry) private readonly chains: Pick<ChainRegistry, 'served'>) {}

  /**
   * @returns `undefined` unless the transaction contains exactly one such transfer.
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
    // Of two equal logs, it is unknown which one belongs to this payment.
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
