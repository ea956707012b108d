/** Values that more than one answer has. */

export const HASH = { type: 'string', pattern: '^0x[0-9a-f]{64}$' } as const;
/** One type with a pattern instead of a choice of two, because generated clients misread a choice. */
export const HASH_OR_EMPTY = {
  type: 'string',
  pattern: '^(0x[0-9a-f]{64})?$',
  description: 'The hash once one is known, else empty.',
} as const;
export const PAYER_OR_EMPTY = {
  type: 'string',
  pattern: '^(0x[0-9a-fA-F]{40})?$',
  description: 'As sent. Empty where it cannot be read, in V1 and with a status of 4xx.',
} as const;
