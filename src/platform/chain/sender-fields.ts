import type { Address } from 'viem';
import type { Sender } from '../../protocol/evm/chain-reader.js';
import { quantity } from './block.js';

/** Margin for the calls besides the transfer. */
const BALANCE_FACTOR = 10n;

/** The fields of a simulated transaction that describe its sender. */
export function senderFields(sender: Sender | undefined): object {
  return sender === undefined
    ? {}
    : { from: sender.address, gasPrice: quantity(sender.gasPriceWei) };
}

/**
 * Gives a poor sender enough balance in the simulation: a missing gas balance must not look like a fault of the payment.
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
