import { hash } from 'node:crypto';

/** A part of a hashed name; `undefined` differs from an empty text. */
export type HashPart = string | number | bigint | undefined;

/** SHA-256 in base64url, 43 characters. JSON separates the parts, so that none can run into the next. */
export function hashOf(parts: readonly HashPart[]): string {
  const text = JSON.stringify(parts.map((part) => (part === undefined ? null : String(part))));
  return hash('sha256', text, 'base64url');
}
