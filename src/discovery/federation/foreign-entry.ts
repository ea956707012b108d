import type { Address } from 'viem';
import type { ListedOffer, Listing } from '../../protocol/listing/listing.js';
import {
  BAZAAR,
  readDeclared,
  readListedOffer,
  readOffer,
} from '../../protocol/listing/read-declaration.js';
import { chainIdOf, chainIdOfV1Name } from '../../protocol/payment/network.js';
import {
  isJsonObject,
  isShortText,
  isUint256,
  type JsonObject,
  readAddress,
  readInteger,
  readOptionalObject,
} from '../../protocol/payment/wire-values.js';

/** What somebody asks for something, as another catalogue has it. Nothing of it was paid here. */
export interface ForeignOffer {
  readonly chainId: number;
  readonly payTo: Address;
  readonly scheme: string;
  readonly asset: Address;
  /** Atomic units. */
  readonly amount: bigint;
  readonly offer: ListedOffer;
}

/** An entry of another catalogue: its word alone, read as what sellers declare to us. */
export interface ForeignEntry {
  readonly listing: Listing;
  /** Never empty; of any networks and payees. */
  readonly offers: readonly ForeignOffer[];
  /** As the other catalogue says, and not in the future. */
  readonly updatedAt: Date;
}

/** More are not looked at. */
const OFFERS_MAX = 8;
const SCHEME = /^[a-z0-9][a-z0-9_-]{0,31}$/;
/** No host of ours: `CATALOGUE_ALLOW` is for what is paid here. */
const NOBODY: ReadonlySet<string> = new Set();

/**
 * One item of an answer, of either version; fields that are not known are left out, also what it says of the
 * quality of the entry. Bounded in time and size, whatever came.
 *
 * @param now - milliseconds since the epoch.
 * @returns `undefined` for what would not be listed here, or cannot be paid on an EVM chain.
 */
export function readForeignEntry(item: unknown, now: number): ForeignEntry | undefined {
  if (!isJsonObject(item) || !Array.isArray(item['accepts'])) return undefined;
  const updatedAt = readTime(item['lastUpdated'], now);
  const version = item['x402Version'];
  if (updatedAt === undefined || (version !== 1 && version !== 2)) return undefined;
  const said = item['accepts'].slice(0, OFFERS_MAX).filter(isJsonObject);
  const listing = readListing(item, said, version);
  if (listing === undefined) return undefined;
  const offers = said.flatMap((one) => readForeignOffer(one) ?? []);
  return offers.length === 0 ? undefined : { listing, offers, updatedAt };
}

function readListing(
  item: JsonObject,
  offers: readonly JsonObject[],
  x402Version: 1 | 2,
): Listing | undefined {
  const bazaar = readOptionalObject(readOptionalObject(item['extensions'])?.[BAZAAR]);
  const info = bazaar?.['info'] ?? item['discoveryInfo'];
  // A template stands for the URL beside it, or for itself.
  const url = item['exampleUrl'] ?? item['resource'];
  const { description, mimeType, serviceName, tags, iconUrl } = item;
  const resource = { url, description, mimeType, serviceName, tags, iconUrl };
  const read =
    info === undefined
      ? readOffer({ ...resource, resource: url, outputSchema: declaredIn(offers) }, NOBODY)
      : readDeclared(
          {
            resource,
            extensions: {
              [BAZAAR]: {
                ...{ info, schema: bazaar?.['schema'] },
                routeTemplate: bazaar?.['routeTemplate'],
              },
            },
          },
          {},
          NOBODY,
        );
  return read.kind === 'listing' ? { ...read.listing, x402Version } : undefined;
}

/** Of V1: each offer of a seller declares the same. */
function declaredIn(offers: readonly JsonObject[]): unknown {
  return offers.find((offer) => offer['outputSchema'] !== undefined)?.['outputSchema'];
}

function readForeignOffer(said: JsonObject): ForeignOffer | undefined {
  const { network, scheme } = said;
  const chainId = isShortText(network, 64)
    ? (chainIdOf(network) ?? chainIdOfV1Name(network))
    : undefined;
  const [payTo, asset] = [readAddress(said['payTo']), readAddress(said['asset'])];
  const amount = readInteger(said['amount'] ?? said['maxAmountRequired']);
  if (chainId === undefined || payTo === undefined || asset === undefined) return undefined;
  if (amount === undefined || !isUint256(amount)) return undefined;
  if (!isShortText(scheme, 32) || !SCHEME.test(scheme)) return undefined;
  return { chainId, payTo, scheme, asset, amount, offer: readListedOffer(said) };
}

/** ISO 8601 as stock clients read it, or a number as the specification has it: seconds or milliseconds. */
function readTime(said: unknown, now: number): Date | undefined {
  const isNumber = typeof said === 'number' && said > 0;
  const time = isNumber
    ? said * (said < 1e11 ? 1000 : 1)
    : isShortText(said, 40)
      ? Date.parse(said)
      : Number.NaN;
  return time >= 0 ? new Date(Math.min(time, now)) : undefined;
}
