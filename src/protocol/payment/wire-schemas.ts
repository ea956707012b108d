import { CAIP2_EVM } from './network.js';
import {
  DAY_OR_TIME,
  EVM_ADDRESS,
  HEX_32_BYTES,
  SETTLEMENT_ID,
  SIGNATURE_MAX_BYTES,
} from './wire-values.js';

/** JSON Schema of single values of a request; `wire-values.ts` reads them. */

export const ADDRESS_SCHEMA = { type: 'string', pattern: EVM_ADDRESS.source } as const;
export const TRANSACTION_HASH_SCHEMA = { type: 'string', pattern: HEX_32_BYTES.source } as const;
export const SETTLEMENT_ID_SCHEMA = { type: 'string', pattern: SETTLEMENT_ID.source } as const;
export const ATOMIC_UNITS_SCHEMA = { type: 'string', pattern: '^[0-9]{1,78}$' } as const;
export const UNIX_SECONDS_SCHEMA = {
  type: 'string',
  pattern: '^[0-9]{1,78}$',
  description: 'Unix seconds.',
} as const;
export const NONCE_SCHEMA = {
  type: 'string',
  pattern: '^([0-9]{1,78}|0x[0-9a-fA-F]{1,64})$',
  description: 'Decimal, or hexadecimal with 0x.',
} as const;
export const SIGNATURE_SCHEMA = {
  type: 'string',
  pattern: '^0x([0-9a-fA-F]{2})*$',
  maxLength: 2 + 2 * SIGNATURE_MAX_BYTES,
} as const;
/** CAIP-2 name of an EVM chain. */
export const CAIP2_SCHEMA = { type: 'string', pattern: CAIP2_EVM.source } as const;
export const DAY_OR_TIME_SCHEMA = { type: 'string', pattern: DAY_OR_TIME.source } as const;
export const TEXT_SCHEMA = { type: 'string' } as const;
