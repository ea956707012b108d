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
