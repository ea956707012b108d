import type { FieldRule } from '../../diagnosis/finding.js';
import {
  isJsonObject,
  type JsonObject,
  readAddress,
  readInteger,
} from '../../payment/wire-values.js';

const ADDRESS = 'an address: 0x and 40 hexadecimal digits';
const INTEGER = 'a whole number as decimal text';

const isObject = (value: unknown): boolean => isJsonObject(value);
const isAddress = (value: unknown): boolean => readAddress(value) !== undefined;
const isInteger = (value: unknown): boolean => readInteger(value) !== undefined;

const addressAt = (...path: string[]): FieldRule => ({
  path,
  expected: ADDRESS,
  isGood: isAddress,
});
const integerAt = (...path: string[]): FieldRule => ({
  path,
  expected: INTEGER,
  isGood: isInteger,
});
const objectAt = (...path: string[]): FieldRule => ({
  path,
  expected: 'an object',
  isGood: isObject,
});

const SIGNATURE: FieldRule = {
  path: ['payload', 'signature'],
  expected: 'the signature as hexadecimal text',
  isGood: (value) => typeof value === 'string',
};

const EIP3009_FIELDS: readonly FieldRule[] = [
  objectAt('payload'),
  SIGNATURE,
  objectAt('payload', 'authorization'),
  integerAt('payload', 'authorization', 'value'),
  integerAt('payload', 'authorization', 'validAfter'),
  integerAt('payload', 'authorization', 'validBefore'),
];

const PERMIT2_FIELDS: readonly FieldRule[] = [
  objectAt('payload'),
  SIGNATURE,
  objectAt('payload', 'permit2Authorization'),
  objectAt('payload', 'permit2Authorization', 'permitted'),
  objectAt('payload', 'permit2Authorization', 'witness'),
  addressAt('payload', 'permit2Authorization', 'from'),
  addressAt('payload', 'permit2Authorization', 'permitted', 'token'),
  addressAt('payload', 'permit2Authorization', 'spender'),
  addressAt('payload', 'permit2Authorization', 'witness', 'to'),
  integerAt('payload', 'permit2Authorization', 'permitted', 'amount'),
  integerAt('payload', 'permit2Authorization', 'nonce'),
  integerAt('payload', 'permit2Authorization', 'deadline'),
  integerAt('payload', 'permit2Authorization', 'witness', 'validAfter'),
];

/**
 * What each field of a claim has to be for `readExactClaim` to read it, from the payload on.
 *
 * @param inner - `payload` of the payment, or an empty object.
 */
export function exactClaimFields(inner: JsonObject, version: 1 | 2): readonly FieldRule[] {
  const isPermit2 = version === 2 && Object.hasOwn(inner, 'permit2Authorization');
  return isPermit2 ? PERMIT2_FIELDS : EIP3009_FIELDS;
}
