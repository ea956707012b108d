import type { Address, Hex } from 'viem';
import { keccak256Digits } from './keccak.js';

/**
 * ABI words: 32 bytes, written as 64 hex digits without prefix. The structs this service hashes and
 * the calls it makes have a fixed layout of words, so they are built by joining words; the general
 * encoders of viem do the same for any layout at many times the cost. A test compares the two.
 */
export type Word = string;

export function uintWord(value: bigint | number): Word {
  return value.toString(16).padStart(64, '0');
}

/** Any letter case; 20 bytes. */
export function addressWord(address: Address): Word {
  return address.slice(2).toLowerCase().padStart(64, '0');
}

/** 32 bytes. */
export function bytes32Word(value: Hex): Word {
  return value.slice(2);
}

/** A dynamic `bytes` value: its length, then its content padded to whole words. */
export function bytesWords(value: Hex): string {
  const digits = value.slice(2);
  return uintWord(digits.length / 2) + digits.padEnd(Math.ceil(digits.length / 64) * 64, '0');
}

/** Keccak-256 of bytes given as hex digits without prefix; the result has a prefix. */
export function keccakOfHex(digits: string): Hex {
  return `0x${keccak256Digits(Buffer.from(digits, 'hex'))}`;
}

export function keccakOfText(text: string): Hex {
  return `0x${keccak256Digits(text)}`;
}
