import {
  ADDRESS_SCHEMA,
  ATOMIC_UNITS_SCHEMA,
  objectSchema,
  SIGNATURE_SCHEMA,
  UNIX_SECONDS_SCHEMA,
} from '../../payment/wire-schemas.js';
import { permit2Payload } from '../permit2/answers.js';
import type { PayloadShape } from '../scheme.js';

/** What a good payload looks like; unknown fields are ignored. */
export const EXACT_PAYLOADS: readonly PayloadShape[] = [
  {
    name: 'Eip3009Payload',
    versions: [1, 2],
    schema: objectSchema({
      signature: SIGNATURE_SCHEMA,
      authorization: objectSchema({
        from: ADDRESS_SCHEMA,
        to: ADDRESS_SCHEMA,
        value: ATOMIC_UNITS_SCHEMA,
        validAfter: UNIX_SECONDS_SCHEMA,
        validBefore: UNIX_SECONDS_SCHEMA,
        nonce: { type: 'string', pattern: '^0x[0-9a-fA-F]{64}$' },
      }),
    }),
  },
  permit2Payload('Permit2Payload'),
];
