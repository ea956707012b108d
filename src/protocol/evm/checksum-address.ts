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
  const lower = text.toLowerCase();
  if (text === lower) return true;
  const hash = keccak256Digits(lower.slice(2));
  for (let index = 2; index < text.length; index += 1) {
    const isCapital = text.charCodeAt(index) !== lower.charCodeAt(index);
    const isLetter = lower.charCodeAt(index) > DIGIT_NINE;
    if (isLetter && isCapital !== hash.charCodeAt(index - 2) > DIGIT_SEVEN) return false;
  }
  return true;
}

const DIGIT_SEVEN = 0x37;
const DIGIT_NINE = 0x39;

const ADDRESS = /^0x[0-9a-fA-F]{40}$/;
