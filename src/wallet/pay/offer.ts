import type { Address } from 'viem';
import type { WalletAsset } from '../../platform/config/wallet-assets.js';
import { compressionOf, type FetchAnswer } from '../../platform/fetch/safe-fetch.js';
import type { TransferMethod } from '../../protocol/evm/transfer-method.js';
import { chainIdOf, chainIdOfV1Name } from '../../protocol/payment/network.js';
import { ACCEPTS_MAX, readSentTerms } from '../../protocol/payment/payment-required.js';
import {
  isJsonObject,
  isUint256,
  type JsonObject,
  readAddress,
  readInteger,
  readOptionalObject,
} from '../../protocol/payment/wire-values.js';
import type { KnownContracts } from '../rules/decode-typed-data.js';
import { WalletError } from '../wallet-error.js';

/** One way to pay that a seller offers and this wallet supports. */
export interface Offer {
  readonly x402Version: 1 | 2;
  readonly method: TransferMethod;
  readonly chainId: number;
  readonly token: WalletAsset;
  readonly payTo: Address;
  /** Atomic units. */
  readonly amount: bigint;
  readonly maxTimeoutSeconds: number;
  /** The seller's own object, which V2 clients send back. */
  readonly requirements: JsonObject;
}

/** The body of a 402. */
export interface PaymentRequired {
  readonly offers: readonly Offer[];
  /** The number of the seller's offers, known or not. */
  readonly offered: number;
  /** V2: sent back by the client. */
  readonly resource: unknown;
  readonly extensions: unknown;
}

/**
 * Reads a 402 of either version: V2 in the header `PAYMENT-REQUIRED`, V1 in the body.
 *
 * @returns `undefined` for neither version.
 */
export function readPaymentRequired(
  { headers, body }: FetchAnswer,
  known: KnownContracts,
): PaymentRequired | undefined {
  const terms = readSentTerms(headers['payment-required'], body.toString('utf8'));
  if (terms === undefined) return undefined;
  const { version, accepts, sent } = terms;
  return {
    offers: accepts.slice(0, ACCEPTS_MAX).flatMap((one) => readOffer(one, version, known) ?? []),
    offered: accepts.length,
    resource: sent['resource'],
    extensions: sent['extensions'],
  };
}

/** The reason why {@link readPaymentRequired} found nothing. */
export function noOffer(answer: FetchAnswer): WalletError {
  return new WalletError(
    'no_acceptable_offer',
    compressionOf(answer) === undefined
      ? 'The server asks for payment, but not by x402.'
      : 'The server compressed its request for payment, although this wallet accepts no compression.',
  );
}

/** @returns `undefined` for an offer that this wallet cannot pay. */
export function readOffer(
  sent: unknown,
  x402Version: 1 | 2,
  known: KnownContracts,
): Offer | undefined {
  if (!isJsonObject(sent) || sent['scheme'] !== 'exact') return undefined;
  const { network, maxTimeoutSeconds } = sent;
  const chainIdOfName = x402Version === 1 ? chainIdOfV1Name : chainIdOf;
  const chainId = typeof network === 'string' ? chainIdOfName(network) : undefined;
  const asset = readAddress(sent['asset']);
  const payTo = readAddress(sent['payTo']);
  const amount = readInteger(sent[x402Version === 1 ? 'maxAmountRequired' : 'amount']);
  if (chainId === undefined || asset === undefined || payTo === undefined) return undefined;
  if (amount === undefined || !isUint256(amount)) return undefined;
  if (typeof maxTimeoutSeconds !== 'number' || !(maxTimeoutSeconds > 0)) return undefined;
  const token = known.token(chainId, asset);
  const extra = readOptionalObject(sent['extra']);
  const method =
    x402Version === 2 && extra?.['assetTransferMethod'] === 'permit2' ? 'permit2' : 'eip3009';
  if (token?.methods.includes(method) !== true) return undefined;
  // A flow that settles before the answer requires nothing else of a buyer; escrow does.
  if (extra?.['paymentFlow'] === 'escrow') return undefined;
  const common = { x402Version, method, chainId, token, payTo, amount } as const;
  const offer = { ...common, maxTimeoutSeconds, requirements: sent };
  if (method === 'permit2') return offer;
  const isOurDomain =
    extra?.['name'] === token.eip712?.name && extra?.['version'] === token.eip712?.version;
  return isOurDomain && token.eip712 !== undefined ? offer : undefined;
}
