import type { Address } from 'viem';
import { keccak256Digits } from './keccak.js';

/**
 * An address with the capitals of EIP-55. It is for lists of many different addresses, where viem's own
 * takes 33 µs for each.
 *
 * @param address - 20 bytes in hex, of any case; what is none is not refused.
 */
export function checksumAddress(address: Address): Address {
  const digits = address.slice(2).toLowerCase();
  const hash = keccak256Digits(digits);
  let text = '0x';
  for (let index = 0; index < digits.length; index += 1) {
    const digit = digits.charAt(index);
    text += hash.charAt(index) >= '8' ? digit.toUpperCase() : digit;
  }
  return text as Address;
}

/**
 * Whether the capitals of an address are those of EIP-55. One without capitals has no checksum, and is good.
 *
 * @param text - anything; what is no address is not good.
 */
export function hasValidChecksum(text: string): boolean {
  if (!ADDRESS.test(text)) return false;
  return text === text.toLowerCase() || text === checksumAddress(text as Address);
}

const ADDRESS = /^0x[0-9a-fA-F]{40}$/;
