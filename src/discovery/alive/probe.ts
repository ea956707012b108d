import type { Address } from 'viem';
import type { FetchAnswer } from '../../platform/fetch/safe-fetch.js';
import type { Listing } from '../../protocol/listing/listing.js';
import { chainIdOf, chainIdOfV1Name } from '../../protocol/payment/network.js';
import { ACCEPTS_MAX, readSentTerms } from '../../protocol/payment/payment-required.js';
import { isJsonObject, readAddress } from '../../protocol/payment/wire-values.js';

/**
 * What asking for an entry without a payment has shown, in words of the wire; `docs/discovery.md` has the table.
 *
 * - `alive`: a 402 that is paid to the payee of the entry, on its network.
 * - `wrong_payee`: a 402 that is paid to others.
 * - `not_402`: another answer, or a 402 that no client reads.
 * - `unreachable`: no answer, or none that ends in time.
 * - `robots`: the host does not want to be asked.
 * - `not_probed`: asking could do something, so that it is not done.
 */
export const PROBE_STATES = [
  'alive',
  'wrong_payee',
  'not_402',
  'unreachable',
  'robots',
  'not_probed',
] as const;
export type ProbeState = (typeof PROBE_STATES)[number];

export interface Probe {
  readonly state: ProbeState;
  /** Of HTTP, where there was an answer of the resource. */
  readonly status: number | undefined;
  /** `undefined` for `not_probed`. */
  readonly at: Date | undefined;
}

/**
 * Whether an entry can be asked for and nothing happen: GET and HEAD are safe (RFC 9110 §9.2.1). A seller answers
 * others with a 402 before it does anything, yet one that is broken would do it. A 402 of V1 is a body, which
 * HEAD has not.
 */
export function canBeProbed({ type, method, x402Version }: Listing): boolean {
  return type === 'http' && (method === 'GET' || (method === 'HEAD' && x402Version === 2));
}

/** What is asked for: the template itself is nothing that anybody sells. */
export function probedUrlOf({ resource, exampleUrl }: Listing): string {
  return exampleUrl ?? resource;
}

/** What an answer shows of an entry. */
export function stateOf(
  { status, headers, body }: Pick<FetchAnswer, 'status' | 'headers' | 'body'>,
  entry: { readonly chainId: number; readonly payTo: Address },
): ProbeState {
  if (status !== 402) return 'not_402';
  const terms = readSentTerms(headers['payment-required'], body.toString('utf8'));
  if (terms === undefined) return 'not_402';
  const isOurs = terms.accepts.slice(0, ACCEPTS_MAX).some((offer) => isPaidTo(offer, entry));
  return isOurs ? 'alive' : 'wrong_payee';
}

function isPaidTo(
  offer: unknown,
  { chainId, payTo }: { readonly chainId: number; readonly payTo: Address },
): boolean {
  if (!isJsonObject(offer)) return false;
  const { network } = offer;
  if (typeof network !== 'string') return false;
  const offered = chainIdOf(network) ?? chainIdOfV1Name(network);
  return offered === chainId && readAddress(offer['payTo']) === payTo;
}
