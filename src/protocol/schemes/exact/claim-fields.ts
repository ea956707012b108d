import type { FieldRule } from '../../diagnosis/finding.js';
import type { JsonObject } from '../../payment/wire-values.js';
import { integerAt, objectAt, SIGNATURE } from '../field-rules.js';
import { PERMIT2_FIELDS } from '../permit2/claim-fields.js';

const EIP3009_FIELDS: readonly FieldRule[] = [
  objectAt('payload'),
  SIGNATURE,
  objectAt('payload', 'authorization'),
  integerAt('payload', 'authorization', 'value'),
  integerAt('payload', 'authorization', 'validAfter'),
  integerAt('payload', 'authorization', 'validBefore'),
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
