import type { Address } from 'viem';
import type { WalletAsset } from '../../../../src/platform/config/wallet-assets.js';
import type { JsonObject } from '../../../../src/protocol/payment/wire-values.js';
import type { KnownContracts } from '../../../../src/wallet/rules/decode-typed-data.js';

/** As catalogues write it, and as the wallet does. */
export const SENT_PAYEE = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
export const PAYEE = SENT_PAYEE.toLowerCase();
export const TOKEN: Address = `0x${'d4'.repeat(20)}`;
export const STRANGE_TOKEN: Address = `0x${'e5'.repeat(20)}`;

const asset: WalletAsset = {
  chainId: 97,
  address: TOKEN,
  symbol: 'USDX',
  decimals: 6,
  methods: ['eip3009', 'permit2'],
  eip712: { name: 'USD X', version: '1' },
};

/** One token on one network. */
export const KNOWN: KnownContracts = {
  token: (chainId, address) => (chainId === 97 && address === TOKEN ? asset : undefined),
  permit2Proxy: () => undefined,
};

/** An offer as catalogues show it. */
export function anOffer(more: JsonObject = {}): JsonObject {
  return {
    scheme: 'exact',
    network: 'eip155:97',
    amount: '250000',
    asset: TOKEN,
    payTo: SENT_PAYEE,
    maxTimeoutSeconds: 60,
    extra: { name: 'USD X', version: '1' },
    ...more,
  };
}

/** An entry of a catalogue, with the `input` that its seller declared. */
export function anItem(more: JsonObject = {}, input: JsonObject = {}): JsonObject {
  const info = { input: { type: 'http', method: 'GET', ...input } };
  return {
    resource: 'https://shop.example.com/weather',
    type: 'http',
    x402Version: 2,
    method: info.input.method,
    accepts: [anOffer()],
    lastUpdated: '2026-11-22T10:00:00.000Z',
    extensions: { bazaar: { info } },
    discoveryInfo: info,
    network: 'eip155:97',
    payTo: SENT_PAYEE,
    otherPayees: 0,
    ...more,
  };
}
