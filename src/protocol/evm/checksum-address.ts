import type { Address } from 'viem';
import { readAddress } from '../payment/wire-values.js';
import { keccak256Digits } from './keccak.js';

/**
 * An address with EIP-55 capitals, for lists of many different addresses: viem needs 33 µs for each.
 *
 * @param address - 20 bytes in hex, of any case; the form is not checked.
 */
export function checksumAddress(address: Address): Address {
  const digits = address.slice(2).toLowerCase();
  const hash = keccak256Digits(digits);
  let text = '0x';
  for (let index = 0; index < digits.length; index += 1) {
    const digit = digits.charAt(index);
    text += isCapital(hash, index) ? digit.toUpperCase() : digit;
  }
  return text as Address;
}

/**
 * Whether an address has the capitals of EIP-55. An address without capitals has no checksum and is valid.
 *
 * @param text - any text; one that is not an address is not valid.
 */
export function hasValidChecksum(text: string): boolean {
  const address = readAddress(text);
  if (address === undefined) return false;
  if (text === address) return true;
  const digits = address.slice(2);
  const hash = keccak256Digits(digits);
  for (let index = 0; index < digits.length; index += 1) {
    const digit = digits.charAt(index);
    const isLetter = digit > '9';
    const isUpper = text.charAt(index + 2) !== digit;
    if (isLetter && isUpper !== isCapital(hash, index)) return false;
  }
  return true;
}

/** The rule of EIP-55 for the letters of an address. */
function isCapital(hash: string, index: number): boolean {
  return hash.charAt(index) >= '8';
}
