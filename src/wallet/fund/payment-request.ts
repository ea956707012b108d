import { type Address, getAddress } from 'viem';

/**
 * A request to be paid as wallets read it from a link or a picture (EIP-681).
 *
 * @param amount - atomic units; the payer chooses it where it is absent.
 */
export function tokenRequest(
  token: Address,
  chainId: number,
  to: Address,
  amount: bigint | undefined,
): string {
  const value = amount === undefined ? '' : `&uint256=${amount}`;
  return `ethereum:${getAddress(token)}@${chainId}/transfer?address=${getAddress(to)}${value}`;
}

/** The same in the native coin of a chain. @param amount - wei. */
export function coinRequest(chainId: number, to: Address, amount: bigint | undefined): string {
  const value = amount === undefined ? '' : `?value=${amount}`;
  return `ethereum:${getAddress(to)}@${chainId}${value}`;
}
