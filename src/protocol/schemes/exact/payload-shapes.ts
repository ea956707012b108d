import {
  ADDRESS_SCHEMA,
  ATOMIC_UNITS_SCHEMA,
  NONCE_SCHEMA,
  objectSchema,
  SIGNATURE_SCHEMA,
  UNIX_SECONDS_SCHEMA,
} from '../../payment/wire-schemas.js';
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
  {
    name: 'Permit2Payload',
    versions: [2],
    schema: objectSchema({
      signature: SIGNATURE_SCHEMA,
      permit2Authorization: objectSchema({
        from: ADDRESS_SCHEMA,
        permitted: objectSchema({ token: ADDRESS_SCHEMA, amount: ATOMIC_UNITS_SCHEMA }),
        spender: ADDRESS_SCHEMA,
        nonce: NONCE_SCHEMA,
        deadline: UNIX_SECONDS_SCHEMA,
        witness: objectSchema({ to: ADDRESS_SCHEMA, validAfter: UNIX_SECONDS_SCHEMA }),
      }),
    }),
  },
];
