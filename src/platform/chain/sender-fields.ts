import type { Address } from 'viem';
import type { Sender } from '../../protocol/evm/chain-reader.js';
import { quantity } from './block.js';

/** Room for the calls beside the transfer. */
const BALANCE_FACTOR = 10n;

/** The fields of a simulated transaction that say who sends it. */
export function senderFields(sender: Sender | undefined): object {
  return sender === undefined
    ? {}
    : { from: sender.address, gasPrice: quantity(sender.gasPriceWei) };
}

/**
 * A sender that is too poor is simulated as one that is not: that it cannot pay for gas must not look
 * like a fault of the payment.
 */
export function balanceOverride(
  { address, gasPriceWei, balanceWei }: Sender,
  gas: bigint,
): Readonly<Record<Address, { readonly balance: string }>> | undefined {
  const needed = gas * gasPriceWei;
  return balanceWei >= needed
    ? undefined
    : { [address]: { balance: quantity(needed * BALANCE_FACTOR) } };
}
