import type { Listing } from '../protocol/listing/listing.js';
import type { RefusalCode } from './codes.js';

/** What a request declared, as it waits for the outcome of its payment. */
export type Declared = { readonly listing: Listing } | Refusal;

/** Why something that was declared is not listed. */
export interface Refusal {
  readonly code: RefusalCode;
  /** Of the field that is wrong, where one is. */
  readonly path?: string;
  /** Where it could be read. */
  readonly resource?: string;
  /** Whether the resource stands for many URLs. */
  readonly isTemplate?: boolean;
}

/** The process that reads it is of the same deployment, which is no promise for what it reads. */
export function readDeclared(text: string): Declared | undefined {
  try {
    const value = JSON.parse(text) as Partial<Record<'listing' | 'code', unknown>>;
    const isKnown = typeof value.code === 'string' || typeof value.listing === 'object';
    return isKnown ? (value as Declared) : undefined;
  } catch {
    return undefined;
  }
}
