import type { Address, Hex } from 'viem';
import { keccak256Digits } from './keccak.js';

/**
 * ABI words: 32 bytes, written as 64 hex digits without prefix. The hashed structs and the calls of this service have a
 * fixed layout of words, so they are built by joining words. The general encoders of viem do the same for any layout at
 * many times the cost; a test compares the two.
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

/** `0x` and one word. */
const WORD_END = 66;

/** The number in the first word of data; `undefined` where the data is shorter, as a node that is wrong may show it. */
export function firstWordOf(data: Hex): bigint | undefined {
  return data.length >= WORD_END ? BigInt(data.slice(0, WORD_END)) : undefined;
}

/** Keccak-256 of bytes given as hex digits without prefix; the result has a prefix. */
export function keccakOfHex(digits: string): Hex {
  return `0x${keccak256Digits(Buffer.from(digits, 'hex'))}`;
}

export function keccakOfText(text: string): Hex {
  return `0x${keccak256Digits(text)}`;
}
