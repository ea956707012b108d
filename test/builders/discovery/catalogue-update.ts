import type { Address } from 'viem';
import type { CatalogueUpdate, Paid } from '../../../src/discovery/catalogue.js';
import type { Listing } from '../../../src/protocol/listing/listing.js';

export const PAYEE: Address = `0x${'a1'.repeat(20)}`;
export const OTHER_PAYEE: Address = `0x${'b2'.repeat(20)}`;
export const TOKEN: Address = `0x${'c3'.repeat(20)}`;
export const OTHER_TOKEN: Address = `0x${'d4'.repeat(20)}`;
export const RESOURCE = 'https://shop.example.com/weather';
/** 2026-11-22T12:00:00Z */
export const NOON = 1_795_348_800_000;

export function aPaid(more: Partial<Paid> & { readonly at?: number } = {}): Paid {
  const { at = NOON, ...rest } = more;
  return {
    chainId: 56,
    payTo: PAYEE,
    scheme: 'exact',
    method: 'eip3009',
    asset: TOKEN,
    amount: 1000n,
    isWorthless: false,
    claimedAt: new Date(at),
    paidAt: new Date(at + 1000),
    ...rest,
  };
}

export function aListing(more: Partial<Listing> = {}): Listing {
  return {
    x402Version: 2,
    type: 'http',
    method: 'GET',
    resource: RESOURCE,
    bazaar: { info: { input: { type: 'http', method: 'GET' } } },
    offer: { maxTimeoutSeconds: 300, extra: { name: 'USD', version: '2' } },
    ...more,
  };
}

export function aLesson(
  listing: Partial<Listing> = {},
  paid: Parameters<typeof aPaid>[0] = {},
): CatalogueUpdate {
  return { paid: aPaid(paid), declared: { listing: aListing(listing) } };
}
