import type { Listing } from '../protocol/listing/listing.js';
import type { RefusalCode } from './codes.js';

/** The declaration of a request, which waits for the outcome of its payment. */
export type Declared = { readonly listing: Listing } | Refusal;

/** Why a declared resource is not listed. */
export interface Refusal {
  readonly code: RefusalCode;
  /** The path of the malformed field, if there is one. */
  readonly path?: string;
  /** The resource URL, where it could be read. */
  readonly resource?: string;
  /** Whether the resource is a template for many URLs. */
  readonly isTemplate?: boolean;
}

/** The text comes from the same deployment, but is validated nevertheless. */
export function readDeclared(text: string): Declared | undefined {
  try {
    const value = JSON.parse(text) as Partial<Record<'listing' | 'code', unknown>>;
    const isKnown = typeof value.code === 'string' || typeof value.listing === 'object';
    return isKnown ? (value as Declared) : undefined;
  } catch {
    return undefined;
  }
}
