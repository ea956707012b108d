import { checksumAddress } from '../../protocol/evm/checksum-address.js';
import type { Listing } from '../../protocol/listing/listing.js';
import { caip2Of, v1NameOf } from '../../protocol/payment/network.js';
import type { CatalogueEntry, CatalogueOffer } from '../catalogue.js';
import { type Quality, thousandths } from '../quality/quality.js';
import type { DiscoveredResource, ListedWords } from './dto/discovery.response.js';

type Item = Readonly<Record<string, unknown>>;

/** Items of cached entries; see `KnownEntries`. */
const items = new WeakMap<CatalogueEntry, DiscoveredResource>();

/**
 * An entry in the format of catalogue clients, in the protocol version of its seller: the same object for the same
 * entry.
 */
export function itemOf(entry: CatalogueEntry): DiscoveredResource {
  const before = items.get(entry);
  if (before !== undefined) return before;
  const item = written(entry);
  items.set(entry, item);
  return item;
}

function written(entry: CatalogueEntry): DiscoveredResource {
  const { listing, chainId, payTo } = entry;
  const { type, x402Version, resource, bazaar } = listing;
  return {
    resource,
    type,
    x402Version,
    accepts: entry.offers.map((offer) =>
      x402Version === 1 ? offerOfV1(offer, entry) : offerOfV2(offer, entry),
    ),
    lastUpdated: entry.lastPaidAt.toISOString(),
    ...wordsOf(listing),
    extensions: { bazaar },
    discoveryInfo: bazaar.info,
    network: caip2Of(chainId),
    payTo: checksumAddress(payTo),
    firstPaid: entry.firstPaidAt.toISOString(),
    // Several payees were paid for one resource; a payment does not show which of them sells it.
    otherPayees: entry.otherPayees,
    ...(entry.quality !== undefined && { quality: shownQuality(entry.quality) }),
  };
}

/** With the precision by which entries are sorted. */
function shownQuality(quality: Quality): Quality {
  return { ...quality, score: thousandths(quality.score) / 1000 };
}

type Words = Pick<
  DiscoveredResource,
  keyof ListedWords | 'exampleUrl' | 'exampleUrls' | 'method' | 'toolName'
>;

function wordsOf(listing: Listing): Words {
  const { description, mimeType, serviceName, tags, iconUrl } = listing;
  const { exampleUrl, exampleUrls, method, toolName } = listing;
  return {
    ...(exampleUrl !== undefined && { exampleUrl }),
    ...(exampleUrls !== undefined && { exampleUrls }),
    ...(method !== undefined && { method }),
    ...(toolName !== undefined && { toolName }),
    ...(description !== undefined && { description }),
    ...(mimeType !== undefined && { mimeType }),
    ...(serviceName !== undefined && { serviceName }),
    ...(tags !== undefined && { tags }),
    ...(iconUrl !== undefined && { iconUrl }),
  };
}

/** Seconds; some clients accept no offer without a time-out. */
const TIMEOUT = 60;

function offerOfV2({ scheme, asset, amount, offer }: CatalogueOffer, entry: CatalogueEntry): Item {
  return {
    scheme,
    network: caip2Of(entry.chainId),
    amount,
    asset: checksumAddress(asset),
    payTo: checksumAddress(entry.payTo),
    maxTimeoutSeconds: offer.maxTimeoutSeconds ?? TIMEOUT,
    extra: offer.extra ?? {},
  };
}

function offerOfV1({ scheme, asset, amount, offer }: CatalogueOffer, entry: CatalogueEntry): Item {
  const { chainId, payTo, listing } = entry;
  const { input, output } = listing.bazaar.info;
  return {
    scheme,
    network: v1NameOf(chainId) ?? caip2Of(chainId),
    maxAmountRequired: amount,
    resource: listing.resource,
    description: listing.description ?? '',
    mimeType: listing.mimeType ?? '',
    payTo: checksumAddress(payTo),
    asset: checksumAddress(asset),
    maxTimeoutSeconds: offer.maxTimeoutSeconds ?? TIMEOUT,
    outputSchema: { input, ...(output !== undefined && { output: exampleOf(output) }) },
    extra: offer.extra ?? {},
  };
}

/** In V1 the example is the value itself; the extension has it beside its type. */
function exampleOf(output: unknown): unknown {
  return (output as Item)['example'] ?? {};
}
