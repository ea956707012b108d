import { formatUnits } from 'viem';
import type { z } from 'zod';
import { isUrl } from '../../platform/http/urls.js';
import { caip2Of, chainIdOf, chainIdOfV1Name } from '../../protocol/payment/network.js';
import {
  isJsonObject,
  isShortText,
  isUint256,
  type JsonObject,
  readAddress,
  readInteger,
} from '../../protocol/payment/wire-values.js';
import { type Offer, readOffer } from '../pay/offer.js';
import type { KnownContracts } from '../rules/decode-typed-data.js';
import { QualityOutput, type ServiceSearchOutput } from '../tools/service-shapes.js';
import { declaredWords, wordsOf } from './declared.js';

export type ServiceView = z.infer<typeof ServiceSearchOutput>['services'][number];

const URL_MAX = 2048;
const CALL_MAX = 128;
const OFFERS_MAX = 20;
const METHOD = /^(GET|HEAD|POST|PUT|PATCH|DELETE)$/;
/** As catalogues write them: escaped, and with brackets only around an IPv6 address. No Markdown link fits in. */
const PLAIN_URL = /^(?:https?|mcp):\/\/(?:\[[\da-f:.]+\])?[\w.~:/?#@!$&'()*+,;=%-]*$/i;
const NUMBERS = Object.keys(QualityOutput.shape).filter((name) => name !== 'lastCalledAt');

/** A parsed entry of a catalogue. */
export interface CatalogueItem {
  readonly view: ServiceView;
  /** Offers that this wallet can pay, the newest first. */
  readonly offers: readonly Offer[];
  /** `info` of the declaration, not parsed. */
  readonly info: JsonObject;
  /** JSON schema of the declaration, not parsed. */
  readonly schema: unknown;
  /** An example URL of the template in `resource`. */
  readonly exampleUrl: string | undefined;
}

/** @returns `undefined` for a value that is not an entry, or has no offer that was paid. */
export function readItem(sent: JsonObject, known: KnownContracts): CatalogueItem | undefined {
  const resource = readUrl(sent['resource']);
  const accepts = Array.isArray(sent['accepts']) ? (sent['accepts'] as unknown[]) : [];
  const offered = accepts.slice(0, OFFERS_MAX).filter(isJsonObject);
  // Other catalogues have payee and network only in the offers.
  const payTo = readAddress(sent['payTo'] ?? offered[0]?.['payTo']);
  const chainId = readChain(sent['network'] ?? offered[0]?.['network']);
  if (resource === undefined || payTo === undefined || chainId === undefined) return undefined;
  const version = sent['x402Version'] === 1 ? 1 : 2;
  const own = offered.filter(
    (offer) => readAddress(offer['payTo']) === payTo && readChain(offer['network']) === chainId,
  );
  const read = own.map((offer) => ({ offer, payable: readOffer(offer, version, known) }));
  const prices = read.flatMap(({ offer, payable }) => priceOf(offer, payable, chainId, known));
  if (prices.length === 0) return undefined;
  const bazaar = objectOf(objectOf(sent['extensions'])['bazaar']);
  const info = objectOf(sent['discoveryInfo'] ?? bazaar['info']);
  const type = sent['type'] === 'mcp' ? 'mcp' : 'http';
  const call = callOf(type, sent, objectOf(info['input']));
  return {
    view: {
      resource,
      type,
      ...(call !== undefined && { call }),
      // In lower case, like the offers of a quote that it is compared with.
      network: caip2Of(chainId),
      payTo,
      ...countOf(sent['otherPayees']),
      prices,
      ...dateOf(sent['lastUpdated']),
      ...qualityOf(sent['quality']),
      declaredBySeller: declaredWords(sent),
    },
    offers: read.flatMap(({ payable }) => payable ?? []),
    info,
    schema: bazaar['schema'],
    exampleUrl: readUrl(sent['exampleUrl']),
  };
}

/** A URL as it is shown and sent. */
function readUrl(declared: unknown): string | undefined {
  if (!isShortText(declared, URL_MAX) || !PLAIN_URL.test(declared) || !isUrl(declared))
    return undefined;
  const { username, password } = new URL(declared);
  return username === '' && password === '' ? declared : undefined;
}

function readChain(declared: unknown): number | undefined {
  return isShortText(declared, 64) ? (chainIdOf(declared) ?? chainIdOfV1Name(declared)) : undefined;
}

function priceOf(
  sent: JsonObject,
  payable: Offer | undefined,
  chainId: number,
  known: KnownContracts,
): ServiceView['prices'] {
  const asset = readAddress(sent['asset']);
  const amount = readInteger(sent['amount'] ?? sent['maxAmountRequired']);
  const scheme = wordsOf(sent['scheme'], 32);
  if (asset === undefined || amount === undefined || scheme === undefined) return [];
  if (!isUint256(amount)) return [];
  const token = known.token(chainId, asset);
  return [
    {
      atomic: amount.toString(),
      ...(token && { decimal: formatUnits(amount, token.decimals), symbol: token.symbol }),
      asset,
      network: caip2Of(chainId),
      scheme,
      isPayable: payable !== undefined,
    },
  ];
}

function callOf(type: 'http' | 'mcp', sent: JsonObject, input: JsonObject): string | undefined {
  if (type === 'mcp') return wordsOf(sent['toolName'] ?? input['toolName'], CALL_MAX);
  const method = sent['method'] ?? input['method'];
  return isShortText(method, 8) && METHOD.test(method) ? method : undefined;
}

function countOf(declared: unknown): { readonly otherPayees?: number } {
  return Number.isSafeInteger(declared) && Number(declared) >= 0
    ? { otherPayees: Number(declared) }
    : {};
}

function dateOf(declared: unknown): { readonly lastPaid?: string } {
  const at = isShortText(declared, 40) ? Date.parse(declared) : Number.NaN;
  return Number.isNaN(at) ? {} : { lastPaid: new Date(at).toISOString() };
}

/** Field by field: a malformed field is left out. */
function qualityOf(declared: unknown): { readonly quality?: z.infer<typeof QualityOutput> } {
  if (!isJsonObject(declared)) return {};
  const counted = NUMBERS.flatMap((name) => {
    const value = declared[name];
    return typeof value === 'number' && Number.isFinite(value) ? [[name, value] as const] : [];
  });
  const { lastPaid: lastCalledAt } = dateOf(declared['lastCalledAt']);
  return {
    quality: {
      ...Object.fromEntries(counted),
      ...(lastCalledAt !== undefined && { lastCalledAt }),
    },
  };
}

function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}
