/** JSON Schema of single values of a request; `wire-values.ts` reads them. */

export const ADDRESS_SCHEMA = { type: 'string', pattern: '^0x[0-9a-fA-F]{40}$' } as const;
export const ATOMIC_UNITS_SCHEMA = { type: 'string', pattern: '^[0-9]{1,78}$' } as const;
export const UNIX_SECONDS_SCHEMA = {
  type: 'string',
  pattern: '^[0-9]{1,78}$',
  description: 'Unix seconds.',
} as const;
export const SIGNATURE_SCHEMA = { type: 'string', pattern: '^0x[0-9a-fA-F]*$' } as const;
export const TEXT_SCHEMA = { type: 'string' } as const;

/** An object of which all properties are required, unless others are named. */
export function objectSchema(
  properties: Readonly<Record<string, unknown>>,
  required: readonly string[] = Object.keys(properties),
  more: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  return { type: 'object', required: [...required], properties, ...more };
}
