import { type Hex, keccak256, toHex } from 'viem';
import { privateKeyToAddress } from 'viem/accounts';
import type { SandboxAccount } from '../../sandbox/accounts.js';
import type { LedgerId, Partitions } from '../../src/platform/redis/partitions.js';

/**
 * The signer of a lane that is at home in this partition. It has no money.
 *
 * @param name - any text: the same key for the same one.
 */
export function laneKeyIn(
  partitions: Partitions,
  { chainId, partition }: LedgerId,
  name: string,
): SandboxAccount {
  for (let tries = 0; ; tries += 1) {
    const key: Hex = keccak256(toHex(`${name} ${partition}.${tries}`));
    const address = privateKeyToAddress(key);
    if (partitions.ofAccount(chainId, address).partition === partition) return { key, address };
  }
}
