import type { FieldRule } from '../../diagnosis/finding.js';
import { addressAt, integerAt, objectAt, SIGNATURE } from '../field-rules.js';

/** What each field has to be for `readPermit2Claim` to read a payload. */
export const PERMIT2_FIELDS: readonly FieldRule[] = [
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
