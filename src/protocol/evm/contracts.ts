import type { Address } from 'viem';

/** All addresses are in lower case, as everywhere inside this service. */

/** Contracts at the same address on every chain: Permit2, Multicall3, those of the x402 batch settlement. */
export const FIXED_CONTRACTS = {
  permit2: '0x000000000022d473030f116ddee9f6b43ac78ba3',
  multicall3: '0xca11bde05977b3631167028862be2a173976ca11',
  channelEscrow: '0x4020074e9df2ce1dee5a9c1b5c3f541d02a10003',
  erc3009Collector: '0x4020806089470a89826cb9fb1f4059150b550004',
  permit2Collector: '0x4020425faf3b746c082c2f942b4e5159887b0005',
} as const satisfies Readonly<Record<string, Address>>;

export const PERMIT2: Address = FIXED_CONTRACTS.permit2;
export const MULTICALL3: Address = FIXED_CONTRACTS.multicall3;
/** The escrow, which holds the money of all channels. */
export const CHANNEL_ESCROW: Address = FIXED_CONTRACTS.channelEscrow;
/** The collectors, which transfer money of a payer into a channel, each by one method. */
export const ERC3009_COLLECTOR: Address = FIXED_CONTRACTS.erc3009Collector;
export const PERMIT2_COLLECTOR: Address = FIXED_CONTRACTS.permit2Collector;

/** The x402 exact Permit2 proxy, unless a network's settings name another. */
export const EXACT_PERMIT2_PROXY: Address = '0x402085c248eea27d92e8b30b2c58ed07f9e20001';

/** The x402 upto Permit2 proxy, unless a network's settings name another. */
export const UPTO_PERMIT2_PROXY: Address = '0x4020a4f3b7b90cca423b9fabcc0ce57c6c240002';

/** Contracts of the schemes whose addresses the settings of a network may change. */
export interface SchemeContracts {
  /** The x402 exact Permit2 proxy. */
  readonly permit2Proxy: Address;
  /** The x402 upto Permit2 proxy. */
  readonly uptoProxy: Address;
}

export const DEFAULT_SCHEME_CONTRACTS: SchemeContracts = {
  permit2Proxy: EXACT_PERMIT2_PROXY,
  uptoProxy: UPTO_PERMIT2_PROXY,
};

/** Every contract besides tokens that a deployment needs on a chain, by its name in `/health`. */
export type ContractName = keyof typeof FIXED_CONTRACTS | keyof SchemeContracts;

/** Every required contract of a chain, by name. */
export function contractsOf(
  schemes: SchemeContracts,
): readonly (readonly [ContractName, Address])[] {
  return Object.entries({ ...FIXED_CONTRACTS, ...schemes }) as [ContractName, Address][];
}
