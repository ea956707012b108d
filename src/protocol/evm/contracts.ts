import type { Address } from 'viem';

/**
 * Contracts at the same address on every chain (x402 exact EVM scheme; Permit2; Multicall3).
 * Lower case, as all addresses inside.
 */
export const PERMIT2: Address = '0x000000000022d473030f116ddee9f6b43ac78ba3';
export const MULTICALL3: Address = '0xca11bde05977b3631167028862be2a173976ca11';
/** The x402 exact Permit2 proxy, unless a network's settings name another. */
export const EXACT_PERMIT2_PROXY: Address = '0x402085c248eea27d92e8b30b2c58ed07f9e20001';
