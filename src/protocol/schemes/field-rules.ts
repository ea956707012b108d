import type { FieldRule } from '../diagnosis/finding.js';
import { isJsonObject, readAddress, readInteger } from '../payment/wire-values.js';

/** Rules for fields of payloads, from the payload on. */

export const addressAt = (...path: string[]): FieldRule => ({
  path,
  expected: 'an address: 0x and 40 hexadecimal digits',
  isGood: (value) => readAddress(value) !== undefined,
});

export const integerAt = (...path: string[]): FieldRule => ({
  path,
  expected: 'a whole number as decimal text',
  isGood: (value) => readInteger(value) !== undefined,
});

export const objectAt = (...path: string[]): FieldRule => ({
  path,
  expected: 'an object',
  isGood: isJsonObject,
});

export const textAt = (...path: string[]): FieldRule => ({
  path,
  expected: 'text',
  isGood: (value) => typeof value === 'string',
});

export const SIGNATURE: FieldRule = {
  path: ['payload', 'signature'],
  expected: 'the signature as hexadecimal text',
  isGood: (value) => typeof value === 'string',
};
