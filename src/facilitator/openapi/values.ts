import type { JsonObject } from '../../platform/http/openapi.js';

/** Values that the description of more than one body names. */

const CAIP2 = '^eip155:[1-9][0-9]{0,15}$';
export const hash = { type: 'string', pattern: '^0x[0-9a-f]{64}$' } as const;
const SETTLEMENT_ID = '^[A-Za-z0-9_-]{43}$';
export const settlementId = { type: 'string', pattern: SETTLEMENT_ID };
/** One type with a pattern, not a choice of two: generated clients read a choice as what it is not. */
export const hashOrEmpty = {
  type: 'string',
  pattern: '^(0x[0-9a-f]{64})?$',
  description: 'The hash once one is known, else empty.',
};
export const payerOrEmpty = {
  type: 'string',
  pattern: '^(0x[0-9a-fA-F]{40})?$',
  description: 'As sent. Empty where it cannot be read, in V1 and with a status of 4xx.',
};
export const caip2 = { type: 'string', pattern: CAIP2, description: 'CAIP-2.' };
export const anything = { type: 'object', additionalProperties: true };
export const when = { type: 'string', format: 'date-time' };

export function object(
  properties: JsonObject,
  required: readonly string[] = Object.keys(properties),
  more: JsonObject = {},
): JsonObject {
  return { type: 'object', required: [...required], properties, ...more };
}

/** One of these, and no list where it is only one. */
export function oneText(names: readonly string[]): JsonObject {
  const [only] = names;
  return names.length === 1 && only !== undefined
    ? { type: 'string', const: only }
    : { type: 'string', enum: [...names] };
}
