import type { Address } from 'viem';
import type { Observed, SellerAnswer } from '../../../../src/facilitator/doctor/answer.js';
import type { Offer } from '../../../../src/facilitator/doctor/checks/offer.js';
import type { OfferFacts } from '../../../../src/facilitator/doctor/checks/offer-checks.js';
import { DEFAULT_SCHEME_CONTRACTS } from '../../../../src/protocol/evm/contracts.js';
import type { TokenFacts } from '../../../../src/protocol/evm/token/token-facts.js';
import type { JsonObject } from '../../../../src/protocol/payment/wire-values.js';

/** Sellers as they should be; a test breaks one thing each. */

export const ASSET: Address = '0xce24439f2d9c6a2289f741120fe202248b666666';
export const PAYEE: Address = '0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc';
export const DOMAIN = { name: 'United Stables', version: '1' };

export function v2Accept(more: JsonObject = {}): JsonObject {
  return {
    scheme: 'exact',
    network: 'eip155:56',
    amount: '100000000000000000',
    asset: ASSET,
    payTo: PAYEE,
    maxTimeoutSeconds: 300,
    extra: DOMAIN,
    ...more,
  };
}

export function v1Accept(more: JsonObject = {}): JsonObject {
  const { amount, ...rest } = v2Accept();
  return {
    ...rest,
    network: 'bsc',
    maxAmountRequired: amount,
    resource: 'https://seller.example/report',
    description: '',
    ...more,
  };
}

export function v2Terms(accepts: unknown = [v2Accept()], more: JsonObject = {}): JsonObject {
  return { x402Version: 2, resource: { url: 'https://seller.example/report' }, accepts, ...more };
}

export function v1Terms(accepts: unknown = [v1Accept()]): JsonObject {
  return { x402Version: 1, error: 'X-PAYMENT header is required', accepts };
}

export const encoded = (value: unknown): string =>
  Buffer.from(JSON.stringify(value)).toString('base64');

export function anAnswer(more: Partial<SellerAnswer> = {}): SellerAnswer {
  return {
    url: 'https://seller.example/report',
    status: 402,
    headers: { 'payment-required': encoded(v2Terms()), 'content-type': 'application/json' },
    body: Buffer.from('{}'),
    isCutOff: false,
    ...more,
  };
}

export function anObservation(more: Partial<Observed> = {}): Observed {
  const answer = anAnswer();
  return { method: 'GET', hasBody: false, answer, bare: undefined, preflight: undefined, ...more };
}

export function anOffer(more: Partial<Offer> = {}): Offer {
  return {
    path: 'terms.accepts[0]',
    version: 2,
    sent: v2Accept(),
    amountField: 'amount',
    scheme: 'exact',
    method: 'eip3009',
    chainId: 56,
    asset: ASSET,
    payTo: PAYEE,
    amount: 10n ** 17n,
    maxTimeoutSeconds: 300,
    extra: DOMAIN,
    ...more,
  };
}

export function tokenFacts(more: Partial<TokenFacts> = {}): TokenFacts {
  return {
    name: 'United Stables',
    symbol: 'U',
    version: '1',
    decimals: 18,
    domain: DOMAIN,
    eip3009: { vrs: 'yes', bytes: 'yes' },
    eip2612: 'yes',
    ...more,
  };
}

/** A token like the pegged ones of BNB Chain. */
export function plainToken(more: Partial<TokenFacts> = {}): TokenFacts {
  return tokenFacts({
    name: 'Tether USD',
    symbol: 'USDT',
    version: undefined,
    domain: undefined,
    eip3009: { vrs: 'no', bytes: 'no' },
    eip2612: 'no',
    ...more,
  });
}

export function offerFacts(more: Partial<OfferFacts> = {}): OfferFacts {
  return {
    token: tokenFacts(),
    payee: 'account',
    isPayeeRefused: false,
    contracts: DEFAULT_SCHEME_CONTRACTS,
    ...more,
  };
}
